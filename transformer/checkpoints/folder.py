"""A model's own folder: model.safetensors, config.json, vocabulary.json and README.md, its card."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from transformer.config import ConfigError, TransformerConfig
from transformer.model import Transformer
from transformer.text import SentenceCoder, Vocabulary, WordTokenizer

MODELS = Path(__file__).resolve().parents[2] / "assets" / "models"
"""Where the shipped models lie, a folder each."""

WEIGHTS, CONFIG, VOCABULARY, CARD = "model.safetensors", "config.json", "vocabulary.json", "README.md"


class CheckpointError(ValueError):
    """A model that can't be opened; the message says why and what to do."""


@dataclass(frozen=True)
class LoadedModel:
    """A model with what it needs to read and write sentences.

    Attributes:
        name: as shown to people.
        model: in eval mode, its parameters frozen.
        source: the coder of the encoder's side.
        target: the coder of the decoder's side.
        card: the text of its model card, Markdown.
    """

    name: str
    model: Transformer
    source: SentenceCoder
    target: SentenceCoder
    card: str = ""


def shipped_models() -> list[str]:
    """The names of the models in assets/models."""
    return sorted(path.parent.name for path in MODELS.glob(f"*/{CONFIG}"))


def model_folder(name_or_path: str) -> Path:
    """The folder of a shipped model by its name, or the given path.

    Raises:
        CheckpointError: when there is no such folder.
    """
    shipped, path = MODELS / name_or_path, Path(name_or_path).expanduser()
    if name_or_path in shipped_models():
        return shipped
    if not path.is_dir():
        names = ", ".join(shipped_models()) or "none"
        raise CheckpointError(
            f"There is no model {name_or_path!r}: name a shipped one ({names}) or the path of a folder."
        )
    return path


def save_model(folder: Path, loaded: LoadedModel) -> None:
    """Write a model's folder; each file is replaced whole or not at all.

    Raises:
        OSError: when the folder can't be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tied = _tied_names(loaded.model.config)
    weights = {
        name: w.detach().cpu().contiguous()
        for name, w in loaded.model.state_dict().items()
        if name not in tied
    }
    save_file(weights, folder / f"{WEIGHTS}.part")
    (folder / f"{WEIGHTS}.part").replace(folder / WEIGHTS)
    sides = {"source": _side(loaded.source), "target": _side(loaded.target)}
    _write(folder / VOCABULARY, json.dumps(sides, ensure_ascii=False, indent=1))
    _write(folder / CARD, loaded.card)
    _write(folder / CONFIG, json.dumps(loaded.model.config.to_dict(), indent=2))


def open_model(name_or_path: str, device: torch.device | None = None) -> LoadedModel:
    """Open a shipped model by name, or any model's folder by its path; ready to run and frozen.

    Names and shapes are compared with the configuration before any weight is read.

    Raises:
        CheckpointError: for a folder that is missing, incomplete or contradicts itself.
    """
    folder = model_folder(name_or_path)
    config = _open_config(folder)
    source, target = _open_coders(folder, config)
    weights = _open_weights(folder, config)
    model = Transformer(config, torch.Generator())
    model.load_state_dict(weights, strict=False)
    card = folder / CARD
    return LoadedModel(
        name=folder.name,
        model=freeze(model.to(device or torch.device("cpu"))),
        source=source,
        target=target,
        card=card.read_text(encoding="utf-8") if card.exists() else "",
    )


def freeze(model: Transformer) -> Transformer:
    """Eval mode and no gradients: what a model that many people share must be."""
    return model.eval().requires_grad_(False)


def _tied_names(config: TransformerConfig) -> set[str]:
    """The names in a state dict that repeat a matrix that is there under another name."""
    generator = {"generator.weight"} if config.tie_generator else set()
    return generator | ({"tgt_embedding.weight"} if config.share_embeddings else set())


def _side(coder: SentenceCoder) -> dict[str, Any]:
    return {
        "language": coder.tokenizer.language,
        "lowercase": coder.tokenizer.lowercase,
        "words": coder.vocabulary.to_list(),
    }


def _write(path: Path, text: str) -> None:
    part = path.with_name(f"{path.name}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def _read_json(folder: Path, name: str) -> dict[str, Any]:
    try:
        values = json.loads((folder / name).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise CheckpointError(
            f"{folder} has no {name}: choose the folder that a model was saved into."
        ) from error
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise CheckpointError(f"{folder / name} can't be read ({error}): save the model again.") from error
    if not isinstance(values, dict):
        raise CheckpointError(f"{folder / name} holds no JSON object: save the model again.")
    return values


def _open_config(folder: Path) -> TransformerConfig:
    try:
        return TransformerConfig.from_dict(_read_json(folder, CONFIG))
    except ConfigError as error:
        raise CheckpointError(f"{folder / CONFIG}: {error}") from error


def _open_coders(folder: Path, config: TransformerConfig) -> tuple[SentenceCoder, SentenceCoder]:
    sides = _read_json(folder, VOCABULARY)
    coders = []
    for side, size in (("source", config.src_vocab_size), ("target", config.tgt_vocab_size)):
        try:
            tokenizer = WordTokenizer(sides[side]["language"], lowercase=sides[side]["lowercase"])
            vocabulary = Vocabulary.from_list(sides[side]["words"])
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"{folder / VOCABULARY}: its {side} side is not valid ({error})."
            ) from error
        if len(vocabulary) != size:
            raise CheckpointError(
                f"{folder / VOCABULARY} has {len(vocabulary)} {side} words, but {CONFIG} says {size}: "
                "the files belong to two different models."
            )
        coders.append(SentenceCoder(tokenizer, vocabulary))
    return coders[0], coders[1]


def _open_weights(folder: Path, config: TransformerConfig) -> dict[str, torch.Tensor]:
    with torch.device("meta"):
        expected = Transformer(config).state_dict()
    shapes = {name: list(w.shape) for name, w in expected.items() if name not in _tied_names(config)}
    try:
        with safe_open(folder / WEIGHTS, framework="pt") as file:
            found = {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118 (no mapping)
            if found != shapes:
                raise CheckpointError(
                    f"{folder / WEIGHTS} is not the model of {CONFIG}: {_difference(found, shapes)}."
                )
            return {name: file.get_tensor(name) for name in shapes}
    except FileNotFoundError as error:
        raise CheckpointError(
            f"{folder} has no {WEIGHTS}: choose the folder that a model was saved into."
        ) from error
    except (OSError, SafetensorError) as error:
        raise CheckpointError(
            f"{folder / WEIGHTS} can't be read ({error}): copy or save it again."
        ) from error


def _difference(found: dict[str, list[int]], expected: dict[str, list[int]]) -> str:
    for name in sorted(found.keys() | expected.keys()):
        if name not in found:
            return f"{name} is missing"
        if name not in expected:
            return f"{name} is not part of it"
        if found[name] != expected[name]:
            return f"{name} is {found[name]} where {expected[name]} is due"
    return "no difference"
