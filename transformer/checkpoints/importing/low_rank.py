"""LoRA merged into weights: W + B A · alpha / r (Hu et al. 2021, section 4.1), computed when W is mapped."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.foreign_config import ForeignConfig
from transformer.checkpoints.reading.folder_files import ADAPTER_CONFIG
from transformer.checkpoints.reading.memory_map import map_tensor
from transformer.checkpoints.reading.raw import BESIDE, RawCheckpoint, StoredTensor
from transformer.errors import CheckpointError, shown

if TYPE_CHECKING:
    from torch import Tensor

MERGE_FIRST = (
    "merge the adapter into its model in the program that trained it (merge_and_unload), and save that"
)
_ALPHA = "lora_alpha"
_USUAL_ALPHA = 8
"""PEFT's default."""
_NAME = re.compile(r"[\w.]+")
_HARMLESS = """
    auto_mapping base_model_name_or_path bias ensure_weight_tying exclude_modules fan_in_fan_out
    inference_mode init_lora_weights layers_pattern layers_to_transform loftq_config lora_bias
    lora_dropout megatron_core modules_to_save peft_version qalora_group_size r rank_pattern
    revision runtime_config target_modules target_parameters task_type trainable_token_indices
"""
"""Settings of an adapter that its tensors show, that are read elsewhere, or that concern its training."""
_KEEPING = (True, False, "gaussian", "orthogonal")
"""Initial values of an adapter that leave the model's weights as they are."""

Pairs = Mapping[str, Mapping[str, StoredTensor]]
"""Name of a module -> "A", "B" (of embeddings "embedding_A", "embedding_B") -> the matrix."""


@dataclass(frozen=True)
class MergedTensor(StoredTensor):
    """A stored matrix to which the product of two others is added when it is mapped.

    Attributes:
        down: A, (r, in).
        up: B, (out, r).
        scale: factor of the product.
        transposed: whether the matrix is stored as (in, out).
    """

    down: StoredTensor
    up: StoredTensor
    scale: float
    transposed: bool


def numbers_of(stored: StoredTensor) -> Tensor:
    """Map a tensor into memory as `map_tensor` does; a merged one is computed, in float32."""
    mapped = map_tensor(stored)
    if not isinstance(stored, MergedTensor):
        return mapped
    product = map_tensor(stored.up).float() @ map_tensor(stored.down).float()
    return mapped.float() + stored.scale * (product.T if stored.transposed else product)


class Merger:
    """Merges an adapter into the tensors of a draft.

    Args:
        draft: where questions are asked.
        tensors: the model's, under the names that the adapter uses or with another prefix.
        is_beside: whether the adapter is in a file of its own.
    """

    def __init__(self, draft: ConfigDraft, tensors: Mapping[str, StoredTensor], is_beside: bool) -> None:
        self.draft = draft
        self.tensors = tensors
        self.is_beside = is_beside
        self.config = ForeignConfig.of(draft.raw, ADAPTER_CONFIG)
        self.changed: dict[str, StoredTensor] = {}

    def add(self, pairs: Pairs) -> None:
        """Add the product of each pair to its matrix.

        Raises:
            CheckpointError: if pairs and matrices don't belong together, or the settings are not LoRA's.
        """
        complete = {stem: _complete(stem, pair) for stem, pair in pairs.items()}
        scales = self._scales({stem: down.shape[0] for stem, (down, _) in complete.items()})
        for stem, (down, up) in complete.items():
            base = self._found(stem, "weight", "in_proj_weight")
            of_words = "embedding_A" in pairs[stem]
            transposed = self._is_transposed(base, up.shape[0], down.shape[1], of_words)
            merged = MergedTensor(**vars(base), down=down, up=up, scale=scales[stem], transposed=transposed)
            self.changed[base.name] = merged

    def replace(self, trained: Mapping[str, StoredTensor]) -> None:
        """Replace whole tensors by those that were trained with the adapter.

        Raises:
            CheckpointError: if the model has no such tensor, or of another shape.
        """
        for name, stored in trained.items():
            stem, _, last = name.rpartition(".")
            base = self._found(stem, last)
            if base.shape != stored.shape:
                raise CheckpointError(
                    f"The adapter replaces {shown(base.name)} by a tensor of another shape: {MERGE_FIRST}."
                )
            self.changed[base.name] = stored

    def finish(self) -> Mapping[str, StoredTensor]:
        """Note what was merged; stored names -> the changed tensors, for `with_changed`."""
        raw, changed = self.draft.raw, self.changed
        pairs = raw.aliases.items()
        aliases = {one: other for one, other in pairs if changed.keys().isdisjoint({one, other})}
        self.draft.raw = replace(raw, aliases=aliases)
        self.draft.note(f"An adapter (LoRA) is merged into {len(changed)} tensors: W + B A · alpha / r.")
        return changed

    def _found(self, stem: str, *lasts: str) -> StoredTensor:
        """The model's tensor of an adapted module; names in two files may differ in their first parts."""
        ends = [f"{stem}.{last}" for last in lasts]
        found = [self.tensors[name] for name in ends if name in self.tensors]
        if not found and self.is_beside:
            found = [
                stored
                for name, stored in self.tensors.items()
                if any(f".{name}".endswith(f".{end}") or end.endswith(f".{name}") for end in ends)
            ]
        if len(found) != 1:
            raise CheckpointError(
                f"The adapter changes {shown(ends[0])}, which the model's files don't have: it belongs to "
                f"another model, or is none of single matrices. In that case, {MERGE_FIRST}."
            )
        return found[0]

    def _is_transposed(self, base: StoredTensor, out: int, into: int, of_words: bool) -> bool:
        """Whether a matrix is stored as (in, out), the transpose of what a linear layer stores."""
        shapes = [(into, out)] if of_words else [(out, into), (into, out)]
        if base.shape not in shapes:
            raise CheckpointError(
                f"The adapter of {shown(base.name)} is for {out} × {into} numbers, and the model has "
                f"{' × '.join(map(str, base.shape))}: they belong to two different models."
            )
        if of_words or out != into:
            return base.shape == (into, out)
        return self._stores_columns() if self.config is None else self.config.flag("fan_in_fan_out", False)

    def _stores_columns(self) -> bool:
        """Whether most matrices are stored as (in, out), as the lengths of their biases show."""
        votes = [0, 0]
        for name, stored in self.tensors.items():
            bias = self.tensors.get(name.removesuffix("weight") + "bias")
            if len(stored.shape) == 2 and stored.shape[0] != stored.shape[1] and bias and bias.shape:
                votes[bias.shape[0] == stored.shape[1]] += 1
        return votes[1] > votes[0]

    def _scales(self, ranks: Mapping[str, int]) -> Mapping[str, float]:
        """The factor of each module's product: alpha / r, or alpha / √r in rsLoRA (Kalajdzievski 2023)."""
        config = self.config
        if config is None:
            alpha = self._ask_alpha(max(ranks.values())) if ranks else 0.0
            return {stem: alpha / rank for stem, rank in ranks.items()}
        config.only("peft_type", "LORA", why=f"only LoRA is merged; {MERGE_FIRST}")
        if self.is_beside:
            why = f"such an adapter has changed the model's own weights; {MERGE_FIRST}"
            config.only("init_lora_weights", *_KEEPING, why=why)
        is_root, alpha = config.flag("use_rslora", False), config.number(_ALPHA, _USUAL_ALPHA)
        own = config.get("alpha_pattern", {})
        config.refuse_unknown(_HARMLESS.split())
        if not isinstance(own, dict) or not all(
            _NAME.fullmatch(key) and type(value) in (int, float) for key, value in own.items()
        ):
            raise CheckpointError(
                f"{ADAPTER_CONFIG} has an alpha_pattern that is not plain names with numbers: {MERGE_FIRST}."
            )
        return {
            stem: next((value for key, value in own.items() if f".{stem}".endswith(f".{key}")), alpha)
            / (math.sqrt(rank) if is_root else rank)
            for stem, rank in ranks.items()
        }

    def _ask_alpha(self, rank: int) -> float:
        asked: Any = self.draft.ask(
            _ALPHA,
            "What is lora_alpha, the scale of the adapter?",
            f"B A · lora_alpha / r is added to each adapted matrix; here r is {rank}. It is saved in "
            f"{ADAPTER_CONFIG}, not with the weights, and with a wrong one all numbers are wrong. For rsLoRA "
            "answer lora_alpha · √r.",
            {float(value): f"{value}" for value in dict.fromkeys((2 * rank, rank, 16, 32, _USUAL_ALPHA))},
        )
        return float(asked)


def _complete(stem: str, pair: Mapping[str, StoredTensor]) -> tuple[StoredTensor, StoredTensor]:
    """A pair's A and B.

    Raises:
        CheckpointError: if one of them is missing, or their shapes don't fit.
    """
    of_words = "embedding_" if any(side.startswith("embedding") for side in pair) else ""
    down, up = pair.get(f"{of_words}A"), pair.get(f"{of_words}B")
    if down is None or up is None:
        raise CheckpointError(
            f"The adapter of {shown(stem)} has one matrix, where lora_A and lora_B are needed: save it again."
        )
    if len(down.shape) != 2 or len(up.shape) != 2 or down.shape[0] != up.shape[1]:
        raise CheckpointError(
            f"The adapter of {shown(stem)} is not for one matrix (a convolution or experts): {MERGE_FIRST}."
        )
    return down, up


def with_changed(raw: RawCheckpoint, changed: Mapping[str, StoredTensor]) -> RawCheckpoint:
    """Put an adapter's tensors in the place of those that they change.

    Args:
        raw: the checkpoint, arranged for the last time.
        changed: what `Merger.finish` returned.

    Raises:
        CheckpointError: if the layout has taken one of them apart.
    """
    if not changed:
        return raw
    tensors = {name: changed.get(stored.name, stored) for name, stored in raw.tensors.items()}
    apart = next((one for name, one in raw.tensors.items() if tensors[name].shape != one.shape), None)
    if apart is not None:
        raise CheckpointError(
            f"The adapter changes {shown(apart.name)}, which is several weights of ours: {MERGE_FIRST}."
        )
    return replace(raw, tensors=tensors)


def check_tied(parts: Iterable[StoredTensor]) -> None:
    """Refuse an adapter of a tied matrix, because PEFT changes only one of its uses.

    Args:
        parts: the tensors of all tied weights.

    Raises:
        CheckpointError: with the tensor's name.
    """
    for part in parts:
        copied = "modules_to_save" in part.name.split(".") or part.name.startswith(BESIDE)
        if copied or isinstance(part, MergedTensor):
            raise CheckpointError(
                f"The adapter changes {shown(part.name)}, which is tied: the model uses the matrix a second "
                f"time, without the adapter. Headlight's model has one for both: {MERGE_FIRST}."
            )
