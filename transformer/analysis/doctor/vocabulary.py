"""Checks that a model and its tokenizer fit, and that the tokenizer knows the user's words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from transformer.analysis.doctor.findings import Finding, Severity, fine, places, share
from transformer.analysis.doctor.inputs import sources_of
from transformer.loaded import LoadedModel
from transformer.text.coder import Coder

SPARE_ROWS = 128
"""Spare rows that are normal: embeddings are often padded to the next multiple of 8, 64 or 128."""
SPARE_PART = 0.05
"""More than SPARE_ROWS spare rows get a warning if they are more than this fraction of all rows."""
MANY_UNKNOWN = 0.1
"""Fraction of unknown tokens above which the model no longer reads the typed text."""


@dataclass(frozen=True)
class CodedSide:
    """One side of a model, with its coder and the number of rows of its embedding."""

    name: str
    coder: Coder
    rows: int


def coded_sides(loaded: LoadedModel) -> list[CodedSide]:
    """The sides of a model that have an embedding."""
    config = loaded.model.config
    sides = [
        ("source", loaded.source, config.src_vocab_size),
        ("target", loaded.target, config.tgt_vocab_size),
    ]
    return [CodedSide(name, coder, rows) for name, coder, rows in sides if rows]


def size_findings(loaded: LoadedModel) -> list[Finding]:
    """Check that each token of the tokenizer has a row in the embedding, and each row a token."""
    findings = []
    numbers = []
    for side in coded_sides(loaded):
        n_tokens = len(side.coder.vocabulary)
        number = f"{n_tokens:,} tokens, {side.rows:,} rows"
        numbers.append(f"{side.name}: {number}")
        if side.coder.unit == "token":
            findings.append(_no_tokenizer(side))
        elif n_tokens > side.rows:
            findings.append(_too_few_rows(side, number))
        elif n_tokens < side.rows:
            findings.append(_spare_rows(side, number))
    return findings or fine("The tokenizer fits the embedding", "; ".join(numbers))


def special_findings(loaded: LoadedModel) -> list[Finding]:
    """Check that an end token exists, and that all special tokens have a row in the embedding."""
    outside = [
        f"{name} {what} (id {index:,})" for name, what, index, rows in _specials(loaded) if index >= rows
    ]
    if outside:
        return [
            Finding(
                "problem",
                "Special tokens without a row in the embedding",
                f"{len(outside):,}",
                "A sentence that has one can't be run.",
                "Take the tokenizer that the model was trained with, or correct these ids in its "
                "configuration.",
                places(outside),
            )
        ]
    if loaded.model.config.n_decoder_layers and not loaded.end_ids:
        return [
            Finding(
                "note",
                "No token ends a sentence",
                "",
                "The model generates until the limit on length.",
                "Put the tokenizer's files, or an eos_token_id, next to the weights if the model was "
                "trained with one.",
            )
        ]
    n_ids = len({(name, index) for name, _, index, _ in _specials(loaded)})
    return fine("Special tokens have their rows", f"{n_ids:,} ids")


def _specials(loaded: LoadedModel) -> Iterator[tuple[str, str, int, int]]:
    """Side, role, id and number of rows of that side, for every special token."""
    for side in coded_sides(loaded):
        special_tokens = side.coder.special_tokens
        roles = (
            ("padding", special_tokens.pad),
            ("beginning", special_tokens.bos),
            ("end", special_tokens.eos),
            ("unknown", special_tokens.unk),
        )
        for what, index in roles:
            if index is not None:
                yield side.name, what, index, side.rows
    rows = loaded.model.config.tgt_vocab_size
    if rows:
        yield from (("target", "end", index, rows) for index in loaded.end_ids)
        if loaded.model.config.n_encoder_layers:
            yield from (("target", "start", index, rows) for index in loaded.start_ids)


def unknown_findings(loaded: LoadedModel, text: str) -> list[Finding]:
    """Check how much of the user's text is unknown to the tokenizer of the side that reads it."""
    side = coded_sides(loaded)[0]
    encoded = side.coder.encode(sources_of(text))
    n_unknown, n_tokens = sum(encoded.unknown), len(encoded.unknown)
    if not n_unknown:
        return fine("Every word of the text is known", f"{n_tokens:,} tokens")
    part = n_unknown / n_tokens
    words = dict.fromkeys(
        encoded.words[word]
        for word, unknown in zip(encoded.word_of, encoded.unknown, strict=True)
        if unknown and word < len(encoded.words)
    )
    return [
        Finding(
            "warning" if part > MANY_UNKNOWN else "note",
            "Words that the tokenizer does not know",
            f"{n_unknown:,} of the text's {n_tokens:,} tokens, {share(part)}",
            "The model reads the same token in place of each of them, and can't tell them apart.",
            "Type ids, numbers with spaces between them: this model has no tokenizer."
            if side.coder.unit == "token"
            else "Use the model's language and spelling (lower case, if its vocabulary is). If plain words "
            "are missing, the vocabulary belongs to another model.",
            places(words),
        )
    ]


def _no_tokenizer(side: CodedSide) -> Finding:
    return Finding(
        "note",
        f"There is no {side.name} tokenizer",
        f"{side.rows:,} rows",
        "Tokens are known only by id, and texts are typed as ids.",
        "Put the tokenizer's files, such as tokenizer.json, next to the weights, and open the folder.",
    )


def _too_few_rows(side: CodedSide, number: str) -> Finding:
    return Finding(
        "problem",
        f"The {side.name} tokenizer has more tokens than the embedding has rows",
        number,
        "Tokens without a row can't be read: a text with one of them can't be run.",
        "Take the tokenizer that the model was trained with. If tokens were added to it, the embedding has "
        "to be made longer, and trained.",
        f"ids from {side.rows:,} on",
    )


def _spare_rows(side: CodedSide, number: str) -> Finding:
    spare = side.rows - len(side.coder.vocabulary)
    severity: Severity = "warning" if spare > SPARE_ROWS and spare > SPARE_PART * side.rows else "note"
    return Finding(
        severity,
        f"The {side.name} embedding has more rows than the tokenizer has tokens",
        number,
        "Far too many rows have no token: model and tokenizer hardly belong together, and then each token "
        "is read as another one."
        if severity == "warning"
        else "The rows beyond are never read. Embeddings are often made a little longer, for speed.",
        "Take the tokenizer that the model was trained with." if severity == "warning" else "Nothing.",
        f"ids from {len(side.coder.vocabulary):,} on",
    )
