"""hyunwoongko/transformer: separate projections, post-norm, sinusoids that are not stored.

The norms in its first versions divide by the unbiased deviation plus eps, in later ones by the square root of
the biased variance plus eps. Early copies split heads without transposing, so heads mix numbers of several
tokens. Neither is visible in the files: both are asked.
"""

from __future__ import annotations

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.tutorials import _shared as shared
from transformer.checkpoints.importing.family import Family, Renames, prefixed
from transformer.errors import CheckpointError

_NORM = {"gamma": "gamma", "beta": "beta"}
_ATTENTION: Renames = {"w_q": "w_q", "w_k": "w_k", "w_v": "w_v", "w_concat": "w_o"}
_FEED_FORWARD: Renames = {"ffn.linear1": "feed_forward.w_1", "ffn.linear2": "feed_forward.w_2"}
_ENCODER_LAYER: Renames = {
    **prefixed(_ATTENTION, "attention.", "self_attn."),
    "norm1": "self_attn_norm",
    **_FEED_FORWARD,
    "norm2": "feed_forward_norm",
}
_DECODER_LAYER: Renames = {
    **prefixed(_ATTENTION, "self_attention.", "self_attn."),
    "norm1": "self_attn_norm",
    **prefixed(_ATTENTION, "enc_dec_attention.", "cross_attn."),
    "norm2": "cross_attn_norm",
    **_FEED_FORWARD,
    "norm3": "feed_forward_norm",
}

RENAMES: Renames = shared.renames(_ENCODER_LAYER, _DECODER_LAYER, norm=_NORM)

RENAMED_PARTS = {
    "encoder.emb.tok_emb.weight": "src_embedding",
    "decoder.emb.tok_emb.weight": "tgt_embedding",
    "encoder.emb.pos_emb.encoding": "src_positions",
    "decoder.emb.pos_emb.encoding": "tgt_positions",
    "decoder.linear.weight": "generator.weight",
    "decoder.linear.bias": "generator.bias",
}

_QUERIES = "encoder.layers.0.attention.w_q.weight"
_OUTPUT = "encoder.layers.0.attention.w_concat.weight"
_VERSIONS_DIFFER = "Versions of this code differ, and save the same names and shapes."
_CUT_ACROSS_TOKENS = (
    "The attention of this version splits heads without transposing, so they get parts of other tokens as "
    "queries and keys. Headlight does not compute that: use the current code, and train again."
)


def read_config(draft: ConfigDraft) -> None:
    """Read the shapes, and ask for the rest.

    Raises:
        CheckpointError: for heads that are split across tokens.
    """
    if _OUTPUT not in draft.raw.tensors:  # versions without this layer always split across tokens
        raise CheckpointError(_CUT_ACROSS_TOKENS)
    shared.put_sizes(draft, hidden="encoder.layers.0.ffn.linear1.weight")
    shared.ask_heads(draft, _QUERIES)
    _ask_split(draft)
    draft.ask(
        "norm",
        "What do the norms divide by?",
        f"{_VERSIONS_DIFFER} Look at forward of LayerNorm in your code.",
        {
            "layer": "the root of x.var(-1, unbiased=False) plus eps, as in the current version",
            "layer_unbiased": "x.std(-1) plus eps, as in the first versions",
        },
    )
    draft.layout(
        "the same in every version of this code",
        norm_eps=1e-12,
        norm_position="post",
        final_norm=False,
        activation="relu",
        embedding_scale=False,
    )
    shared.put_outside(draft, pad_id=1, computes_sinusoids=True)


def _ask_split(draft: ConfigDraft) -> None:
    split = draft.ask(
        "split_heads",
        "Does the attention transpose after splitting the heads?",
        f"{_VERSIONS_DIFFER} Look at split of MultiHeadAttention in your code.",
        {
            "transposed": "yes: view(batch_size, length, n_head, d_tensor).transpose(1, 2)",
            "untransposed": "no: view(batch_size, n_head, length, d_tensor) alone",
        },
    )
    if split == "untransposed":
        raise CheckpointError(_CUT_ACROSS_TOKENS)


FAMILY = Family(
    name="hyunwoongko",
    label="hyunwoongko/transformer",
    matches=shared.has(_QUERIES, "decoder.layers.0.self_attention.w_q.weight"),
    read_config=read_config,
    renames=RENAMES,
    ignored=shared.IGNORED,
    arrange=shared.arranged(RENAMED_PARTS),
)
