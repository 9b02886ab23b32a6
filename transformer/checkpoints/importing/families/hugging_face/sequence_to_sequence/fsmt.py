"""FSMT as Hugging Face's transformers saves it: fairseq's translators from WMT 19 (Ng et al. 2019).

The paper's post-norm Transformer; each side has its own vocabulary and feed-forward width. Sinusoids are
tensor2tensor's, and the first position is the padding id + 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.hugging_face.sequence_to_sequence import (
    _fairseq_layout as fairseq_layout,
)
from transformer.checkpoints.importing.family import Family, Into, Renames, may_be
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import CheckpointError
from transformer.model.config import TransformerConfig

if TYPE_CHECKING:
    from torch import Tensor

_GENERATOR = "decoder.output_projection.weight"


def rows_up_to_d_ff(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    """(n, ...) -> (d_ff, ...): padded with zero rows, so that the added hidden units are zero."""
    if len(tensor) >= config.d_ff:
        return (tensor,)
    filled = tensor.new_zeros(config.d_ff, *tensor.shape[1:])
    filled[: len(tensor)] = tensor
    return (filled,)


def columns_up_to_d_ff(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    """(D, n) -> (D, d_ff): padded with zero columns, for the added hidden units."""
    return (rows_up_to_d_ff(tensor.transpose(0, 1), config)[0].transpose(0, 1),)


_WIDTHS: Renames = {
    f"{stack}.layers.{{}}.{name}": Into(by, f"{stack}.layers.{{}}.feed_forward.{ours}")
    for stack in ("encoder", "decoder")
    for name, by, ours in (
        ("fc1.weight", rows_up_to_d_ff, "w_1.weight"),
        ("fc1.bias", rows_up_to_d_ff, "w_1.bias"),
        ("fc2.weight", columns_up_to_d_ff, "w_2.weight"),
    )
}
RENAMES: Renames = {**fairseq_layout.LAYERS_AND_WORDS, **_WIDTHS, _GENERATOR: "generator.weight"}


def matches(raw: RawCheckpoint) -> bool:
    """True if there are norms only in the layers, and the decoder contains the generator."""
    bare = fairseq_layout.has_stacks(raw, embedding_norm=False, pre_norm=False)
    return bare and _GENERATOR in raw.tensors and may_be(raw, "fsmt")


def read_config(draft: ConfigDraft) -> None:
    """Read config.json, or the shapes and answers."""
    fairseq_layout.read_stacks(draft, activation="relu", one_width=False)
    _read_widths(draft)
    sizes = [draft.length(f"{side}.embed_tokens.weight", 0) for side in ("encoder", "decoder")]
    fairseq_layout.read_words(
        draft,
        one_vocabulary=sizes[0] == sizes[1],
        source_key="src_vocab_size",
        target_key="tgt_vocab_size",
        generator=_GENERATOR,
        usually_tied=False,
    )
    fairseq_layout.read_shifted_sinusoids(draft)
    fairseq_layout.read_embedding_scale(draft, likely=True, default=True)
    # "decoder" repeats the target's vocabulary size
    fairseq_layout.refuse_other_computations(draft, "langs", "decoder", "vocab_size")


def _read_widths(draft: ConfigDraft) -> None:
    """Fill in d_ff, the wider stack's; the other's tensors are padded.

    Raises:
        CheckpointError: when config.json and the files disagree about a width.
    """
    widths = {stack: _width(draft, stack) for stack in ("encoder", "decoder")}
    draft.put("d_ff", max(widths.values()), "shapes", "the wider of both stacks' feed-forwards")
    if len(set(widths.values())) > 1:
        listed = " and ".join(f"the {stack}'s is {width} wide" for stack, width in widths.items())
        draft.note(f"The feed-forwards differ, {listed}: zeros pad the narrower one, which changes nothing.")


def _width(draft: ConfigDraft, stack: str) -> int:
    """The width of a stack's feed-forwards, which must be the same in all layers."""
    tensors = draft.raw.tensors.items()
    fc1 = [stored for name, stored in tensors if name.startswith(stack) and name.endswith(".fc1.weight")]
    found = {stored.shape[0] for stored in fc1 if stored.shape}
    key = f"{stack}_ffn_dim"
    told = min(found) if draft.config is None else draft.config.integer(key, min(found))
    if found != {told}:
        listed = ", ".join(map(str, sorted(found)))
        raise CheckpointError(
            f"The {stack}'s feed-forwards are {told} wide by {key}, and {listed} in the files: they belong "
            "to two different models."
        )
    return told


FAMILY = Family(
    name="fsmt",
    label="FSMT",
    matches=matches,
    read_config=read_config,
    renames=RENAMES,
    ignored={**fairseq_layout.UNUSED, **fairseq_layout.TABLES_OF_SINUSOIDS},
    arrange=fairseq_layout.arrange,
)
