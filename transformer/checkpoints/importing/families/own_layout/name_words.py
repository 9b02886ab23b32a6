"""The words in a tensor's name, and what they say of a stranger's model."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from itertools import pairwise
from string import digits
from typing import NamedTuple

Shape = tuple[int, ...]


class Guess(NamedTuple):
    """What a stored tensor may be.

    Attributes:
        names: our weights, in full.
        by: how the tensor is stored; empty for torch's way.
        note: a remark for the user.
        is_open: whether `by` is one of several ways that nothing rules out, for the user to choose.
    """

    names: tuple[str, ...]
    by: str = ""
    note: str = ""
    is_open: bool = False


Guesses = dict[str, Guess]
"""Names of tensors, with {} for the layer's number -> guesses."""

_LONGEST = 200
"""Characters examined, from the end of a name: a hostile file may have very long names."""
_WORD = re.compile(r"[A-Z]?[a-z]+\d*|[A-Z]+(?![a-z])\d*|\d+")
_PARTS = {
    part: re.compile(rf"(to|w|c|fc|lin|linear)?({bodies})(s|w|proj|lin|linear|layer)?")
    for part, bodies in {"q": "q|query|querie", "k": "k|key", "v": "v|val|value"}.items()
}
_FUSED = {"qkv": "qkv", "wqkv": "qkv", "kqv": "kqv"}
_FUSED_PAIRS = {("in", "proj"), ("c", "attn")}
_CROSS = re.compile(
    r"cross|enc_?dec|dec_?enc|enc(oder)?_att|(src|source|memory|mem|context|ctx|inter)_(multi_?head_)?att"
    r"|src_(trg|tgt)|multihead_attn|(^|_)ca(_|$)|(attn|attention|mha)_?2"
)
_SELF = re.compile(r"self|masked|(^|_)sa(_|$)|src_src|trg_trg|tgt_tgt|(attn|attention|mha)_?1")
ATTENTION = re.compile(r"att(n|ention)?s?|mha|multi|multihead|heads?|[cs]a|mhsa")
FEED_FORWARD = re.compile(r"ff|ffn|mlp|pwff|feed|feedforward|forward|pointwise|intermediate|dense")
_NO_MATRIX = re.compile(r"relative|rel|pos|position|emb|embed|embedding|embeddings|lora|bias|mask|tril|alibi")
_MASKS = re.compile(r"mask|masks|tril|triu|triangle|triangular|causal|subsequent")
_GAMMAS = {"weight", "gamma", "gain", "scale", "alpha", "a", "w", "g"}
_BETAS = {"bias", "beta", "shift", "b"}
_NORMS = re.compile(r"(layer|rms|batch|scale)?norm(s|alization|alisation)?|lns?|lnf|[qk](ln|norm)")
_BEHIND_SIDE = "((emb|tok|pos|norm).*)?"
_SIDES = tuple(
    {side: re.compile(f"({named}){_BEHIND_SIDE}") for side, named in sides.items()}
    for sides in (
        {"encoder": "src|source", "decoder": "tgt|trg|tar|targets?"},
        {"encoder": "enc(oders?)?", "decoder": "dec(oders?)?"},
        {"encoder": "i|inp|inputs?|bert", "decoder": "t|out|outputs?|gpt"},
    )
)
"""Words for the sides, those that tell most first."""
_POSITIONS = re.compile(r"pos(?!t).*|.*pos|.*position.*|wpe|pe|places?|time")
_EMBEDDING = re.compile(r"(?!un)(emb.*|.*emb(ed(ding)?s?)?)|wte|wse|luts?|tok.*")
_WORDS = re.compile(r"words?|shared")
"""Embeddings, unless a word for an output stands next to it."""
_OUTPUT = re.compile(
    r"(lm)?heads?|m?lm|gen(erator)?|out(put)?s?|linear|fc|vocab|readout|to|toprobs|(proj|logit|classif|unemb|pred).*"
)
_FINAL = re.compile(r"final|last|f|lnf|end|out(put)?")


def words(name: str) -> tuple[str, ...]:
    """The words of a name in lower case, also those run together: "SelfAttention.W_q" has four."""
    return tuple(word.lower() for word in _WORD.findall(name[-_LONGEST:]))


def has(of: Sequence[str], kind: re.Pattern[str]) -> bool:
    """True if one of the words is of a kind; numbers at their ends don't matter."""
    return any(kind.fullmatch(word.rstrip(digits)) for word in of)


def module(name: str) -> tuple[str, str]:
    """The module's name and the parameter's, "weight" or "bias" or one of the module's own."""
    before, _, last = name.rpartition(".")
    return before, last


def bias_of(weight: str, names: Container[str]) -> str:
    """The name of a matrix' bias: fc.bias of fc.weight, in_proj_bias of in_proj_weight, b_in of W_in."""
    before, last = module(weight)
    for theirs, bias in (("weight", "bias"), ("kernel", "bias"), ("W", "b"), ("w", "b")):
        if last.startswith(theirs) or last.endswith(theirs):
            name = ".".join(part for part in (before, last.replace(theirs, bias, 1)) if part)
            if name in names:
                return name
    return ""


def attention_part(of: Sequence[str]) -> str:
    """Which part of an attention words name: one or several of q, k and v in order; empty for none."""
    if has(of, _NO_MATRIX) or is_norm_name(of):
        return ""
    fused = next((_FUSED[word] for word in of if word in _FUSED), "")
    if fused or _FUSED_PAIRS & set(pairwise(of)):
        return fused or "qkv"
    found = [part for word in of for part, pattern in _PARTS.items() if pattern.fullmatch(word)]
    return "".join(dict.fromkeys(found))


def is_attention(of: Sequence[str]) -> bool:
    """True if words speak of an attention, or of its queries, keys or values."""
    return has(of, ATTENTION) or attention_part(of) != ""


def is_matrix_of_a_layer(of: Sequence[str]) -> bool:
    """False for tables of positions, masks and the like."""
    return has(of, FEED_FORWARD) or not has(of, _NO_MATRIX)


def norm_parameter(last: str) -> str:
    """What a parameter of a norm is to ours: "gamma", "beta" or nothing; a_2 is gamma."""
    stem = last.rstrip("_0123456789").lower()
    return "gamma" if stem in _GAMMAS else "beta" if stem in _BETAS else ""


def is_mask(name: str, shape: Shape) -> bool:
    """True for a table of which positions may attend to which, also GPT-2's "attn.bias"."""
    is_square = len(shape) > 1 and shape[-1] == shape[-2]
    return is_square and (has(words(name), _MASKS) or (len(shape) == 4 and name.endswith("bias")))


def is_norm_name(of: Sequence[str]) -> bool:
    """True if one of the words stands for a norm."""
    return has(of, _NORMS)


def is_final(name: str) -> bool:
    """True for the name of what follows the last layer."""
    return has(words(name), _FINAL)


def is_positions(name: str) -> bool:
    """True for the name of a position table."""
    return has(words(name), _POSITIONS)


def is_embedding(name: str) -> bool:
    """True for a name that is used only for embeddings."""
    of = words(name)
    return has(of, _EMBEDDING) or (has(of, _WORDS) and not has(of, _OUTPUT))


def is_linear(name: str) -> bool:
    """True if the name contains a word used for a model's last linear layer."""
    return has(words(name), _OUTPUT)


def side_of(name: str) -> str:
    """Whether a name belongs to the "encoder" or the "decoder", by its last part that says; else empty."""
    parts = [words(part) for part in reversed(name[-_LONGEST:].split("."))]
    # "pos_enc" is a positional encoding, on either side.
    parts = [
        tuple(w for before, w in pairwise(("", *of)) if w != "enc" or not before.startswith("pos"))
        for of in parts
    ]
    for kinds in _SIDES:
        told = [sides for of in parts if (sides := [side for side, kind in kinds.items() if has(of, kind)])]
        if told:
            return next((sides[0] for sides in told if len(sides) == 1), "")
    return ""


def crossness(of: Sequence[str]) -> int:
    """1 if words speak of attention to another sequence, -1 to the same one, 0 if they don't tell."""
    text = "_".join(of)
    return bool(_CROSS.search(text)) - bool(_SELF.search(text))


def is_in_blocks(of: Sequence[str]) -> bool:
    """True if published models with such a name store queries, keys and values one after the other.

    They are in_proj, c_attn, Wqkv and qkv alone; qkv_proj, qkv_layer and query_key_value may be by head.
    """
    return bool(_FUSED_PAIRS & set(pairwise(of))) or of[-1] in ("qkv", "wqkv")


def numbers(of: Sequence[str]) -> set[int]:
    """The numbers in words: norm_2 and norm2 have one."""
    return {int(digits[:4]) for word in of for digits in re.findall(r"\d+", word)}


def shared_words(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words two names share at their beginnings."""
    n = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        n += 1
    return n
