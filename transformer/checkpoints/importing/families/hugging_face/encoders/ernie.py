"""ERNIE (Sun et al. 2019, and its versions 2 and 3) as Hugging Face's transformers saves it.

BERT's names and computation. Later versions add a task embedding to each token: the first task's, unless the
program says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.families.hugging_face.encoders import _bert_layout as bert_layout
from transformer.checkpoints.importing.family import Family, Into, may_be
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.model.config import TransformerConfig

if TYPE_CHECKING:
    from torch import Tensor

_TASKS = "embeddings.task_type_embeddings.weight"
_PARTS = {bert_layout.SEGMENTS: "segments_and_tasks.0", _TASKS: "segments_and_tasks.1"}
_SEGMENTS_OF_PARTS = _PARTS[bert_layout.SEGMENTS]


def with_first_task(tensor: Tensor, config: TransformerConfig) -> Sequence[Tensor]:
    """(n_segments + tasks, D) -> (n_segments, D): each segment's vector plus the first task's."""
    return (tensor[: config.n_segments] + tensor[config.n_segments],)


def matches(raw: RawCheckpoint) -> bool:
    """True if config.json says so, or, if it names no type, the names, or there are task embeddings."""
    if not bert_layout.has_encoder(raw) or not may_be(raw, "ernie"):
        return False
    named = any("ernie" in stored.name.split(".") for stored in raw.tensors.values())
    return named or "model_type" in raw.json("config.json") or _SEGMENTS_OF_PARTS in raw.tensors


def join_tasks(raw: RawCheckpoint) -> RawCheckpoint:
    """Remove the prefix, and, if tasks are used, rename segments and tasks as parts of one table."""
    tensors = {name.removeprefix("ernie."): stored for name, stored in raw.tensors.items()}
    used = "config.json" not in raw.texts or raw.json("config.json").get("use_task_id")
    if used and _TASKS in tensors:
        tensors = {_PARTS.get(name, name): stored for name, stored in tensors.items()}
    return bert_layout.arrange(replace(raw, tensors=tensors) if len(tensors) == len(raw.tensors) else raw)


def read_config(draft: ConfigDraft) -> None:
    """Read config.json, or the shapes and answers."""
    has_tasks = _SEGMENTS_OF_PARTS in draft.raw.tensors
    bert_layout.read_encoder(draft, segments=_SEGMENTS_OF_PARTS if has_tasks else bert_layout.SEGMENTS)
    bert_layout.read_layers(draft)
    bert_layout.read_head(draft, "cls.predictions.transform.dense")
    draft.pad_id(usual=0)
    if draft.config is not None:
        draft.config.only("use_task_id", has_tasks, why="vectors of tasks that the files lack")
    bert_layout.refuse_other_computations(draft, "task_type_vocab_size")


FAMILY = Family(
    name="ernie",
    label="ERNIE",
    matches=matches,
    read_config=read_config,
    renames={
        **bert_layout.RENAMES,
        "segments_and_tasks.{}": Into(with_first_task, "src_embedding.segments", joined=True),
    },
    ignored={
        **bert_layout.IGNORED,
        _TASKS: "Vectors of tasks, which by config.json are not used (use_task_id).",
    },
    arrange=join_tasks,
)
