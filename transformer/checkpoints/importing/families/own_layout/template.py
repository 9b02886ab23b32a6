"""A mapping file to fill in: each pattern in a checkpoint's names, with our name where it can be guessed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from transformer.checkpoints.importing.families.own_layout.unknown import (
    Found,
    Stack,
    is_attention,
    is_norm,
    look,
)
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import CheckpointError

_HEAD = """\
# Which tensor of the files is which weight of Headlight's model: see docs/checkpoints.md.
# {} stands for a layer's number. Check the lines below, which were guessed from names and shapes; finish or
# remove those that begin with #. What `config` leaves out is read from shapes, or asked.
"""
_CONFIG = """\
config:
  # n_heads: 8
  # norm_position: pre    # or post, as in the paper
  # activation: relu      # or gelu, gelu_tanh, silu
  # embedding_scale: true # embeddings are multiplied by sqrt(d_model)
"""
_CROSS = re.compile(
    r"cross|enc_?dec|encoder_?(attn|attention)|src_?attn|multihead_attn|memory|attn2|attention2"
)
_PARTS = {
    "w_q": re.compile(r"(^|[._])(to_?|w_?|fc_?)?(q|qs|query|queries)([._]|_|$)"),
    "w_k": re.compile(r"(^|[._])(to_?|w_?|fc_?)?(k|ks|key|keys)([._]|_|$)"),
    "w_v": re.compile(r"(^|[._])(to_?|w_?|fc_?)?(v|vs|value|values)([._]|_|$)"),
    "qkv": re.compile(r"qkv|in_proj|c_attn"),
    "w_o": re.compile(
        r"(^|[._])(w_?|fc_?)?(o|out|output|proj|c_proj|out_proj|concat|dense|fc|linear)([._]|$)"
    ),
}
_POSITIONS = re.compile(r"pos|wpe|place|time")
_ENCODER, _DECODER = re.compile(r"enc|src|source"), re.compile(r"dec|tgt|trg|target")
_GENERATOR = re.compile(r"head|gen|out|linear|proj|fc|unembed|logit|classif|predict")


def template(raw: RawCheckpoint) -> str:
    """The text of a mapping file for a checkpoint.

    Raises:
        CheckpointError: when a name can't be a key in it.
    """
    found = look(raw.tensors)
    lines = [_HEAD + "names:"]
    for theirs, ours in _modules([*_inside(found), *_outside(found)]):
        if not theirs.isprintable() or any(sign in theirs for sign in "\"'#:,[]&*!|>%@`\\"):
            raise CheckpointError("The tensors have names that no mapping file can hold: rename them first.")
        if ours is None:
            lines.append(f"  # {theirs}:")
        elif len(ours) == 1:
            lines.append(f"  {theirs}: {ours[0]}")
        else:
            lines += [
                f"  {theirs}:",
                "    by: three_blocks",
                "    to:",
                *(f"      - {name}" for name in ours),
            ]
    return "\n".join([*lines, _CONFIG, ""])


_Guess = tuple[str, tuple[str, ...] | None]
"""A pattern, without .weight or .bias, and our names; None where they can't be guessed."""


def _modules(guesses: list[_Guess]) -> list[_Guess]:
    """Each pattern once: a weight and its bias share one."""
    named: dict[str, tuple[str, ...] | None] = {}
    for theirs, ours in guesses:
        named.setdefault(theirs, ours)
    return list(named.items())


def _inside(found: Found) -> Iterator[_Guess]:
    for stack in found.stacks:
        side = _side(stack)
        norms = [name for name, shape in stack.names.items() if is_norm(name, shape)]
        norms = list(dict.fromkeys(name.rpartition(".")[0] for name in norms))
        has_cross = any(_CROSS.search(name.lower()) for name in stack.names) or len(norms) == 3
        due = ["self_attn_norm", *(["cross_attn_norm"] if has_cross else []), "feed_forward_norm"]
        for name, shape in stack.names.items():
            module = name.rpartition(".")[0] or name
            ours: tuple[str, ...] | None = None
            if module in norms and len(norms) == len(due):
                ours = (due[norms.index(module)],)
            elif module not in norms and (is_attention(name) or _CROSS.search(name.lower())):
                ours = _attention(name.lower())
            elif len(shape) == 2 and found.d_model in shape and shape[0] != shape[1]:
                ours = ("feed_forward.w_1" if shape[1] == found.d_model else "feed_forward.w_2",)
            prefix = f"{side}.layers.{{}}."
            yield (
                f"{stack.prefix}{{}}.{module}",
                None if ours is None else tuple(prefix + one for one in ours),
            )


def _attention(name: str) -> tuple[str, ...] | None:
    module = "cross_attn" if _CROSS.search(name) else "self_attn"
    for part, pattern in _PARTS.items():
        if pattern.search(name):
            parts = ("w_q", "w_k", "w_v") if part == "qkv" else (part,)
            return tuple(f"{module}.{one}" for one in parts)
    return None


def _side(stack: Stack) -> str:
    prefix = stack.prefix.lower()
    return "encoder" if _ENCODER.search(prefix) and not _DECODER.search(prefix) else "decoder"


def _outside(found: Found) -> Iterator[_Guess]:
    sides = {_side(stack) for stack in found.stacks}
    embeddings: set[str] = set()
    for name, shape in found.outside.items():
        low, module = name.lower(), name.rpartition(".")[0] or name
        has_bias = f"{module}.bias" in found.outside  # which embeddings don't have
        side = "decoder" if sides == {"decoder"} or _DECODER.search(low) else "encoder"
        embedding = "src_embedding" if side == "encoder" else "tgt_embedding"
        if is_norm(name, shape):
            yield module, (f"{side}.final_norm",)
        elif len(shape) == 1:
            is_bias = name.endswith(".bias") and len(found.outside.get(f"{module}.weight", ())) == 2
            yield module, ("generator",) if is_bias or _GENERATOR.search(low) else None
        elif found.d_model not in shape:
            yield name, None
        elif _POSITIONS.search(low):
            yield name, (f"{embedding}.positions.weight",)
        elif _GENERATOR.search(low) or has_bias or embedding in embeddings:
            yield (module, ("generator",)) if has_bias else (name, ("generator.weight",))
        else:
            embeddings.add(embedding)
            yield name, (f"{embedding}.weight",)
