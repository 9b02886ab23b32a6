"""Model folders that Headlight saves: weights, config.json, vocabulary.json, and the card (README.md)."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from transformer.checkpoints.places import CARD, CONFIG, VOCABULARY, is_own, place_of, shipped_models
from transformer.checkpoints.weights import open_weights, read_json, save_weights, ties
from transformer.errors import CheckpointError, TextError
from transformer.experience import EXPERIENCE, Experience, experience_from_plain
from transformer.loaded import LoadedModel, freeze
from transformer.model.config import ConfigError, TransformerConfig
from transformer.model.transformer import Transformer
from transformer.text.coder import Coder, Unit
from transformer.text.plain_values import from_plain, to_plain


@dataclass(frozen=True)
class ModelSummary:
    """Facts about a model, known without opening it.

    Attributes:
        languages: source and target language codes; None if unknown.
        units: token unit of either side.
        vocabulary_sizes: number of tokens on either side.
        n_parameters: number of trained parameters.
    """

    languages: tuple[str | None, str | None]
    units: tuple[Unit, Unit]
    vocabulary_sizes: tuple[int, int]
    n_parameters: int


def own_folder(name_or_path: str) -> Path:
    """The folder of a shipped model by name, or of a model that `save_model` wrote by path.

    Raises:
        CheckpointError: for any other folder.
    """
    folder = place_of(name_or_path)
    if not is_own(folder):
        raise CheckpointError(
            f"{name_or_path} is not a folder that Headlight saved: it has no {VOCABULARY}. Choose another "
            f"one, or a shipped model ({', '.join(shipped_models())})."
        )
    return folder


def save_model(
    folder: Path,
    loaded: LoadedModel,
    *,
    dtype: torch.dtype = torch.float32,
    max_file_bytes: int | None = None,
) -> None:
    """Write a model folder; an earlier model in it is replaced completely or not at all.

    Args:
        folder: created if missing.
        loaded: a model whose coders are word or sub-word coders.
        dtype: dtype of the weights on disk; opening converts them back to float32.
        max_file_bytes: largest size of a shard; as many are written as needed.

    Raises:
        OSError: when the folder can't be written.
        ValueError: when a weight overflows the dtype.
    """
    sides = {"source": to_plain(loaded.source), "target": to_plain(loaded.target)}
    texts = {
        VOCABULARY: json.dumps(sides, ensure_ascii=False, indent=1),
        CARD: loaded.card,
        CONFIG: json.dumps(loaded.model.config.to_dict(), indent=2),
    }
    if loaded.experience is not None:
        texts[EXPERIENCE] = json.dumps(loaded.experience.to_plain(), separators=(",", ":"))
    _save(folder, loaded.model, dtype, max_file_bytes, texts, others=[EXPERIENCE])


def save_only_weights(folder: Path, model: Transformer, *, dtype: torch.dtype = torch.float32) -> None:
    """Write only a model's weights; arguments as in `save_model`.

    Raises:
        OSError: when the folder can't be written.
        ValueError: when a weight overflows the dtype.
    """
    _save(folder, model, dtype, None, {}, others=())


def _save(
    folder: Path,
    model: Transformer,
    dtype: torch.dtype,
    max_file_bytes: int | None,
    texts: Mapping[str, str],
    others: Sequence[str],
) -> None:
    tied = ties(model)
    weights = {
        name: _narrowed(name, weight, dtype)
        for name, weight in model.state_dict().items()
        if name not in tied
    }
    folder.mkdir(parents=True, exist_ok=True)
    save_weights(folder, weights, max_file_bytes, texts=texts, others=others)


def open_saved(
    name_or_path: str, device: torch.device | None = None, *, weights: Path | None = None
) -> LoadedModel:
    """Open a shipped model by name, or a folder that `save_model` wrote; the model is frozen.

    Names and shapes are compared with the configuration before any weight is read.

    Args:
        name_or_path: the model's name or path.
        device: the device to run on; the CPU by default.
        weights: a folder written by `save_only_weights` whose weights replace the model's.

    Raises:
        CheckpointError: for a missing, incomplete or inconsistent folder.
    """
    return open_folder(own_folder(name_or_path), device, weights=weights)


def open_folder(
    folder: Path, device: torch.device | None = None, *, weights: Path | None = None
) -> LoadedModel:
    """Open a folder that `own_folder` returned; otherwise as `open_saved`.

    Raises:
        CheckpointError: for an incomplete or inconsistent folder.
    """
    config = _open_config(folder)
    source, target = _open_coders(folder, config)
    model = Transformer(config, torch.Generator())
    load_weights(weights or folder, model)
    card = folder / CARD
    return LoadedModel(
        name=folder.name,
        model=model.to(device or torch.device("cpu")),
        source=source,
        target=target,
        card=card.read_text(encoding="utf-8") if card.exists() else "",
        experience=_open_experience(folder, target),
    )


def load_weights(folder: Path, model: Transformer) -> None:
    """Load weights that `save_only_weights` wrote into a model on the CPU, and freeze it.

    Raises:
        CheckpointError: when they are missing, damaged, or belong to another model.
    """
    model.load_state_dict(open_weights(folder, _shapes(model.config)), strict=False)
    freeze(model)


def summarize(name_or_path: str) -> ModelSummary:
    """Summarise a model that `open_saved` can open, without reading its weights.

    Raises:
        CheckpointError: for a missing, incomplete or inconsistent folder.
    """
    folder = own_folder(name_or_path)
    config = _open_config(folder)
    source, target = _open_coders(folder, config)
    return ModelSummary(
        languages=(source.language, target.language),
        units=(source.unit, target.unit),
        vocabulary_sizes=(len(source.vocabulary), len(target.vocabulary)),
        n_parameters=sum(math.prod(shape) for shape in _shapes(config).values()),
    )


def open_config(name_or_path: str) -> TransformerConfig:
    """Read only a model's configuration.

    Raises:
        CheckpointError: for a missing folder or an unreadable configuration.
    """
    return _open_config(own_folder(name_or_path))


def open_coders(name_or_path: str) -> tuple[Coder, Coder]:
    """Open only a model's source and target coders.

    Raises:
        CheckpointError: for a missing, incomplete or inconsistent folder.
    """
    folder = own_folder(name_or_path)
    return _open_coders(folder, _open_config(folder))


def _narrowed(name: str, weight: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    narrow = weight.detach().cpu().to(dtype).contiguous()
    if not bool(narrow.isfinite().all()) and bool(weight.isfinite().all()):
        raise ValueError(f"{name} has weights that are too large for {dtype}: save the model as float32.")
    return narrow


def _open_config(folder: Path) -> TransformerConfig:
    try:
        return TransformerConfig.from_dict(read_json(folder, CONFIG))
    except ConfigError as error:
        raise CheckpointError(f"{folder / CONFIG}: {error}") from error


def _open_coders(folder: Path, config: TransformerConfig) -> tuple[Coder, Coder]:
    sides = read_json(folder, VOCABULARY)
    coders = []
    for side, size in (("source", config.src_vocab_size), ("target", config.tgt_vocab_size)):
        try:
            coder = from_plain(sides.get(side))
        except TextError as error:
            raise CheckpointError(
                f"{folder / VOCABULARY}: its {side} side is not valid ({error})."
            ) from error
        if len(coder.vocabulary) != size:
            raise CheckpointError(
                f"{folder / VOCABULARY} has {len(coder.vocabulary)} {side} {coder.unit}s, but {CONFIG} says "
                f"{size}: the files belong to two different models."
            )
        coders.append(coder)
    return coders[0], coders[1]


def _open_experience(folder: Path, target: Coder) -> Experience | None:
    path = folder / EXPERIENCE
    if not path.exists():
        return None
    return experience_from_plain(read_json(folder, EXPERIENCE), str(path), len(target.vocabulary))


def _shapes(config: TransformerConfig) -> dict[str, list[int]]:
    """The shapes of all saved weights, computed without allocating any."""
    with torch.device("meta"):
        model = Transformer(config)
    tied = ties(model)
    return {name: list(w.shape) for name, w in model.state_dict().items() if name not in tied}
