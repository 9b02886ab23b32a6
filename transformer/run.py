"""A sentence through a model: words to ids, ids to every number of the run, numbers to words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from transformer.checkpoints.folder import LoadedModel
from transformer.decoding import DecodingStep, decoding_step, greedy, greedy_batch, next_token_probabilities
from transformer.text import BOS_ID, EOS_ID, PAD_ID, EncodedSentence, SentenceCoder, clean
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
        source: the source as typed, S - 1 words; the model reads them and <eos>.
        target_ids: the decoder's input, T ids that begin with <bos>.
        generated: whether the model chose the target itself (else it was given: teacher forcing).
        finished: whether the target ends with <eos> (a generated one may run into its limit).
        steps: T of them: behind each decoder input token, the next one and the best k.
        translation: the target as text.
        trace: of the forward over the whole source and target, batch of one, on the CPU.
    """

    source: EncodedSentence
    target_ids: tuple[int, ...]
    generated: bool
    finished: bool
    steps: tuple[DecodingStep, ...]
    translation: str
    trace: Trace


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
    words = ("<bos>", *given.words)
    return force(loaded, source, (BOS_ID, *given.ids), words, top_k=top_k)


def encode_sentence(loaded: LoadedModel, coder: SentenceCoder, text: str, what: str) -> EncodedSentence:
    """The words and ids of a typed sentence.

    Raises:
        SentenceError: for no words at all, or too many; `what` names the sentence in the message.
    """
    encoded = coder.encode(text)
    longest = loaded.model.config.max_len - 1  # <eos> behind the source, <bos> before the target
    if not encoded.ids:
        raise SentenceError(f"The {what} has no words: type at least one.")
    if len(encoded.ids) > longest:
        raise SentenceError(
            f"The {what} has {len(encoded.ids):,} words and punctuation marks; this model reads at most "
            f"{longest}. Shorten it, or choose a model with more positions."
        )
    return encoded


def force(
    loaded: LoadedModel,
    source: EncodedSentence,
    target_ids: Sequence[int],
    target_words: Sequence[str],
    *,
    top_k: int = 5,
) -> Run:
    """Teacher forcing: the run of a source with a given decoder input, which begins with <bos>.

    Every step's "chosen" token is the given one, and the last one's is <eos>.
    """
    trace = _trace(loaded, [source], [(tuple(target_ids), tuple(target_words))])
    probabilities = next_token_probabilities(trace["logits"][0], NO_WORDS)  # (T, V)
    labels = (*target_ids[1:], EOS_ID)
    steps = [decoding_step(i, label, probabilities[i], top_k) for i, label in enumerate(labels)]
    return Run(
        source=source,
        target_ids=tuple(target_ids),
        generated=False,
        finished=True,
        steps=tuple(steps),
        translation=loaded.target.tokenizer.join(target_words[1:]),
        trace=trace,
    )


def trace_batch(loaded: LoadedModel, sources: Sequence[EncodedSentence]) -> Trace:
    """Several sentences as one padded batch, each with the target that the model generates for it."""
    src = _padded([(*source.ids, EOS_ID) for source in sources], loaded)
    limit = target_limit(loaded, src.shape[1])
    targets = greedy_batch(
        loaded.model, src, bos_id=BOS_ID, eos_id=EOS_ID, max_new_tokens=limit, never=NO_WORDS
    )
    return _trace(loaded, sources, [_decoder_input(loaded, ids) for ids in targets])


def target_limit(loaded: LoadedModel, n_source: int) -> int:
    """The most target tokens that are generated for a source of so many: room for a wordier language."""
    return min(loaded.model.config.max_len - 1, 2 * n_source + 10)


def _generate(loaded: LoadedModel, source: EncodedSentence, top_k: int, on_step: OnStep | None) -> Run:
    src = _padded([(*source.ids, EOS_ID)], loaded)
    steps = []
    limit = target_limit(loaded, src.shape[1])
    decoding = greedy(
        loaded.model, src, bos_id=BOS_ID, eos_id=EOS_ID, max_new_tokens=limit, never=NO_WORDS, top_k=top_k
    )
    for step in decoding:
        steps.append(step)
        if on_step is not None:
            on_step(step, limit)
    finished = steps[-1].token_id == EOS_ID
    chosen = [step.token_id for step in steps if step.token_id != EOS_ID]
    ids, words = _decoder_input(loaded, chosen if finished else chosen[:-1])
    return Run(
        source=source,
        target_ids=ids,
        generated=True,
        finished=finished,
        steps=tuple(steps),
        translation=loaded.target.decode(chosen),
        trace=_trace(loaded, [source], [(ids, words)]),
    )


def _decoder_input(loaded: LoadedModel, ids: Sequence[int]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    return (BOS_ID, *ids), ("<bos>", *(loaded.target.vocabulary.word(i) for i in ids))


@torch.inference_mode()
def _trace(
    loaded: LoadedModel,
    sources: Sequence[EncodedSentence],
    targets: Sequence[tuple[tuple[int, ...], tuple[str, ...]]],
) -> Trace:
    src = _padded([(*source.ids, EOS_ID) for source in sources], loaded)
    tgt = _padded([ids for ids, _ in targets], loaded)
    recorder = Recorder()
    loaded.model(src, tgt, tap=recorder)
    return Trace(
        {path: tensor.cpu() for path, tensor in recorder.records.items()},
        src_tokens=_padded_words([(*source.words, "<eos>") for source in sources]),
        tgt_tokens=_padded_words([words for _, words in targets]),
    )


def _padded(rows: Sequence[Sequence[int]], loaded: LoadedModel) -> torch.Tensor:
    longest = max(len(row) for row in rows)
    filled = [[*row, *[PAD_ID] * (longest - len(row))] for row in rows]
    return torch.tensor(filled, device=loaded.model.generator.weight.device)


def _padded_words(rows: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    longest = max(len(row) for row in rows)
    return [(*row, *["<pad>"] * (longest - len(row))) for row in rows]
