"""Recognises a checkpoint's family, its configuration and how its names fit, without reading a weight."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from transformer.checkpoints.generation import generation_settings
from transformer.checkpoints.importing.adapters import merged, without_adapters
from transformer.checkpoints.importing.config_draft import LARGEST_SIZE, ConfigDraft
from transformer.checkpoints.importing.embeddings import has_generator, take_rows, with_tied_names
from transformer.checkpoints.importing.families import families
from transformer.checkpoints.importing.families.own_layout.unknown import describe, unlisted
from transformer.checkpoints.importing.family import Family
from transformer.checkpoints.importing.foreign_config import ForeignConfig
from transformer.checkpoints.importing.layout.shipped import described_by_user, labels
from transformer.checkpoints.importing.left_out import ask_left_out
from transformer.checkpoints.importing.low_rank import with_changed
from transformer.checkpoints.importing.not_computed import refusal
from transformer.checkpoints.importing.notes import notes_on_config, notes_on_generation, notes_on_stand_ins
from transformer.checkpoints.importing.report import LAYOUT, LEFT_OUT, ImportReport
from transformer.checkpoints.reading.folder_files import MAPPING
from transformer.checkpoints.reading.raw import RawCheckpoint, StoredTensor
from transformer.errors import CheckpointError, shown
from transformer.model.config import TransformerConfig

if TYPE_CHECKING:
    from transformer.checkpoints.importing.mapping import WeightPlan
    from transformer.model.transformer import Transformer

WRAPPERS = frozenset({"module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module"})
"""Modules that only wrap another: DataParallel, torch.compile, FSDP, checkpointing."""

WEIGHTS = "weights"
"""The question which of several sets of weights to load; the answer is needed when a file is read."""

_MOST_LAYERS = 1_000
_MOST_EXPERTS = 20_000
"""Most experts of all layers together, each of which is made before any weight is read."""
_LARGEST_TABLE = 2**23
"""Most numbers in a computed table of sinusoids: 32 MiB, and six times as much while computing it."""
_LONGEST_DISTANCE = 2**20
"""Largest relative distance, because a bucket table of that length is computed."""


@dataclass(frozen=True)
class ImportPlan:
    """What is known before any weight is read.

    Attributes:
        report: on the configuration and names.
        weights: how to fill the skeleton.
        skeleton: the model, without memory for its weights.
    """

    report: ImportReport
    weights: WeightPlan
    skeleton: Transformer


def plan_import(raw: RawCheckpoint, answers: Mapping[str, Any]) -> ImportPlan:
    """Identify a checkpoint and plan how to load it into our model.

    Raises:
        CheckpointError: for an unknown layout, a model that ours does not compute, or invalid answers.
    """
    family, draft, config = described(raw, answers)
    # Imported here because it imports torch, which rejected checkpoints don't need.
    from transformer.checkpoints.importing.mapping import plan_weights, skeleton

    model = skeleton(config)
    weights = plan_weights(draft.raw, family, model)
    ask_left_out(draft, answers, family.label, weights.keys)
    generation = generation_settings(raw.texts, config.tgt_vocab_size)
    report = ImportReport(
        family=family.name,
        family_label=family.label,
        config=config,
        settings=tuple(draft.settings.values()),
        questions=tuple(draft.questions.values()),
        generation=generation,
        keys=weights.keys,
        notes=(
            *notes_on_config(raw),
            *draft.notes,
            *notes_on_stand_ins(weights),
            *(notes_on_generation(generation) if config.n_decoder_layers and config.has_generator else ()),
        ),
    )
    return ImportPlan(report, weights, model)


def described(
    raw: RawCheckpoint, answers: Mapping[str, Any]
) -> tuple[Family, ConfigDraft, TransformerConfig]:
    """Identify a checkpoint's family and the model it describes, without torch.

    Raises:
        CheckpointError: as in `plan_import`.
    """
    # What is left out is known only once names are compared.
    known = {name: answer for name, answer in answers.items() if name != LEFT_OUT}
    adapted = without_adapters(raw)
    family, draft = _begin(recognise(adapted.raw), known)
    _ask_weights(draft)
    changed = merged(draft, adapted)
    family = family.read_config(draft) or family
    take_rows(draft, family)
    draft.raw = with_changed(draft.raw, changed)
    config = draft.finish()
    _check_cost(config)
    return family, draft, config


def wanted_weights(answers: Mapping[str, Any] | None) -> str:
    """Which weights to read from a file in which a trainer saved several sets."""
    wanted = (answers or {}).get(WEIGHTS)
    return wanted if isinstance(wanted, str) else ""


def with_mapping(raw: RawCheckpoint, mapping: str | None) -> RawCheckpoint:
    """The checkpoint with `mapping` as its mapping file, replacing its own if it has one."""
    return raw if mapping is None else replace(raw, texts={**raw.texts, MAPPING: mapping})


def _ask_weights(draft: ConfigDraft) -> None:
    """Record which weights were chosen, if a trainer saved several versions of a model."""
    if draft.raw.choices:
        draft.ask(
            WEIGHTS,
            "Which of the weights in the file do you want?",
            "A trainer saved several with the same names and shapes: the trained ones, and often an average "
            "of them (EMA), which predicts better.",
            {key: f"those under {shown(key)}" for key in draft.raw.choices},
        )


Candidate = tuple[Family, RawCheckpoint]
"""A family, and the checkpoint with its tensors under the family's names."""


def recognise(raw: RawCheckpoint) -> Sequence[Candidate]:
    """Find the families that a checkpoint may belong to, by its names without wrappers.

    Returns:
        One family, or several of the same kin if nothing distinguishes them, likely ones first.

    Raises:
        CheckpointError: when there is none.
    """
    plain = {unwrapped(name): stored for name, stored in raw.tensors.items()}
    if len(plain) < len(raw.tensors):
        plain = dict(raw.tensors)
    own = described_by_user(raw)
    if own is not None:
        view = _as_described(own, raw, plain)
        return [(own if own.resolved is None else own.resolved(view), view)]
    found = _with_known_names(replace(raw, tensors=plain))
    if not found and has_generator(plain, families()):
        found = _with_known_names(replace(raw, tensors=plain), has_lone_generator=True)
    if not found:
        raise CheckpointError(refusal(raw) or _unknown(replace(raw, tensors=plain)))
    return found


def _with_known_names(plain: RawCheckpoint, *, has_lone_generator: bool = False) -> list[Candidate]:
    """The families that match after a prefix is removed; empty if none does.

    Args:
        plain: the checkpoint.
        has_lone_generator: True to match only with the generator's matrix as the embedding, too.
    """
    for prefix in shared_prefixes(plain.tensors):
        tensors = {name.removeprefix(prefix): stored for name, stored in plain.tensors.items()}
        if len(tensors) == len(plain.tensors):
            found = _matching(replace(plain, tensors=tensors), has_lone_generator)
            if found:
                return found
    return []


def _matching(raw: RawCheckpoint, has_lone_generator: bool) -> list[Candidate]:
    """The first family that matches, and others of its kin that match too.

    Likely ones come first, then the one that the kin is named after.
    """
    found: list[Candidate] = []
    for family in families():
        if found and (not family.kin or family.kin != found[0][0].kin):
            continue
        arranged = family.arranged(raw)
        view = with_tied_names(arranged, family) if has_lone_generator else arranged
        if (view is not arranged or not has_lone_generator) and family.matches(view):
            view = with_tied_names(view, family)
            found.append((family if family.resolved is None else family.resolved(view), view))
    return sorted(found, key=lambda one: (not one[0].likely(one[1]), one[0].kin != one[0].name))


def _begin(found: Sequence[Candidate], answers: Mapping[str, Any]) -> tuple[Family, ConfigDraft]:
    """The family and its draft; if there are several families, the user is asked to choose."""
    by_name = {family.name: (family, view) for family, view in found}
    family, view = found[0]
    draft = ConfigDraft(view, answers)
    if len(found) > 1:
        chosen = draft.ask(
            LAYOUT,
            "Which kind of model is it?",
            "All of these have the same tensor names but compute different things. The model_type in a "
            "config.json would say which it is.",
            {family.name: _with_trait(family) for family, _ in found},
        )
        family, draft.raw = by_name[chosen]
    return family, draft


def _with_trait(family: Family) -> str:
    return f"{family.label}: {family.trait}" if family.trait else family.label


def _as_described(own: Family, raw: RawCheckpoint, plain: Mapping[str, StoredTensor]) -> RawCheckpoint:
    """The checkpoint under the names in its mapping file: without its prefixes, and perhaps without wrappers.

    Raises:
        CheckpointError: when no pattern matches either of them.
    """
    for view in map(own.arranged, (raw, replace(raw, tensors=plain))):
        if own.matches(view):
            return view
    raise CheckpointError(
        f"No name in the mapping file is one of the files': their first tensors are {_first_names(raw)}. "
        "Write {} for a layer's number, and change nothing else."
    )


def unwrapped(name: str) -> str:
    """The name without wrapper modules, wherever they are in it."""
    return ".".join(part for part in name.split(".") if part not in WRAPPERS)


def shared_prefixes(names: Iterable[str]) -> Iterator[str]:
    """Prefixes that may be removed from names, the safest first.

    First the empty one; then those common to all names, growing by one part ("model.", "model.net."); then
    those of more than half of the names, for files that contain more than the model.
    """
    yield ""
    counts: Counter[str] = Counter()
    total = 0
    for name in names:
        total += 1
        parts = name.split(".")[:-1]
        counts.update(".".join(parts[:n]) + "." for n in range(1, min(len(parts), 4) + 1))
    by_length = sorted(counts, key=len)
    yield from (prefix for prefix in by_length if counts[prefix] == total)
    yield from (prefix for prefix in by_length if total / 2 < counts[prefix] < total)


def _unknown(plain: RawCheckpoint) -> str:
    config = ForeignConfig.of(plain)
    if config is None or "model_type" not in config:
        beside = ""
        if plain.path.is_file():
            beside = " Give the whole folder if there is a config.json."
            if (plain.path.parent / MAPPING).is_file():
                beside = f" Its folder has a {MAPPING}: give the folder, or that file as the mapping."
        return describe(plain, families()) + beside
    model_type = str(config.get("model_type"))
    label = labels().get(model_type)
    if label is not None:
        return _other_names_than(label, model_type, plain)
    same = [family for family, _ in _with_known_names(replace(plain, texts={}))]
    return unlisted(model_type, plain, same[:1], families())


def _other_names_than(label: str, model_type: str, raw: RawCheckpoint) -> str:
    parts = {part for name in raw.tensors for part in name.split(".")}
    if "decoder" in parts and "encoder" not in parts:
        return (
            f"The files hold the decoder of {label} alone, and Headlight opens it with its encoder: give the "
            "folder of the whole model."
        )
    return (
        f"By its config.json the model is {label} ({shown(model_type)}), but its tensors have other names: "
        f"the first are {_first_names(raw)}. Give the model as transformers saves it (save_pretrained), "
        "neither quantised nor converted."
    )


def _first_names(raw: RawCheckpoint) -> str:
    return ", ".join(shown(name) for name in list(raw.tensors)[:3])


def _check_cost(config: TransformerConfig) -> None:
    """Reject sizes that would take too much time or memory, before names and shapes are compared.

    Raises:
        CheckpointError: for more layers than any model has, or sizes beyond the limits.
    """
    layers = config.n_encoder_layers + config.n_decoder_layers
    if layers > _MOST_LAYERS:
        raise CheckpointError(f"The checkpoint describes {layers} layers; at most {_MOST_LAYERS} are opened.")
    if layers * config.n_experts > _MOST_EXPERTS:
        raise CheckpointError(
            f"The checkpoint describes {shown(config.n_experts)} experts in each of {layers} layers; at most "
            f"{_MOST_EXPERTS:,} in all are opened."
        )
    limits = {name: LARGEST_SIZE for name, value in config.to_dict().items() if type(value) is int}
    limits["max_position_distance"] = _LONGEST_DISTANCE
    if config.positions == "sinusoidal":
        limits["max_len"] = _LARGEST_TABLE // config.d_model
    for name, limit in limits.items():
        value = getattr(config, name)
        if value > limit:
            raise CheckpointError(
                f"The checkpoint describes a model with {name} {shown(value)}; at most {limit:,} is opened."
            )
