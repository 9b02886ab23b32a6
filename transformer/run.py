"""A sentence through a model: text to ids, ids to every number of the run, numbers to text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from transformer.beam_tree import BeamTree, beam_tree
from transformer.checkpoints.folder import LoadedModel
from transformer.data import pad
from transformer.decoding import DecodingStep, decoding_step, greedy, greedy_batch, next_token_probabilities
from transformer.sampling import sample
from transformer.text import BOS, BOS_ID, EOS, EOS_ID, PAD, PAD_ID, Coder, EncodedSentence, clean
from transformer.trace import Recorder, Trace

NO_WORDS = (PAD_ID, BOS_ID)
"""Ids that a target never goes on with: <pad> would be taken for padding, <bos> only begins."""

OnStep = Callable[[DecodingStep, int], None]
"""Called with each generated step and the most steps there can be."""


class SentenceError(ValueError):
    """A sentence that can't be run; the message says why and what to do."""


@dataclass(frozen=True)
class Run:
    """Everything about one sentence in one model.

    Attributes:
        source: the source as typed, S - 1 tokens; the model reads them and <eos>.
        target: T - 1 tokens; the decoder reads <bos> and them.
        generated: whether the model chose the target itself (else it was given: teacher forcing).
        finished: whether the target ends with <eos> (a generated one may run into its limit).
        steps: T of them: behind each decoder input token, the next one and the best k.
        translation: the target as text.
        trace: of the forward over the whole source and target, batch of one, on the CPU.
    """

    source: EncodedSentence
    target: EncodedSentence
    generated: bool
    finished: bool
    steps: tuple[DecodingStep, ...]
    translation: str
    trace: Trace

    @property
    def target_ids(self) -> tuple[int, ...]:
        """The decoder's input: T ids that begin with <bos>."""
        return (BOS_ID, *self.target.ids)


def run_sentence(
    loaded: LoadedModel, text: str, target: str = "", *, top_k: int = 5, on_step: OnStep | None = None
) -> Run:
    """Run one sentence, and generate its target greedily unless one is given.

    Args:
        loaded: an encoder-decoder with its vocabularies.
        text: the source sentence as typed.
        target: the target sentence as typed; blank lets the model generate it.
        top_k: how many of the best next tokens each step tells.
        on_step: called after each generated token, with the most tokens there can be.

    Raises:
        SentenceError: for a sentence without words, or with more than the model has positions for.
    """
    source = encode_sentence(loaded, loaded.source, text, "sentence")
    if not clean(target).strip():
        return _generate(loaded, source, top_k, on_step)
    given = encode_sentence(loaded, loaded.target, target, "target sentence")
    return force(loaded, source, given, top_k=top_k)


def encode_sentence(loaded: LoadedModel, coder: Coder, text: str, what: str) -> EncodedSentence:
    """The tokens and ids of a typed sentence.

    Raises:
        SentenceError: for no words at all, or too many; `what` names the sentence in the message.
    """
    encoded = coder.encode(text)
    longest = loaded.model.config.max_len - 1  # <eos> behind the source, <bos> before the target
    if not encoded.ids:
        raise SentenceError(f"The {what} has no words: type at least one.")
    if len(encoded.ids) > longest:
        raise SentenceError(
            f"The {what} has {_size(encoded, coder)}; this model reads at most {longest}. Shorten it, or "
            "choose a model with more positions."
        )
    return encoded


def _size(encoded: EncodedSentence, coder: Coder) -> str:
    words = f"{len(encoded.words):,} words and punctuation marks"
    return words if coder.unit == "word" else f"{len(encoded.ids):,} {coder.unit}s ({words})"


def force(loaded: LoadedModel, source: EncodedSentence, target: EncodedSentence, *, top_k: int = 5) -> Run:
    """Teacher forcing: the run of a source with a given target, as a coder encodes text or describes ids.

    Every step's "chosen" token is the given one, and the last one's is <eos>.
    """
    trace = _trace(loaded, [source], [target])
    probabilities = next_token_probabilities(trace["logits"][0], NO_WORDS)  # (T, V)
    labels = (*target.ids, EOS_ID)
    steps = [decoding_step(i, label, probabilities[i], top_k) for i, label in enumerate(labels)]
    return Run(
        source=source,
        target=target,
        generated=False,
        finished=True,
        steps=tuple(steps),
        translation=loaded.target.decode(target.ids),
        trace=trace,
    )


def search(
    loaded: LoadedModel, source: EncodedSentence, *, beam_size: int, alpha: float, prefix: Sequence[int] = ()
) -> BeamTree:
    """Search for the best `beam_size` targets of a source, with every step written down.

    Args:
        beam_size: hypotheses that are followed at a time.
        alpha: of the length penalty.
        prefix: ids that the targets begin with, fewer than `target_limit`.
    """
    src = _padded([(*source.ids, EOS_ID)], loaded)
    return beam_tree(
        loaded.model,
        src,
        start_ids=[BOS_ID],
        end_ids=[EOS_ID],
        max_new_tokens=target_limit(loaded, src.shape[1]) - len(prefix),
        beam_size=beam_size,
        alpha=alpha,
        n_best=beam_size,
        never=NO_WORDS,
        prefix=prefix,
    )


def draw_target(
    loaded: LoadedModel,
    source: EncodedSentence,
    *,
    seed: int,
    temperature: float = 1.0,
    top_k: int = 0,
    top_p: float = 1.0,
    prefix: Sequence[int] = (),
) -> tuple[list[int], bool]:
    """Draw a target of a source at random: its ids, the prefix included, and whether it came to an end.

    The same seed draws the same target. The other arguments are those of `transformer.sampling.sample`.
    """
    src = _padded([(*source.ids, EOS_ID)], loaded)
    limit = target_limit(loaded, src.shape[1])
    (ids,) = sample(
        loaded.model,
        src,
        start_ids=[BOS_ID],
        end_ids=[EOS_ID],
        max_new_tokens=limit - len(prefix),
        generator=torch.Generator().manual_seed(seed),
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        never=NO_WORDS,
        prefix=prefix,
    )
    return ids, len(ids) < limit


def trace_batch(loaded: LoadedModel, sources: Sequence[EncodedSentence]) -> Trace:
    """Several sentences as one padded batch, each with the target that the model generates for it."""
    src = _padded([(*source.ids, EOS_ID) for source in sources], loaded)
    limit = target_limit(loaded, src.shape[1])
    targets = greedy_batch(
        loaded.model, src, start_ids=[BOS_ID], end_ids=[EOS_ID], max_new_tokens=limit, never=NO_WORDS
    )
    return _trace(loaded, sources, list(map(loaded.target.of_ids, targets)))


def target_limit(loaded: LoadedModel, n_source: int) -> int:
    """The most target tokens that are generated for a source of so many: room for a wordier language."""
    return min(loaded.model.config.max_len - 1, 2 * n_source + 10)


def _generate(loaded: LoadedModel, source: EncodedSentence, top_k: int, on_step: OnStep | None) -> Run:
    src = _padded([(*source.ids, EOS_ID)], loaded)
    steps = []
    limit = target_limit(loaded, src.shape[1])
    decoding = greedy(
        loaded.model,
        src,
        start_ids=[BOS_ID],
        end_ids=[EOS_ID],
        max_new_tokens=limit,
        never=NO_WORDS,
        top_k=top_k,
    )
    for step in decoding:
        steps.append(step)
        if on_step is not None:
            on_step(step, limit)
    finished = steps[-1].token_id == EOS_ID
    chosen = [step.token_id for step in steps if step.token_id != EOS_ID]
    target = loaded.target.of_ids(chosen if finished else chosen[:-1])
    return Run(
        source=source,
        target=target,
        generated=True,
        finished=finished,
        steps=tuple(steps),
        translation=loaded.target.decode(chosen),
        trace=_trace(loaded, [source], [target]),
    )


@torch.inference_mode()
def _trace(
    loaded: LoadedModel, sources: Sequence[EncodedSentence], targets: Sequence[EncodedSentence]
) -> Trace:
    src = _padded([(*source.ids, EOS_ID) for source in sources], loaded)
    tgt = _padded([(BOS_ID, *target.ids) for target in targets], loaded)
    recorder = Recorder()
    loaded.model(src, tgt, tap=recorder)
    return Trace(
        {path: tensor.cpu() for path, tensor in recorder.records.items()},
        src_tokens=_padded_tokens([(*source.tokens, EOS) for source in sources]),
        tgt_tokens=_padded_tokens([(BOS, *target.tokens) for target in targets]),
    )


def _padded(rows: Sequence[Sequence[int]], loaded: LoadedModel) -> torch.Tensor:
    return pad(rows).to(loaded.model.generator.weight.device)


def _padded_tokens(rows: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    longest = max(len(row) for row in rows)
    return [(*row, *[PAD] * (longest - len(row))) for row in rows]
