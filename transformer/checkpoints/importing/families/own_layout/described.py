"""From a mapping file to a family: sizes are read from shapes, the rest from the file or from answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import lru_cache
from typing import Any

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families import _questions as questions
from transformer.checkpoints.importing.families.own_layout.mapping_file import MappingFile, read_mapping_file
from transformer.checkpoints.importing.families.own_layout.names import pattern_of, weight_names
from transformer.checkpoints.importing.family import Family, Into, Patterns, StandIn, transposed
from transformer.checkpoints.reading.folder_files import MAPPING
from transformer.checkpoints.reading.raw import RawCheckpoint, StoredTensor
from transformer.errors import CheckpointError, shown
from transformer.model.config import TransformerConfig

_STACKS = ("encoder", "decoder")
_USUAL = ("attention_scale", "logits_scale", "merge_heads", "position_base")
"""Settings that no tensor reveals and models rarely change: reported, not asked."""
_NOT_TOLD = "the mapping file does not say: the usual one"


def described_by_user(raw: RawCheckpoint) -> Family | None:
    """The family described by the checkpoint's mapping file; None without one.

    Raises:
        CheckpointError: for an invalid mapping file.
    """
    text = raw.texts.get(MAPPING)
    return None if text is None else _family(str(text))


@lru_cache(maxsize=8)
def _family(text: str) -> Family:
    file = read_mapping_file(text)
    known = Patterns(file.names)
    return Family(
        name="described",
        label="As its mapping file says",
        matches=lambda raw: any(known.find(name) for name in raw.tensors),
        read_config=lambda draft: _Reading(file, draft).read(),
        renames=file.names,
        ignored=file.ignored,
        stand_ins=_stand_ins,
    )


def _stand_ins(raw: RawCheckpoint) -> Mapping[str, StandIn]:
    """Zeros for the beta of norms, if no norm in the files has one."""
    file = read_mapping_file(str(raw.texts[MAPPING]))
    has_beta = any(name.endswith(".beta") for into in _present(raw, file) for name in into)
    return {} if has_beta else {name: "zeros" for name in weight_names() if name.endswith(".beta")}


def _present(raw: RawCheckpoint, file: MappingFile) -> dict[tuple[str, ...], tuple[StoredTensor, Into]]:
    """Our names that tensors in the files provide -> the tensor and how it is converted."""
    patterns = Patterns(file.names)
    found: dict[tuple[str, ...], tuple[StoredTensor, Into]] = {}
    for name, stored in raw.tensors.items():
        match = patterns.find(name)
        if match is not None:
            into = file.names[match[0]]
            found[tuple(ours.format(*match[1]) for ours in into.names)] = stored, into
    return found


class _Reading:
    """Fills in a configuration."""

    def __init__(self, file: MappingFile, draft: ConfigDraft) -> None:
        self.file, self.draft = file, draft
        self.tensors = {name: held for names, held in _present(draft.raw, file).items() for name in names}
        self.patterns = {pattern_of(name) for name in self.tensors}

    def read(self) -> None:
        draft = self.draft
        for name, value in self.file.config.items():
            draft.put(name, value, "config", f"mapping file: {name}")
        self._sizes()
        if "n_heads" not in draft.settings:
            draft.ask_heads()
        self._grouped_heads()
        self._parts()
        self._choices()
        for field in fields(TransformerConfig):
            if field.name in _USUAL and field.name not in draft.settings:
                draft.put(field.name, field.default, "assumed", _NOT_TOLD)

    def _choices(self) -> None:
        """Ask for the settings that neither tensors nor the mapping file give."""
        draft = self.draft
        why = "The mapping file does not say (norm_position: pre or post)."
        if "positions" not in draft.settings:
            self._positions()
        asks: dict[str, Callable[[], object]] = {
            "activation": lambda: questions.ask_activation(draft),
            "norm_position": lambda: questions.ask_norm_position(draft, why=why),
            "norm_eps": lambda: questions.ask_norm_eps(draft, 1e-5, 1e-6),
            "embedding_scale": lambda: questions.ask_embedding_scale(
                draft, likely=draft["positions"] == "sinusoidal"
            ),
            "pad_id": lambda: questions.ask_pad_id(draft, None, usual=0),
        }
        for name, ask in asks.items():
            if name not in draft.settings:
                ask()

    def _sizes(self) -> None:
        """Fill in sizes missing from the mapping file, from the shapes.

        Raises:
            CheckpointError: when the shapes don't give them.
        """
        for stack, side in zip(_STACKS, ("src", "tgt"), strict=True):
            if f"n_{stack}_layers" not in self.file.config:
                inside = [name for name in self.tensors if name.startswith(f"{stack}.layers.")]
                numbers = [int(name.split(".")[2]) for name in inside]
                self._shape(f"n_{stack}_layers", max(numbers, default=-1) + 1, f"names of {stack}.layers")
            if f"{side}_vocab_size" not in self.file.config:
                self._vocabulary(stack, side)
        stack = "encoder" if self.draft["n_encoder_layers"] else "decoder"
        self._size("d_ff", f"{stack}.layers.0.feed_forward.w_1.weight", 0)
        self._size("d_model", f"{stack}.layers.0.feed_forward.w_1.weight", 1)

    def _grouped_heads(self) -> None:
        """Fill in head width and key heads where the rows of queries and keys differ from d_model."""
        layer = "encoder" if self.draft["n_encoder_layers"] else "decoder"
        q_rows, k_rows = (self._rows(f"{layer}.layers.0.self_attn.w_{part}.weight") for part in "qk")
        n_heads, d_model = self.draft["n_heads"], self.draft["d_model"]
        if q_rows is None or k_rows is None or type(n_heads) is not int or n_heads < 1:
            return
        if not q_rows == k_rows == d_model:
            d_head = max(1, q_rows // n_heads)
            self._shape("d_head", d_head, "rows of queries over heads")
            self._shape("n_kv_heads", k_rows // d_head, "rows of keys over the width of a head")

    def _rows(self, ours: str) -> int | None:
        """Rows of a matrix stored on its own; None if it is part of another."""
        stored, into = self.tensors.get(ours, (None, None))
        if stored is None or into is None or len(into.names) > 1 or len(stored.shape) != 2:
            return None
        return stored.shape[into.by is transposed]

    def _vocabulary(self, stack: str, side: str) -> None:
        embedding = f"{side}_embedding.weight"
        if not self.draft[f"n_{stack}_layers"]:
            self._shape(f"{side}_vocab_size", 0, "there is no such stack")
            return
        if embedding not in self.tensors and side == "tgt":  # shared with the source
            embedding = "generator.weight" if "generator.weight" in self.tensors else "src_embedding.weight"
        self._size(f"{side}_vocab_size", embedding, 0)

    def _size(self, name: str, ours: str, axis: int) -> None:
        if name in self.draft.settings:
            return
        if ours not in self.tensors:
            raise CheckpointError(
                f"The mapping file has no {name}, and no tensor is mapped to {ours}, whose shape would "
                "give it: add one of them."
            )
        stored, into = self.tensors[ours]
        shape = stored.shape[::-1] if into.by is transposed else stored.shape
        if axis >= len(shape):
            raise CheckpointError(
                f"{shown(stored.name)} can't be {ours}: it has the shape {shown(stored.shape)}, but a matrix "
                "is needed. Name another tensor in the mapping file."
            )
        self._shape(name, shape[axis], f"shape of {stored.name}")

    def _shape(self, name: str, value: Any, why: str) -> None:
        if name not in self.draft.settings:
            self.draft.put(name, value, "shapes", why)

    def _parts(self) -> None:
        """Fill in which parts the model has: those that tensors map to."""
        has, draft = self.patterns, self.draft

        def ends(stack: str) -> bool:
            return f"{stack}.final_norm.gamma" in has

        final = [stack for stack in _STACKS if draft[f"n_{stack}_layers"] and ends(stack)]
        n_stacks = sum(bool(draft[f"n_{stack}_layers"]) for stack in _STACKS)
        self._shape(
            "final_norm", final[0] if len(final) < n_stacks and final else bool(final), "norms after a stack"
        )
        layer = "encoder" if draft["n_encoder_layers"] else "decoder"
        inside = f"{layer}.layers.{{}}"
        told_by = "which tensors there are"
        self._shape("bias", f"{inside}.feed_forward.w_1.bias" in has, told_by)
        self._shape("attention_bias", f"{inside}.self_attn.w_q.bias" in has, told_by)
        self._shape("gated", f"{inside}.feed_forward.w_3.weight" in has, told_by)
        self._shape("query_key_norm", f"{inside}.self_attn.q_norm.gamma" in has, told_by)
        self._shape(
            "embedding_norm", bool({"src_embedding.norm.gamma", "tgt_embedding.norm.gamma"} & has), told_by
        )
        self._shape("generator_transform", "generator_transform.dense.weight" in has, told_by)
        self._shape("generator_bias", "generator.bias" in has, told_by)
        both = n_stacks == 2
        one = both and not {"src_embedding.weight", "tgt_embedding.weight"} <= has
        self._shape("share_embeddings", one, told_by)
        if "norm" not in draft.settings:
            self._norm()
        if "generator.weight" in has:
            self._shape("has_generator", True, told_by)
            self._shape("tie_generator", False, told_by)
        elif "has_generator" not in draft.settings and "tie_generator" not in draft.settings:
            tied = draft.ask(
                "tie_generator",
                "Is the embedding also the layer that turns hidden states into words?",
                "No tensor is mapped to generator.weight.",
                {True: "yes: they are tied", False: "no: the model predicts no words"},
            )
            self._shape("has_generator", tied, told_by)

    def _norm(self) -> None:
        if any(name.endswith(".beta") for name in self.patterns):
            labels = {"layer": "layer norm", "layer_unbiased": "layer norm by the unbiased deviation"}
        else:
            labels = {"rms": "RMS norm", "layer": "layer norm without beta"}
        self.draft.ask("norm", "Which norm is it?", "Its weights look the same for all of these.", labels)

    def _positions(self) -> None:
        has = self.patterns
        if "encoder.relative_bias.weight" in has or "decoder.relative_bias.weight" in has:
            self._shape("positions", "relative", "which tensors there are")
        tables = [
            held[0]
            for name, held in self.tensors.items()
            if name in ("src_embedding.positions.weight", "tgt_embedding.positions.weight")
        ]
        if tables:
            self._shape("positions", "learned", f"{tables[0].name} is a table of them")
            self._shape("max_len", min(max(table.shape[:-1], default=1) for table in tables), "their tables")
        elif "positions" not in self.draft.settings:
            told = self.draft.settings.get("max_len")
            questions.ask_positions(self.draft, [])
            if told is not None:
                self.draft.settings["max_len"] = told
