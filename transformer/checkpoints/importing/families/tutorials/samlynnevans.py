"""SamLynnEvans/Transformer: pre-norm with the unbiased deviation, and a final norm after each stack.

Its sines and cosines are stored. The exponents are doubled, and each cosine has its own, unlike the paper's
sinusoids: the table is used as stored. Copies that corrected this are read too.
"""

from __future__ import annotations

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.tutorials import _shared as shared
from transformer.checkpoints.importing.family import Family, Renames, prefixed
from transformer.checkpoints.importing.layout.questions import put_final_norm

_NORM = {"gamma": "alpha", "beta": "bias"}
_ATTENTION: Renames = {"q_linear": "w_q", "k_linear": "w_k", "v_linear": "w_v", "out": "w_o"}
_SUBLAYERS: Renames = {
    "norm_1": "self_attn_norm",
    "ff.linear_1": "feed_forward.w_1",
    "ff.linear_2": "feed_forward.w_2",
}
_ENCODER_LAYER: Renames = {
    **_SUBLAYERS,
    **prefixed(_ATTENTION, "attn.", "self_attn."),
    "norm_2": "feed_forward_norm",
}
_DECODER_LAYER: Renames = {
    **_SUBLAYERS,
    **prefixed(_ATTENTION, "attn_1.", "self_attn."),
    **prefixed(_ATTENTION, "attn_2.", "cross_attn."),
    "norm_2": "cross_attn_norm",
    "norm_3": "feed_forward_norm",
}

RENAMES: Renames = shared.renames(_ENCODER_LAYER, _DECODER_LAYER, final_norm=shared.FINAL_NORMS, norm=_NORM)

RENAMED_PARTS = {
    "encoder.embed.embed.weight": "src_embedding",
    "decoder.embed.embed.weight": "tgt_embedding",
    "encoder.pe.pe": "src_positions",
    "decoder.pe.pe": "tgt_positions",
    "out.weight": "generator.weight",
    "out.bias": "generator.bias",
}

_QUERIES = "encoder.layers.0.attn.q_linear.weight"


def read_config(draft: ConfigDraft) -> None:
    """Read the shapes, and ask for the rest."""
    shared.put_sizes(draft, hidden="encoder.layers.0.ff.linear_1.weight")
    shared.ask_heads(draft, _QUERIES)
    draft.layout(
        "the same in every version of this code",
        norm="layer_unbiased",
        norm_eps=1e-6,
        norm_position="pre",
        activation="relu",
        embedding_scale=True,
    )
    put_final_norm(draft, ("encoder", "decoder"), "alpha")
    shared.put_outside(draft, pad_id=1)
    if draft["positions"] == "learned":
        draft.note(
            "The position table is used as stored: this code doubles the paper's exponents, so "
            "most of its wavelengths are much longer."
        )


FAMILY = Family(
    name="samlynnevans",
    label="SamLynnEvans/Transformer",
    matches=shared.has(_QUERIES, "decoder.layers.0.attn_1.q_linear.weight"),
    read_config=read_config,
    renames=RENAMES,
    ignored=shared.IGNORED,
    arrange=shared.arranged(RENAMED_PARTS),
)
