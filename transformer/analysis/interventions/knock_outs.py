"""Input words taken away one by one: what the output loses with each.

The measure against which pictures of attention are judged: nothing is assumed about how the model works.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import torch
from torch import Tensor

from transformer.analysis.attention_maps import Words, words_of
from transformer.analysis.interventions.outcomes import OnProgress, Variant, falls
from transformer.analysis.interventions.questions import Question
from transformer.loaded import LoadedModel
from transformer.model.config import TransformerConfig
from transformer.model.embedding import Embedding
from transformer.model.trace import Edit, Stack
from transformer.run import Run
from transformer.text.coder import Coder

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


def input_words(loaded: LoadedModel, run: Run, stack: Stack | None = None) -> Words:
    """The words that can be taken away: those of a stack's input, by default of `input_stack`'s."""
    return words_of(run, stack or input_stack(loaded.model.config))


def word_effects(
    loaded: LoadedModel,
    run: Run,
    questions: Sequence[Question],
    how: KnockOut = "unknown",
    *,
    seed: int = 0,
    words: Sequence[Sequence[int]] | None = None,
    stack: Stack | None = None,
    on_progress: OnProgress | None = None,
) -> Tensor:
    """How much each answer falls without each input word: (words, questions) float64.

    Positive where the word spoke for the output. Words after a question's row have no effect in a decoder.
    The rest of the output stays as it is.

    Args:
        loaded: a model with a generator.
        run: its run.
        questions: what is asked of the output.
        how: see `KnockOut`.
        seed: seed of the draws, for "resampled" only.
        words: positions of each word's tokens; by default of `input_words`.
        stack: whose input; "decoder" takes away words of the target prefix. By default `input_stack`.
        on_progress: see `OnProgress`.
    """
    if words is None:
        known = input_words(loaded, run, stack)
        words = [known.tokens(word) for word in range(len(known.labels))]
    n_draws = N_DRAWS if how == "resampled" else 1
    generator = torch.Generator().manual_seed(seed)
    variants = [
        without_tokens(loaded, run, positions, how, generator, stack)
        for positions in words
        for _ in range(n_draws)
    ]
    return falls(loaded, run, variants, questions, on_progress, n_draws=n_draws)


def without_tokens(
    loaded: LoadedModel,
    run: Run,
    positions: Sequence[int],
    how: KnockOut,
    generator: torch.Generator | None = None,
    stack: Stack | None = None,
) -> Variant:
    """Edits that take away some tokens of the input.

    Args:
        loaded: the model.
        run: a run of it.
        positions: of the tokens, in the input of the stack.
        how: see `KnockOut`.
        generator: draws the tokens for "resampled".
        stack: by default `input_stack`.
    """
    config = loaded.model.config
    stack = stack or input_stack(config)
    if how == "masked":
        return {path: _closed(positions) for path in _masks(config, stack)}
    if how == "resampled":
        special_ids = _coder(loaded, stack).special_tokens.ids
        ordinary = [
            index for index in range(len(_embedding(loaded, stack).weight)) if index not in special_ids
        ]
        drawn = torch.randint(len(ordinary), (len(positions),), generator=generator)
        new = embedded(loaded, stack, [ordinary[index] for index in drawn])
    else:
        new = neutral_embedding(loaded, stack, how)

    def exchange(tokens: Tensor) -> Tensor:
        tokens[:, list(positions)] = new
        return tokens

    return {tokens_path(stack): exchange}


def tokens_path(stack: Stack) -> str:
    """The path of the token embeddings that a stack reads."""
    return f"{'src' if stack == 'encoder' else 'tgt'}_embedding.tokens"


def neutral_embedding(loaded: LoadedModel, stack: Stack, how: Literal["unknown", "mean"]) -> Tensor:
    """The embedding of <unk> or the mean one, which serves in a vocabulary without <unk> too: (width,)."""
    unk, embedding = _coder(loaded, stack).special_tokens.unk, _embedding(loaded, stack)
    if how == "unknown" and unk is not None:
        return embedded(loaded, stack, [unk])[0]
    return embedding.weight.detach().mean(dim=0) * embedding.scale


def embedded(loaded: LoadedModel, stack: Stack, ids: Sequence[int]) -> Tensor:
    """Embeddings of tokens that a stack reads, scaled as the tap sees them: (tokens, width)."""
    embedding = _embedding(loaded, stack)
    return embedding.weight.detach()[list(ids)] * embedding.scale


def _embedding(loaded: LoadedModel, stack: Stack) -> Embedding:
    return loaded.model.src_embedding if stack == "encoder" else loaded.model.tgt_embedding


def _coder(loaded: LoadedModel, stack: Stack) -> Coder:
    return loaded.source if stack == "encoder" else loaded.target


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
