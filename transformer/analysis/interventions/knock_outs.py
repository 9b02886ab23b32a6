"""Input words taken away one by one: what the output loses with each.

The measure against which pictures of attention are judged: nothing is assumed about how the model works.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import torch
from torch import Tensor

from transformer.analysis.attention_maps import Words, words_of
from transformer.analysis.interventions.outcomes import OnProgress, Variant, outcomes
from transformer.analysis.interventions.questions import Question
from transformer.loaded import LoadedModel
from transformer.model.config import TransformerConfig
from transformer.model.embedding import Embedding
from transformer.model.trace import Edit, Stack
from transformer.run import Run

KnockOut = Literal["unknown", "mean", "resampled", "masked"]
"""How a word is taken away.

"unknown" replaces its embedding by that of <unk> (by the mean in a vocabulary without one), "mean" by the
mean of all embeddings, "resampled" by those of random tokens; "masked" hides it from every attention.
"""
KNOCK_OUTS: tuple[KnockOut, ...] = get_args(KnockOut)
N_DRAWS = 8
"""Random tokens that replace a resampled one, one after the other; the effect is their mean."""


def input_stack(config: TransformerConfig) -> Stack:
    """The stack that reads the source or, without an encoder, the prompt."""
    return "encoder" if config.n_encoder_layers else "decoder"


def input_words(loaded: LoadedModel, run: Run) -> Words:
    """The words that can be taken away: those of `input_stack`'s input."""
    return words_of(run, input_stack(loaded.model.config))


def word_effects(
    loaded: LoadedModel,
    run: Run,
    questions: Sequence[Question],
    how: KnockOut = "unknown",
    *,
    seed: int = 0,
    words: Sequence[Sequence[int]] | None = None,
    on_progress: OnProgress | None = None,
) -> Tensor:
    """How much each answer falls without each input word: (words, questions) float64.

    Positive where the word spoke for the output. Words after a question's row have no effect in a decoder.

    Args:
        loaded: a model with a generator.
        run: its run.
        questions: what is asked of the output.
        how: see `KnockOut`.
        seed: seed of the draws, for "resampled" only.
        words: positions of each word's tokens; by default of `input_words`.
        on_progress: see `OnProgress`.
    """
    if words is None:
        known = input_words(loaded, run)
        words = [known.tokens(word) for word in range(len(known.labels))]
    n_draws = N_DRAWS if how == "resampled" else 1
    generator = torch.Generator().manual_seed(seed)
    variants = [
        without_tokens(loaded, run, positions, how, generator) for positions in words for _ in range(n_draws)
    ]
    own, *others = outcomes(loaded, run, [{}, *variants], questions, on_progress)
    if not others:
        return torch.empty(0, len(questions), dtype=torch.float64)
    return own - torch.stack(others).unflatten(0, (-1, n_draws)).mean(dim=1)


def without_tokens(
    loaded: LoadedModel,
    run: Run,
    positions: Sequence[int],
    how: KnockOut,
    generator: torch.Generator | None = None,
) -> Variant:
    """Edits that take away some tokens of the input.

    Args:
        loaded: the model.
        run: a run of it.
        positions: of the tokens, in the input of `input_stack`.
        how: see `KnockOut`.
        generator: draws the tokens for "resampled".
    """
    config = loaded.model.config
    stack = input_stack(config)
    if how == "masked":
        return {path: _closed(positions) for path in _masks(config, stack)}
    embedding = loaded.model.src_embedding if stack == "encoder" else loaded.model.tgt_embedding
    special_tokens = loaded.source.special_tokens
    rows = _embeddings(embedding)
    if how == "unknown" and special_tokens.unk is not None:
        new = rows[special_tokens.unk]
    elif how == "resampled":
        ordinary = [index for index in range(len(rows)) if index not in special_tokens.ids]
        drawn = torch.randint(len(ordinary), (len(positions),), generator=generator)
        new = rows[[ordinary[index] for index in drawn]]
    else:
        new = rows.mean(dim=0)

    def exchange(tokens: Tensor) -> Tensor:
        tokens[:, list(positions)] = new
        return tokens

    return {f"{'src' if stack == 'encoder' else 'tgt'}_embedding.tokens": exchange}


def _embeddings(embedding: Embedding) -> Tensor:
    """All embeddings (V, width), scaled as the tap sees them."""
    return embedding.weight.detach() * embedding.scale


def _masks(config: TransformerConfig, stack: Stack) -> list[str]:
    """The paths of the masks of all attentions whose keys are the tokens of a stack's input."""
    if stack == "decoder":
        return [f"decoder.layers.{layer}.self_attn.mask" for layer in range(config.n_decoder_layers)]
    paths = [f"encoder.layers.{layer}.self_attn.mask" for layer in range(config.n_encoder_layers)]
    return paths + [f"decoder.layers.{layer}.cross_attn.mask" for layer in range(config.n_decoder_layers)]


def _closed(positions: Sequence[int]) -> Edit:
    def close(mask: Tensor) -> Tensor:
        mask[..., list(positions)] = False
        return mask

    return close
