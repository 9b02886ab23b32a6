"""The generator of a decoder: a separate matrix or the embedding, with or without a bias."""

from __future__ import annotations

from collections.abc import Iterable

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.layout.hugging_face import is_for_words, put_no_generator
from transformer.checkpoints.reading.raw import RawCheckpoint

_WEIGHT = "lm_head.weight"


def read_head(
    draft: ConfigDraft,
    words: str,
    *,
    tied: bool,
    heads: Iterable[str],
    bare: tuple[str, ...],
    generator: str = _WEIGHT,
) -> None:
    """Fill in whether there is a generator, whether it is the embedding, and whether it has a bias.

    Args:
        draft: to be filled in.
        words: name of the embedding.
        tied: whether the family ties its generator if config.json doesn't say.
        heads: tensors of heads for other tasks.
        bare: names in config.json of the family's models without a head.
        generator: name of its matrix.
    """
    raw, config = draft.raw, draft.config
    bias = generator.removesuffix("weight") + "bias"
    apart = generator in raw.tensors
    if config is None:
        is_tied = not apart or raw.same_numbers(generator, words)
        for_words = is_for_words(raw, heads) if tied else _is_whole(raw, heads)
        draft.put("tie_generator", is_tied, "shapes", f"whether there is {generator}")
    else:
        is_tied = config.flag("tie_word_embeddings", tied)
        for_words = is_tied and is_for_words(raw, heads, *bare)
        draft.configured("tie_generator", is_tied, "tie_word_embeddings")
    has_generator = apart or for_words
    draft.put("generator_bias", has_generator and bias in raw.tensors, "shapes", f"whether there is {bias}")
    draft.put(
        "has_generator", has_generator, "shapes", f"whether there is {generator}, or the embedding for it"
    )
    if not has_generator:
        put_no_generator(draft)


def _is_whole(raw: RawCheckpoint, heads: Iterable[str]) -> bool:
    """True if a model without a stored generator was saved with its head, which then is the embedding.

    Names in a model saved without its head lack "model.", and a classifier has its own head.
    """
    is_whole = any("model" in stored.name.split(".")[:-1] for stored in raw.tensors.values())
    return is_whole and not any(name in raw.tensors for name in heads)
