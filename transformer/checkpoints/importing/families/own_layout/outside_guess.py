"""Guesses which weights of ours the tensors outside of all layers are, if they fit the model's width."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from transformer.checkpoints.importing.families.own_layout.name_words import (
    Guess,
    Guesses,
    Shape,
    bias_of,
    is_mask,
    is_norm_name,
    module,
    norm_parameter,
    words,
)

_ENCODER = re.compile(r"enc(oders?)?|src|source|i|inp|inputs?|bert")
_DECODER = re.compile(r"dec(oders?)?|tgt|trg|tar|target|targets?|t|outputs?|gpt")
_POSITIONS = re.compile(r"pos.*|wpe|pe|places?|time")
_EMBEDDING = re.compile(r"(?!un).*emb.*|wte|wse|luts?|tok(en)?s?|words?|vocab|shared")
_OUTPUT = re.compile(
    r"(lm)?heads?|gen(erator)?|out(put)?|linear|proj(ection)?|fc|unembed(ding)?|logits?|pred.*|classif.*|toprobs|lm|mlm"
)
_FINAL = re.compile(r"final|last|f|lnf|out(put)?|end|post|after")
_HEAD = re.compile(r"(lm)?heads?|lm|gen(erator)?|pred.*|classif.*|vocab")
_OTHER_TABLE = re.compile(r"seg(ment)?s?|type|types|ids?|cls|pool(er)?|nsp|transform|values?")


def side_of(name: str, sides: Iterable[str]) -> str:
    """Whether a name belongs to the encoder or the decoder; empty if there are both and it does not say."""
    sides = set(sides)
    if len(sides) == 1:
        return sides.pop()
    for part in reversed(name.split(".")):
        of = words(part)
        encoder, decoder = (any(side.fullmatch(word) for word in of) for side in (_ENCODER, _DECODER))
        if encoder != decoder:
            return "encoder" if encoder else "decoder"
    return ""


def guess_outside(shapes: Mapping[str, Shape], d_model: int, sides: Iterable[str]) -> Guesses:
    """Guess what fits the model's width.

    Args:
        shapes: tensors outside of all layers.
        d_model: the model's width.
        sides: the stacks that there are: "encoder", "decoder".
    """
    sides = list(sides)
    guesses: Guesses = {}
    tables: dict[str, Sequence[str]] = {}
    for name, shape in shapes.items():
        of, (before, last) = words(name.removesuffix(".weight")), module(name)
        side = side_of(name, sides)
        embedding = {"encoder": "src_embedding", "decoder": "tgt_embedding", "": ""}[side]
        if is_mask(name, shape) or _is(_OTHER_TABLE, of) or d_model not in shape:
            continue
        if len(shape) == 1 and is_norm_name(words(before)) and norm_parameter(last):
            is_of_words, ours = _is(_EMBEDDING, of), norm_parameter(last)
            place = f"{embedding}.norm" if is_of_words else f"{side}.final_norm"
            note = "" if is_of_words or _is(_FINAL, of) else f"or {embedding}.norm, before the layers"
            if side and not _is(_HEAD, of):
                guesses[name] = Guess((f"{place}.{ours}",), note=note)
        elif _is(_POSITIONS, of):
            if embedding and shape[-1] == d_model and len(shape) <= 3:
                by = "table_of_positions" if len(shape) == 3 else ""
                guesses[name] = Guess((f"{embedding}.positions.weight",), by)
        elif len(shape) == 2 and not is_norm_name(of):
            tables[name] = of
    return guesses | _guess_words(tables, shapes, d_model, sides)


def _guess_words(
    tables: Mapping[str, Sequence[str]], shapes: Mapping[str, Shape], d_model: int, sides: Sequence[str]
) -> Guesses:
    """Embeddings, and the generator with as many rows as that of the words it predicts."""
    named = [name for name, of in tables.items() if shapes[name][1] == d_model and not bias_of(name, shapes)]
    named = [name for name in named if _is(_EMBEDDING, tables[name]) and not _is(_OUTPUT, tables[name])] or (
        named[:1] if len(sides) == 1 else []
    )
    if len(named) == 1:  # shared by both stacks, or that of the only one
        embeddings = {named[0]: "encoder" if "encoder" in sides else "decoder"}
    else:
        embeddings = {name: side for name in named if (side := side_of(name, sides))}
    guesses = {
        name: Guess(("src_embedding.weight" if side == "encoder" else "tgt_embedding.weight",))
        for name, side in embeddings.items()
    }
    target = [name for name, side in embeddings.items() if side == "decoder"] or list(embeddings)
    if len(target) != 1:
        return guesses
    n_words = shapes[target[0]][0]
    fitting = [name for name in tables if name not in named and set(shapes[name]) == {n_words, d_model}]
    if len(fitting) > 1:
        fitting = [name for name in fitting if _is(_OUTPUT, tables[name])]
    if len(fitting) == 1:
        [name] = fitting
        by = "transposed" if shapes[name] == (d_model, n_words) and n_words != d_model else ""
        guesses[name] = Guess(("generator.weight",), by)
        if bias_of(name, shapes):
            guesses[bias_of(name, shapes)] = Guess(("generator.bias",))
    return guesses


def _is(pattern: re.Pattern[str], of: Iterable[str]) -> bool:
    return any(pattern.fullmatch(word) for word in of)
