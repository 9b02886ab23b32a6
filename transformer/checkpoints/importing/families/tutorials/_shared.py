"""Common to all these encoder-decoders: the names given by `arranged`, sizes and vocabularies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.family import (
    Into,
    Renames,
    StandIn,
    module_renames,
    prefixed,
    table_of_positions,
)
from transformer.checkpoints.importing.layout import questions
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.model.config import TransformerConfig

if TYPE_CHECKING:
    from torch import Tensor

OUTSIDE: Renames = {
    "src_embedding": "src_embedding.weight",
    "tgt_embedding": "tgt_embedding.weight",
    "src_positions": Into(table_of_positions, "src_embedding.positions.weight"),
    "tgt_positions": Into(table_of_positions, "tgt_embedding.positions.weight"),
    **module_renames({"generator": "generator"}),
}
"""Parts outside the stacks, under the names that the questions use."""

IGNORED = dict.fromkeys(questions.POSITIONS, questions.SINUSOIDS)

ATTENTIONS = ("encoder.layers.{}.self_attn", "decoder.layers.{}.self_attn", "decoder.layers.{}.cross_attn")
ZERO_BIASES: Mapping[str, StandIn] = {
    f"{attention}.{matrix}.bias": "zeros" for attention in ATTENTIONS for matrix in ("w_q", "w_k", "w_v")
}
"""For attentions in which only the output matrix has a bias."""


_TORCHS_NORM = {"gamma": "weight", "beta": "bias"}


def renames(
    encoder_layer: Renames,
    decoder_layer: Renames,
    *,
    layers: str = "layers",
    final_norm: Renames | None = None,
    norm: Mapping[str, str] = _TORCHS_NORM,
) -> Renames:
    """The rename table of an encoder-decoder.

    Args:
        encoder_layer: modules of an encoder layer.
        decoder_layer: modules of a decoder layer.
        layers: name of the lists of layers, with {} for the side.
        final_norm: norms after the stacks, if any.
        norm: names of gamma and beta in norms, as in `module_renames`.
    """
    encoder, decoder = (f"{side}.{layers.format(side)}.{{}}." for side in ("encoder", "decoder"))
    return {
        **OUTSIDE,
        **prefixed(module_renames(encoder_layer, **norm), encoder, "encoder.layers.{}."),
        **prefixed(module_renames(decoder_layer, **norm), decoder, "decoder.layers.{}."),
        **module_renames(final_norm or {}, **norm),
    }


FINAL_NORMS: Renames = {"encoder.norm": "encoder.final_norm", "decoder.norm": "decoder.final_norm"}


def from_row_1(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    """(1 + length, D) -> (max_len, D): positions count from 1, row 0 is for padding."""
    return (tensor[1 : config.max_len + 1],)


def arranged(parts: Mapping[str, str]) -> Callable[[RawCheckpoint], RawCheckpoint]:
    """A function that renames parts outside the stacks: foreign name -> the one that the questions use."""

    def arrange(raw: RawCheckpoint) -> RawCheckpoint:
        return replace(raw, tensors={parts.get(name, name): stored for name, stored in raw.tensors.items()})

    return arrange


def has(*names: str) -> Callable[[RawCheckpoint], bool]:
    """A function that is True for checkpoints with both embeddings and all of these names."""
    needed = {"src_embedding", "tgt_embedding", *names}
    return lambda raw: needed <= raw.tensors.keys()


def put_sizes(draft: ConfigDraft, *, hidden: str, layers: str = "layers") -> None:
    """Fill in depths and widths.

    Args:
        draft: to be filled in.
        hidden: name of the first feed-forward matrix in the encoder's first layer.
        layers: name of the lists of layers, with {} for the side.
    """
    for side in ("encoder", "decoder"):
        count = draft.raw.layer_count(f"{side}.{layers.format(side)}.")
        draft.put(f"n_{side}_layers", count, "shapes", f"layers of the {side}")
    draft.size("d_model", "d_model", "src_embedding", 1)
    draft.size("d_ff", "d_ff", hidden, 0)


def ask_heads(draft: ConfigDraft, queries: str, usual: int = 8) -> None:
    """Ask for n_heads, and fill in d_head if the heads together are not as wide as the model.

    Args:
        draft: with d_model.
        queries: name of a query matrix for all heads.
        usual: number of heads in the code's examples.
    """
    width = draft.length(queries, 0)
    n_heads = draft.ask_heads(usual, width)
    if width != draft["d_model"]:
        why = f"axis 0 of {draft.stored_name(queries)}, shared by {n_heads} heads"
        draft.put("d_head", width // max(1, n_heads), "shapes", why)


def put_outside(draft: ConfigDraft, *, pad_id: int, computes_sinusoids: bool = False) -> None:
    """Fill in vocabularies, positions and padding.

    Args:
        draft: to be filled in.
        pad_id: the repository's.
        computes_sinusoids: whether the code computes sinusoids without storing them; copies may store them.
    """
    questions.put_vocabularies(draft)
    tables = questions.stored_positions(draft.raw)
    if computes_sinusoids and not tables:
        draft.layout("this code computes sinusoids and does not store them", positions="sinusoidal")
        draft.put("max_len", questions.ASSUMED_LENGTH, "assumed", "no table of positions is stored")
    else:
        questions.ask_positions(draft, tables)
    embedding = "src_embedding" if draft["n_encoder_layers"] else "tgt_embedding"
    questions.ask_pad_id(draft, embedding, usual=pad_id)
