"""A model in words: what it is, what it reads and writes, and what to type into its boxes."""

from __future__ import annotations

from transformer.checkpoints.folder import ModelSummary
from transformer.loaded import LoadedModel
from transformer.model.choices import NORM_PLACES, POSITION_WORDS
from transformer.model.config import TransformerConfig
from transformer.text.coder import Unit
from viz.text_session import example_ids, reads_ids

NORMS = {"layer": "", "rms": " (RMS)", "layer_unbiased": " (unbiased)"}
LANGUAGES = {"en": "English", "it": "Italian", "de": "German", "es": "Spanish", "fr": "French"}
INTRODUCTIONS = {
    "encoder-decoder": "Type a sentence: the model writes its {answer} and shows every number.",
    "decoder-only": "Type how a text begins: the model continues it and shows every number.",
    "encoder-only": "Type a sentence: the model says which tokens it expects at each position and shows "
    "every number.",
}
WITHOUT_WORDS = "Type a sentence: the model reads it and shows every number."
SOURCES = {"encoder-decoder": "Sentence", "decoder-only": "Prompt", "encoder-only": "Sentence"}
NUMBERS_NOTE = "This model came without a tokenizer: type the ids of its tokens, separated by spaces."
PROMPTS = ("Once upon a time there was", "The capital of France is", "My favourite animal is")
MASKED = ("The capital of France is {mask}.", "She {mask} the door.", "I saw a {mask} yesterday.")


def describe(config: TransformerConfig, n_parameters: int) -> str:
    """Describe a model in one line."""
    sides = {"encoder": config.n_encoder_layers, "decoder": config.n_decoder_layers}
    layers = " and ".join(f"{n} {side}" for side, n in sides.items() if n)
    heads = f"{config.n_heads} heads"
    if config.n_kv_heads != config.n_heads:
        heads += f" ({config.n_kv_heads} for keys and values)"
    return (
        f"{count(n_parameters)} parameters, {layers} layers of {heads}, d_model {config.d_model}, "
        f"{NORM_PLACES[config.norm_position]}{NORMS[config.norm]}, {POSITION_WORDS[config.positions]}, "
        f"at most {config.max_len} tokens"
    )


def token_unit(loaded: LoadedModel) -> Unit:
    """What a token of a model is; "sub-word" if its two sides differ."""
    return loaded.source.unit if loaded.source.unit == loaded.target.unit else "sub-word"


def count(n_parameters: int) -> str:
    """Format a number of parameters, large numbers in millions."""
    return f"{n_parameters / 1e6:.1f} M" if n_parameters >= 100_000 else f"{n_parameters:,}"


def in_words(summary: ModelSummary) -> str:
    """Describe what a model reads and writes, and its size."""
    names = _named(*summary.languages)
    between = f"{names[0]} to {names[1]} " if names else ""
    if summary.units == ("word", "word"):
        known = " and ".join(f"{size:,}" for size in summary.vocabulary_sizes)
        what = f"by whole words: {known} of them, and no others"
    else:
        what = "by sub-words: whatever you type"
    said = between + what
    return f"{said[0].upper()}{said[1:]}. {count(summary.n_parameters)} parameters"


def introduction(loaded: LoadedModel) -> str:
    """Say on the first page what to type and what the model does with it; our own Markdown."""
    config = loaded.model.config
    if not config.has_generator:
        return WITHOUT_WORDS
    return INTRODUCTIONS[config.kind].format(answer=target_noun(loaded))


def goes_into_italian(loaded: LoadedModel) -> bool:
    """True for a translator from English to Italian, like the shipped ones."""
    codes = (loaded.source.language, loaded.target.language)
    return loaded.model.config.kind == "encoder-decoder" and codes == ("en", "it")


def why_no_decoding(loaded: LoadedModel) -> str:
    """Say why a model generates no sentences; "" if it does. Our own text."""
    config = loaded.model.config
    if not config.n_decoder_layers:
        return (
            "The chosen model is an encoder alone: it reads a whole sentence at once and writes none, so "
            "there is nothing to decode. Choose a model with a decoder in the sidebar."
        )
    if not config.has_generator:
        return (
            "The chosen model has no generator: it gives tokens no probabilities, so there is nothing to "
            "decode. Choose another model in the sidebar."
        )
    return ""


def source_label(loaded: LoadedModel) -> str:
    """The label of the box for the source or prompt."""
    if reads_ids(loaded):
        return "Token ids"
    names = _languages(loaded)
    return f"{names[0]} sentence" if names else SOURCES[loaded.model.config.kind]


def target_label(loaded: LoadedModel, noun: str = "sentence") -> str:
    """The label of the box for the target; the noun "reference" asks for the correct one."""
    if loaded.model.config.kind == "decoder-only":
        return target_noun(loaded).capitalize()
    names = _languages(loaded)
    return f"{names[1]} {noun}" if names else "Target" if noun == "sentence" else noun.capitalize()


def target_noun(loaded: LoadedModel) -> str:
    """The word for a target of this model."""
    if loaded.model.config.kind == "decoder-only":
        return "continuation"
    return "translation" if _languages(loaded) else "target"


def source_placeholder(loaded: LoadedModel) -> str:
    """The placeholder of the empty box."""
    if reads_ids(loaded):
        return "For example 5 17 4; then press Enter"
    what = "the beginning of a text" if loaded.model.config.kind == "decoder-only" else "a sentence"
    return f"Type {what} and press Enter"


def typing_note(loaded: LoadedModel) -> str | None:
    """Help for the box if it needs any; plain text or our own Markdown."""
    if reads_ids(loaded):
        return NUMBERS_NOTE
    if loaded.model.config.kind == "encoder-only" and mask_token(loaded) is not None:
        return "Type the model's mask token instead of a word, as the examples do, and it fills the gap."
    return None


def mask_token(loaded: LoadedModel) -> str | None:
    """The text to type for a masked word; None for a model without a mask token or a generator."""
    mask = loaded.source.special_tokens.mask
    return loaded.source.token(mask) if mask is not None and loaded.model.config.has_generator else None


def kind_examples(loaded: LoadedModel) -> list[str]:
    """Examples for a model that comes with none."""
    config = loaded.model.config
    if reads_ids(loaded):
        return [example_ids(loaded, n) for n in (5, 9)]
    mask = mask_token(loaded)
    if config.kind == "encoder-only":
        return [] if mask is None else [example.format(mask=mask) for example in MASKED]
    return list(PROMPTS) if config.kind == "decoder-only" else []


def _languages(loaded: LoadedModel) -> tuple[str, str] | None:
    """The names of a translator's languages; None unless both are known."""
    is_pair = loaded.model.config.kind == "encoder-decoder"
    return _named(loaded.source.language, loaded.target.language) if is_pair else None


def _named(source: str | None, target: str | None) -> tuple[str, str] | None:
    """Name two languages by their codes, or by the codes alone if unknown; None unless both are given."""
    if source is None or target is None:
        return None
    return LANGUAGES.get(source, source), LANGUAGES.get(target, target)
