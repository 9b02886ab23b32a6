"""graykode/nlp-tutorial, "5-1.Transformer", and its many copies that are attributed to wmathor.

Post-norm. Most copies, and the first versions, create new norms at each call, so gamma is 1, beta is 0 and
neither is stored; the first versions also create the layer after the heads this way, so its weights were
never saved. The feed-forward consists of convolutions over single tokens, in the copies of linear layers
without biases.

Positions are a table of sinusoids. The code hard-codes the rows added to the one example sentence; copies
count from 0, and some look up the row by token id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.tutorials import _shared as shared
from transformer.checkpoints.importing.family import (
    Family,
    Into,
    Renames,
    StandIn,
    pointwise,
    prefixed,
)
from transformer.checkpoints.importing.layout import questions
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import CheckpointError
from transformer.model.config import TransformerConfig

if TYPE_CHECKING:
    from torch import Tensor


def last_from_row_0(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    """(1 + length, D) -> (max_len, D): the rows 1, 2, ..., then row 0 for the last token, a padding token."""
    return (tensor[[*range(1, len(tensor) - 1), 0]][: config.max_len],)


def first_from_last_row(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    """(1 + length, D) -> (max_len, D): the last row for the first token, then rows 1, 2, ..."""
    return (tensor[[-1, *range(1, len(tensor) - 1)]][: config.max_len],)


_ATTENTION: Renames = {"W_Q": "w_q", "W_K": "w_k", "W_V": "w_v", "linear": "w_o", "fc": "w_o"}
_FEED_FORWARD: Renames = {
    "pos_ffn.conv1": Into(pointwise, "feed_forward.w_1"),
    "pos_ffn.conv2": Into(pointwise, "feed_forward.w_2"),
    "pos_ffn.fc.0": "feed_forward.w_1",
    "pos_ffn.fc.2": "feed_forward.w_2",
    "pos_ffn.layer_norm": "feed_forward_norm",
}
_ENCODER_LAYER: Renames = {
    **prefixed(_ATTENTION, "enc_self_attn.", "self_attn."),
    "enc_self_attn.layer_norm": "self_attn_norm",
    **_FEED_FORWARD,
}
_DECODER_LAYER: Renames = {
    **prefixed(_ATTENTION, "dec_self_attn.", "self_attn."),
    "dec_self_attn.layer_norm": "self_attn_norm",
    **prefixed(_ATTENTION, "dec_enc_attn.", "cross_attn."),
    "dec_enc_attn.layer_norm": "cross_attn_norm",
    **_FEED_FORWARD,
}

RENAMES: Renames = {
    **shared.renames(_ENCODER_LAYER, _DECODER_LAYER),
    "src_positions_from_1": Into(shared.from_row_1, "src_embedding.positions.weight"),
    "tgt_positions_from_1": Into(shared.from_row_1, "tgt_embedding.positions.weight"),
    "src_positions_of_example": Into(last_from_row_0, "src_embedding.positions.weight"),
    "tgt_positions_of_example": Into(first_from_last_row, "tgt_embedding.positions.weight"),
}

RENAMED_PARTS = {
    "encoder.src_emb.weight": "src_embedding",
    "decoder.tgt_emb.weight": "tgt_embedding",
    "encoder.pos_emb.weight": "src_positions",
    "decoder.pos_emb.weight": "tgt_positions",
    "encoder.pos_emb.pe": "src_positions",
    "decoder.pos_emb.pe": "tgt_positions",
    "projection.weight": "generator.weight",
    "projection.bias": "generator.bias",
}

_LAYER = "encoder.layers.0."
_QUERIES = f"{_LAYER}enc_self_attn.W_Q.weight"
_ROWS_OF_EXAMPLE = 6
"""Rows of both tables in the repository: one more than the example's sentences have tokens."""


def read_config(draft: ConfigDraft) -> None:
    """Read the shapes, and ask for the rest.

    Raises:
        CheckpointError: for positions that are looked up by token id.
    """
    tensors = draft.raw.tensors
    hidden = "pos_ffn.fc.0" if f"{_LAYER}pos_ffn.fc.0.weight" in tensors else "pos_ffn.conv1"
    shared.put_sizes(draft, hidden=f"{_LAYER}{hidden}.weight")
    shared.ask_heads(draft, _QUERIES)
    draft.layout(
        "the same in every version of this code",
        norm="layer",
        norm_eps=1e-5,
        norm_position="post",
        final_norm=False,
        activation="relu",
        embedding_scale=False,
    )
    draft.present("bias", f"{_LAYER}{hidden}.bias")
    draft.present("attention_bias", f"{_LAYER}enc_self_attn.W_Q.bias")
    questions.put_vocabularies(draft)
    _read_positions(draft)
    questions.ask_pad_id(draft, "src_embedding", usual=0)
    if not _has_norm(draft.raw, "enc_self_attn"):
        draft.note("This code creates its norms at each call and never trains them: gamma is 1 and beta 0.")


def _read_positions(draft: ConfigDraft) -> None:
    tables = questions.stored_positions(draft.raw)
    if any(draft.stored_name(name).endswith(".pe") for name in tables) or len(tables) < 2:
        questions.ask_positions(draft, tables)
        return
    rows = _ask_rows(draft, [draft.length(name, 0) for name in tables])
    if rows == "word":
        raise CheckpointError(
            "The table of positions is looked up by the word and not by its position: the model knows no "
            "order. Headlight does not compute that: give pos_emb the numbers 0, 1, 2, ... and train again."
        )
    if rows == "from_0":
        questions.ask_positions(draft, tables)
        return
    draft.raw = shared.arranged({name: f"{name}_{rows}" for name in tables})(draft.raw)
    why = f"{draft.stored_name(f'{tables[0]}_{rows}')}, by an answer"
    draft.put("positions", "learned", "shapes", why)
    draft.put("max_len", min(draft.length(f"{name}_{rows}", 0) for name in tables) - 1, "shapes", why)


def _ask_rows(draft: ConfigDraft, lengths: Sequence[int]) -> str:
    labels = {
        "from_0": "0, 1, 2, ...: they are counted from 0",
        "of_example": "those of the example: [[1,2,3,4,0]] in the encoder, [[5,1,2,3,4]] in the decoder",
        "from_1": "1, 2, 3, ...: they are counted from 1",
        "word": "that of the word itself: self.pos_emb(enc_inputs)",
    }
    is_example = [*lengths] == [_ROWS_OF_EXAMPLE] * 2
    why = "It is hard-coded. Look for self.pos_emb( in forward of Encoder and Decoder."
    if [*lengths] == [draft["src_vocab_size"], draft["tgt_vocab_size"]]:
        why += " The tables have one row per word, as in copies that look it up by the word."
    return str(
        draft.ask(
            "rows_of_pos_emb",
            "Which rows of pos_emb are added to the words of a sentence?",
            why,
            labels,
            likely="of_example" if is_example else "from_0",
        )
    )


def _has_norm(raw: RawCheckpoint, module: str) -> bool:
    return f"{_LAYER}{module}.layer_norm.weight" in raw.tensors


def stand_ins(raw: RawCheckpoint) -> Mapping[str, StandIn]:
    """Norms and the layer after the heads, if they are created at each call."""
    table: dict[str, StandIn] = {}
    theirs = dict.fromkeys(shared.ATTENTIONS, "enc_self_attn")
    theirs |= dict.fromkeys(("encoder.layers.{}.feed_forward", "decoder.layers.{}.feed_forward"), "pos_ffn")
    for ours, module in theirs.items():
        if not _has_norm(raw, module):
            table |= {f"{ours}_norm.gamma": "ones", f"{ours}_norm.beta": "zeros"}
    if not any(f"{_LAYER}enc_self_attn.{name}.weight" in raw.tensors for name in ("linear", "fc")):
        for attention in shared.ATTENTIONS:
            table |= {f"{attention}.w_o.weight": "drawn", f"{attention}.w_o.bias": "zeros"}
    return table


FAMILY = Family(
    name="graykode",
    label="graykode/nlp-tutorial's Transformer",
    matches=shared.has(_QUERIES, "decoder.layers.0.dec_self_attn.W_Q.weight"),
    read_config=read_config,
    renames=RENAMES,
    ignored=shared.IGNORED,
    arrange=shared.arranged(RENAMED_PARTS),
    stand_ins=stand_ins,
)
