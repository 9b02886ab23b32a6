"""The generator of a decoder as transformers saves it: a separate matrix or the embedding."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from transformer.checkpoints.importing.layout.derived import Settings
from transformer.checkpoints.importing.layout.file import OTHER_HEAD
from transformer.checkpoints.reading.raw import RawCheckpoint

_OTHER_TASKS = ("ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering")


def put_generator(reading: Settings, spec: Mapping[str, Any]) -> None:
    """Fill in whether there is a generator, whether it is the embedding, and whether it has a bias.

    `spec` has tied, whether the family ties its generator if config.json doesn't say, and bare, the names in
    config.json of the family's models without a head.
    """
    draft, derived = reading.draft, reading.derived
    raw, config, tied = draft.raw, draft.config, spec.get("tied", False)
    heads = [name for name, why in reading.layout.ignored.items() if why == OTHER_HEAD]
    generator = derived.stored("generator.weight") or "lm_head.weight"
    bias = generator.removesuffix("weight") + "bias"
    apart = generator in raw.tensors
    if config is None:
        is_tied = not apart or raw.same_numbers(generator, derived.embedding())
        for_words = _is_for_words(raw, heads) if tied else _is_whole(raw, heads)
        draft.put("tie_generator", is_tied, "shapes", f"whether there is {generator}")
    else:
        bare = spec.get("bare", [])
        is_tied = config.flag("tie_word_embeddings", tied)
        for_words = is_tied and _is_for_words(raw, heads, *(bare if isinstance(bare, list) else [bare]))
        draft.configured("tie_generator", is_tied, "tie_word_embeddings")
    has_generator = apart or for_words
    draft.put("generator_bias", has_generator and bias in raw.tensors, "shapes", f"whether there is {bias}")
    draft.put(
        "has_generator", has_generator, "shapes", f"whether there is {generator}, or the embedding for it"
    )
    if not has_generator:
        draft.put("tie_generator", False, "shapes", f"there is no {generator}")
        draft.note(
            "There is no language-model head in the files: the model gives hidden states and attention, and "
            "predicts no words."
        )


def _is_for_words(raw: RawCheckpoint, heads: Iterable[str], *bare: str) -> bool:
    """True if a model without a stored generator ties it: no class name or other head says otherwise."""
    told = raw.json("config.json").get("architectures")
    name = str(told[0]) if isinstance(told, list) and told else ""
    of_another_task = name.endswith(_OTHER_TASKS) or any(head in raw.tensors for head in heads)
    return name not in bare and not of_another_task


def _is_whole(raw: RawCheckpoint, heads: Iterable[str]) -> bool:
    """True if a model without a stored generator was saved with its head, which then is the embedding.

    Names in a model saved without its head lack "model.", and a classifier has its own head.
    """
    is_whole = any("model" in stored.name.split(".")[:-1] for stored in raw.tensors.values())
    return is_whole and not any(name in raw.tensors for name in heads)
