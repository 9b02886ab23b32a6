"""The words in a tensor's name, and what they say: guesses for a mapping file rest on them and on shapes."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from itertools import pairwise
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

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
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
_MASKS = re.compile(r"mask|masks|tril|triu|causal|subsequent")
_GAMMAS = {"weight", "gamma", "gain", "scale", "alpha", "a", "w", "g"}
_BETAS = {"bias", "beta", "shift", "b"}
_NORMS = re.compile(r"(layer|rms|batch|scale)?norm(s|alization|alisation)?\d*|lns?\d*|lnf|[qk](ln|norm)")


def words(name: str) -> tuple[str, ...]:
    """The words of a name in lower case, also those run together: "SelfAttention.W_q" has four."""
    return tuple(word for word in re.split(r"[._]", _CAMEL.sub("_", name).lower()) if word)


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
    if any(_NO_MATRIX.fullmatch(word) or _NORMS.fullmatch(word) for word in of):
        return ""
    fused = next((_FUSED[word] for word in of if word in _FUSED), "")
    if fused or _FUSED_PAIRS & set(pairwise(of)):
        return fused or "qkv"
    found = [part for word in of for part, pattern in _PARTS.items() if pattern.fullmatch(word)]
    return "".join(dict.fromkeys(found))


def is_matrix_of_a_layer(of: Sequence[str]) -> bool:
    """False for tables of positions, masks and the like."""
    is_position_wise = any(FEED_FORWARD.fullmatch(word) for word in of)
    return is_position_wise or not any(_NO_MATRIX.fullmatch(word) for word in of)


def norm_parameter(last: str) -> str:
    """What a parameter of a norm is to ours: "gamma", "beta" or nothing; a_2 is gamma."""
    stem = last.rstrip("_0123456789").lower()
    return "gamma" if stem in _GAMMAS else "beta" if stem in _BETAS else ""


def is_mask(name: str, shape: Shape) -> bool:
    """True for a table of which positions may attend to which, also GPT-2's "attn.bias"."""
    is_square = len(shape) > 1 and shape[-1] == shape[-2]
    is_named = any(_MASKS.fullmatch(word) for word in words(name))
    return is_square and (is_named or (len(shape) == 4 and name.endswith("bias")))


def is_norm_name(of: Sequence[str]) -> bool:
    """True if one of the words stands for a norm."""
    return any(_NORMS.fullmatch(word) for word in of)


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
