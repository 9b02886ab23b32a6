"""The model card of a trained built-in task: what it is, how it was made, what it scores."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from transformer.checkpoints.folder import LoadedModel
from transformer.training.recipe import Recipe
from transformer.training.task_evaluation import HeadAlignment, Translation, word_coder

N_RIGHT, N_WRONG = 6, 6
"""How many examples are listed at most."""

_TEMPLATE = """\
# {name}

A small Transformer that translates simple English sentences into Italian, made to be looked into. It reads
whole words in lower case: {n_source} of English and {n_target} of Italian, all that a grammar written for it
(`transformer/tasks`) uses. Other words are `<unk>` to it, and other constructions it has never seen.

## Score

- {exact} of {n} held-out sentences translated exactly ({percent:.1f} %), greedily decoded. No held-out
  sentence is in the training data, neither its Italian nor any English form of it.
- Cross-attention against the grammar's word alignments: head {head} of decoder layer {layer} (counted from 0)
  looks at a right source word for {accuracy:.1%} of the target words. All heads, as layer.head:
  {heads}.

## How it was made

    {command}

- Data: {n_pairs:,} generated sentence pairs (seed {seed}), {n_different:,} of them different; in
  {unknown:.0%} of them one content word and its translation are `<unk>`.
- Model: {n_encoder_layers} encoder and {n_decoder_layers} decoder layers, d_model {d_model}, {n_heads} heads,
  d_ff {d_ff}, {norm_position}-norm, sinusoidal positions, {n_parameters:,} parameters in float32.
- Training: {n_steps:,} updates of up to {batch_tokens:,} positions; Adam (0.9, 0.98); learning rate up to
  {peak_rate} and down to 0, linearly; label smoothing {smoothing}; no dropout. Loss at the end
  {final_loss:.3f} nats a word.
- Time: {wall_seconds:.0f} s of wall time and {cpu_seconds:.0f} s of CPU time, making the sentences included;
  PyTorch {torch} on {machine}, threads: {n_threads}. {load}
{snapshots}
## Translations of held-out sentences

{right}

Wrong ones ({n_wrong} of {n}):

{wrong}

## Limits

- You is one person and a man, as are i, we and they where Italian must choose; further conventions are at the
  top of `transformer/data/tasks/toy_en_it/__init__.py`.
- Sentences are short (at most {longest} words in training). The positions reach to {max_len}, but longer
  sentences than those come out badly.
"""


@dataclass(frozen=True, kw_only=True)
class Making:
    """What is known about one training.

    Attributes:
        command: that made it.
        seed: of data and weights.
        recipe: the choices.
        n_different: training pairs without repetitions.
        n_steps: updates.
        wall_seconds: from the first sentence pair to the last update.
        cpu_seconds: of all threads in the same time.
        n_threads: that PyTorch used.
        other_load: how many other processes wanted to run at the same time, on average; None where unknown.
        final_loss: mean of the last updates, in nats a word, with label smoothing.
        longest: words of the longest sentence.
        snapshot_steps: those of which the weights are kept besides the last.
    """

    command: str
    seed: int
    recipe: Recipe
    n_different: int
    n_steps: int
    wall_seconds: float
    cpu_seconds: float
    n_threads: int
    other_load: float | None
    final_loss: float
    longest: int
    snapshot_steps: Sequence[int] = ()


def model_card(
    loaded: LoadedModel, making: Making, translated: Sequence[Translation], heads: Sequence[HeadAlignment]
) -> str:
    """Write the card, in Markdown."""
    config = loaded.model.config
    wrong = [translation for translation in translated if not translation.exact]
    right = [translation for translation in translated if translation.exact]
    return _TEMPLATE.format(
        **vars(making.recipe) | vars(making) | config.to_dict(),
        name=loaded.name,
        n_source=len(loaded.source.vocabulary),
        n_target=len(loaded.target.vocabulary),
        exact=len(right),
        n=len(translated),
        percent=100 * len(right) / len(translated),
        layer=heads[0].layer,
        head=heads[0].head,
        accuracy=heads[0].accuracy,
        heads=", ".join(f"{head.layer}.{head.head} {head.accuracy:.0%}" for head in heads),
        n_parameters=sum(parameter.numel() for parameter in loaded.model.parameters()),
        torch=torch.__version__,
        machine=platform.machine(),
        load=_load(making),
        snapshots=_snapshots(making),
        right=_examples(loaded, right[:N_RIGHT]) or "None.",
        n_wrong=len(wrong),
        wrong=_examples(loaded, wrong[:N_WRONG]) or "None.",
    )


def _load(making: Making) -> str:
    if making.other_load is None:
        return ""
    if making.other_load < 0.5:
        return "The machine was otherwise quiet."
    return (
        f"Other programs were busy on the machine ({making.other_load:.1f} on average): on a quiet one "
        f"the wall time would be about {making.cpu_seconds / making.n_threads:.0f} s."
    )


def _snapshots(making: Making) -> str:
    if not making.snapshot_steps:
        return ""
    steps = ", ".join(f"{step:,}" for step in making.snapshot_steps)
    return (
        f"- Snapshots of the weights after {steps} updates, in half precision, and the loss of every update "
        "are in\n  `snapshots`: the page Training shows what was learned when.\n"
    )


def _examples(loaded: LoadedModel, translated: Sequence[Translation]) -> str:
    source, target = word_coder(loaded.source).tokenizer, word_coder(loaded.target).tokenizer
    lines = []
    for translation in translated:
        line = f"- {source.join(translation.pair.source)} → {target.join(translation.words)}"
        if not translation.exact:
            line += f" (expected: {target.join(translation.pair.target)})"
        lines.append(line)
    return "\n".join(lines)
