"""Hostile values saved with the weights: each is quickly refused or is inert, and none of it runs."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from tests.transformer.checkpoints.reading.crafted import (
    ORDERED,
    Call,
    Name,
    Object,
    Raw,
    Reference,
    archive,
    opcodes,
    saved,
    tensor,
)
from tests.transformer.checkpoints.reading.watched import (
    INERT,
    MARKER,
    OWN,
    PATH,
    THING,
    TOUCH,
    assert_refused_or_inert,
)

MODULE = Name("torch.nn.modules.linear", "Linear")
INTEGER = struct.Struct("<I")


def extra(value: Any) -> bytes:
    """A file with a weight and an extra value."""
    return saved({"w": tensor(), "extra": value})


def module(parameters: Any = None, modules: Any = None, **attributes: Any) -> Object:
    held = {"_parameters": parameters or {}, "_buffers": {}, "_modules": modules or {}}
    return Object(MODULE, (), held | attributes)


def steps(code: bytes) -> bytes:
    """A file with a weight and an extra value made by these opcodes."""
    return extra(Raw(code))


def put(number: int) -> bytes:
    return b"r" + INTEGER.pack(number)


def get(number: int) -> bytes:
    return b"j" + INTEGER.pack(number)


def doubled(levels: int = 60) -> bytes:
    """A list of two lists of two lists ..."""
    code = b"]" + put(0)
    for level in range(levels):
        code += b"0](" + get(level) + get(level) + b"e" + put(level + 1)
    return code


def nested_objects(depth: int = 30_000) -> bytes:
    """An object whose argument is an object, and so on."""
    return opcodes(OWN) + put(0) + b"0" + get(0) * depth + get(0) + b")\x81" + b"\x85\x81" * depth


def nested_modules(depth: int, n_same: int) -> bytes:
    """A module in a module in a module ..., each under one or several names."""
    code = opcodes(module({"weight": tensor()})) + put(0)
    for level in range(depth):
        children = b"}(" + b"".join(opcodes(f"m{n}") + get(level) for n in range(n_same)) + b"u"
        held = b"}(" + opcodes("_parameters") + b"}" + opcodes("_buffers") + b"}" + opcodes("_modules")
        code += b"0" + opcodes(MODULE) + b")\x81" + held + children + b"ub" + put(level + 1)
    return code


def in_itself() -> bytes:
    """A module that contains itself."""
    held = b"}(" + opcodes("_parameters") + opcodes({"w": tensor()}) + opcodes("_buffers") + b"}"
    held += opcodes("_modules") + b"}(" + opcodes("me") + get(0) + b"uu"
    return opcodes(MODULE) + b")\x81" + put(0) + held + b"b"


def many(code: bytes, n: int, last: bytes = b"") -> bytes:
    """A list of many copies of one value, all but the first from the memo, with `last` after each."""
    return b"](" + code + put(0) + last + (get(0) + last) * n + b"e"


def kept(*codes: bytes) -> bytes:
    """Values that are only in the memo, at 0, 1, 2, ..."""
    return b"".join(code + put(number) + b"0" for number, code in enumerate(codes))


CONFIG = Object(Name("omegaconf.dictconfig", "DictConfig"))
LONG_TEXT = opcodes("x" * 1_000_000)
BIG_DICTIONARY = b"}(" + b"".join(opcodes(number) + b"N" for number in range(50_000)) + b"u"
COLLIDING = b"}(" + b"".join(opcodes(k * (2**61 - 1)) + b"N" for k in range(1, 50_000)) + b"u"
NO_PARAMETERS = {f"p{number}": None for number in range(10_000)}
HASHED_FOR_EVER = b"K\x01" + b"\x85" * 5 + b"".join(put(k) + get(k) + b"\x86" for k in range(60))
SIXTY_DICTIONARIES = {f"key {k}": {"a.b": tensor()} for k in range(60)}
FROM_TYPE = Name("torch._tensor", "_rebuild_from_type_v2")
PARAMETER = Name("torch._utils", "_rebuild_parameter")
IDLE = Raw(b"N0" * 300_000 + b"N")
SCALAR, DTYPE = Name("numpy.core.multiarray", "scalar"), Name("numpy", "dtype")

ZIPPED: dict[str, tuple[bytes, str]] = {
    # names that only attacks use, in every kind of call
    "os.system by REDUCE": (extra(Call(Name("os", "system"), ("true",))), r"'os\.system'"),
    "posix.system of a Namespace": (
        extra(Call(Name("posix", "system"), (Object(Name("argparse", "Namespace"), (), {"a": 1}),))),
        r"'posix\.system'",
    ),
    "subprocess.Popen by INST": (steps(b"(" + opcodes("true") + b"isubprocess\nPopen\n"), "subprocess"),
    "eval by OBJ": (steps(b"(cbuiltins\neval\n" + opcodes("1") + b"o"), r"builtins\.eval"),
    "nt.system by NEWOBJ": (extra(Object(Name("nt", "system"), ("dir",))), r"nt\.system"),
    "exec by NEWOBJ_EX": (steps(opcodes(Name("builtins", "exec")) + b")}\x92"), r"builtins\.exec"),
    "a name by the stack": (steps(opcodes("os") + opcodes("popen") + b"\x93"), r"os\.popen"),
    "a name that is not called": (extra({"factory": Name("__builtin__", "eval")}), r"eval"),
    "a defaultdict of eval": (
        extra(Call(Name("collections", "defaultdict"), (Name("builtins", "eval"),))), "eval",
    ),
    "a submodule": (extra(Call(Name("importlib._bootstrap", "_gcd_import"), ("os",))), "importlib"),
    "a name in escapes": (steps(rb"c\x6f\x73" + b"\nsystem\n"), r"'os\.system'"),
    "a name with a space": (steps(b"cos system\nx\n"), r"'os\.system x'"),
    "TorchScript in an object": (extra(Object(OWN, (Name("torch.jit._script", "X"),))), "TorchScript"),
    "a class of TorchScript": (extra(Object(Name("__torch__.Net", "Net"))), "TorchScript"),
    "an extension by code": (steps(b"\x82\x01"), "operation"),
    "an extension by a long code": (steps(b"\x84\x01\x00\x00\x00"), "operation"),
    # other calls
    "a chain of getattr": (extra(Call(TOUCH, ())), INERT),
    "a result that is called": (
        extra(Call(Call(Name("operator", "methodcaller"), ("touch",)), (PATH,))), INERT,
    ),
    "a partial that is called": (extra(Call(Call(Name("functools", "partial"), (TOUCH,)), ())), INERT),
    "a state that would reduce": (
        extra(Object(OWN, (), {"__reduce__": TOUCH, "__setstate__": TOUCH, "__class__": OWN})), INERT,
    ),
    "a state for what was called": (steps(opcodes(TOUCH) + opcodes({"a": 1}) + b"b"), INERT),
    "a dictionary's own state": (steps(opcodes(ORDERED) + opcodes({"__class__": OWN}) + b"b"), INERT),
    "the state of a class": (steps(opcodes(OWN) + opcodes({"__new__": TOUCH}) + b"b"), "sets the state"),
    "torch.load of a path": (extra(Call(Name("torch", "load"), (MARKER,))), INERT),
    "calling a text": (extra(Call("os.system", ())), "would not write"),
    "arguments that are an object": (steps(opcodes(OWN) + opcodes(THING) + b"R"), "would not write"),
    # objects in place of plain values
    "an object as a key": (steps(b"}(" + opcodes(THING) + b"Nu"), INERT),
    "an object as the key of a weight": (saved({"w": tensor(), THING: {"v": tensor()}}), "keys are more"),
    "an object as a storage": (saved({"w": tensor(of=THING)}), r"own\.Thing"),
    "an object as a shape": (saved({"w": tensor(shape=THING)}), r"own\.Thing"),  # type: ignore[arg-type]
    "an object in a shape": (saved({"w": tensor(shape=(2, THING))}), r"own\.Thing"),
    "an object as a stride": (saved({"w": tensor(strides=(THING, 1))}), r"own\.Thing"),
    "an object as a start": (saved({"w": tensor(start=THING)}), r"own\.Thing"),
    "an object as hooks": (saved({"w": tensor(hooks=THING)}), "hooks"),
    "an object as a wrapper": (saved({"a.w": tensor(), "a.v": Object(OWN, (tensor(),))}), r"own\.Thing"),
    "an object as a parameter": (
        saved({"a.w": tensor(), "v": Call(PARAMETER, (THING, True, ORDERED))}), r"own\.Thing",
    ),
    "a class of tensors": (
        saved({"a.w": tensor(), "v": Call(FROM_TYPE, (OWN, OWN, (), None))}),
        r"'v'.*own\.Thing",
    ),
    "a type around itself": (
        saved({"w": Call(FROM_TYPE, (FROM_TYPE, Name("torch", "Tensor"), (), None))}), r"torch\.Tensor",
    ),
    "an object as a kind of storage": (
        saved({"w": tensor(of=Reference(("storage", THING, "0", "cpu", 6)))}), r"own\.Thing",
    ),
    "an object as a storage's key": (
        saved({"w": tensor(of=Reference(("storage", Name("torch", "FloatStorage"), THING, "cpu", 6)))}),
        "would not write",
    ),
    "an object as a persistent id": (saved({"w": tensor(of=Reference(THING))}), "would not write"),
    "an object as the weights": (saved({"state_dict": THING, "epoch": 3}), "holds no weights"),
    # time and memory
    "a bomb of memos in an object": (steps(opcodes(OWN) + doubled() + b"\x85\x81"), INERT),
    "a bomb of memos as a state": (
        steps(opcodes(THING) + b"}(" + opcodes("a") + doubled() + b"ub"), INERT,
    ),
    "deep objects": (steps(nested_objects()), INERT),
    "deep tuples in an object": (steps(opcodes(OWN) + b"N" + b"\x85" * 30_000 + b"\x81"), INERT),
    "an object in itself": (steps(opcodes(THING) + put(0) + b"}(" + opcodes("me") + get(0) + b"ub"), INERT),
    "a large text as many arguments": (
        steps(kept(opcodes(OWN), LONG_TEXT) + b"](" + (get(0) + get(1) + b"\x85\x81") * 30_000 + b"e"),
        INERT,
    ),
    "a large text in one state": (extra(Object(OWN, (), {"a": Raw(many(LONG_TEXT, 30_000))})), INERT),
    "a large state for many": (
        steps(kept(opcodes(OWN), BIG_DICTIONARY) + b"](" + (get(0) + b")\x81" + get(1) + b"b") * 9000 + b"e"),
        INERT,
    ),
    "one object many times": (extra(Raw(many(opcodes(Object(OWN, (), {"a": "x" * 1000})), 30_000))), INERT),
    "keys of one hash": (steps(opcodes(OWN) + COLLIDING + b"\x85\x81"), INERT),
    "keys that are hashed for ever": (steps(b"}(" + HASHED_FOR_EVER + b"Nu"), INERT),
    "members that are hashed for ever": (steps(b"\x8f(" + HASHED_FOR_EVER + b"\x90"), INERT),
    "a key of 200,000 tuples": (steps(b"}(N" + b"\x85" * 200_000 + b"Nu"), INERT),
    "a set in itself": (steps(b"\x8f" + put(0) + b"(" + get(0) + b"\x90"), INERT),
    "a tuple in itself": (steps(b"]" + put(0) + get(0) + b"\x85a"), "nested"),
    "the largest number in the memo": (steps(b"N" + put(2**32 - 1)), INERT),
    "bytes of 2^64": (steps(b"\x8e" + b"\xff" * 8), "damaged"),
    "a text of 2^64": (steps(b"\x8d" + b"\xff" * 8), "damaged"),
    "a number of 2^31 bytes": (steps(b"\x8b\xff\xff\xff\x7f"), "damaged"),
    "a number of a megabyte": (steps(b"\x8b" + INTEGER.pack(10**6) + bytes(10**6)), "the operation"),
    "a number of a million digits": (steps(b"F" + b"9" * 10**6 + b"\n"), "the operation"),
    "a name of a megabyte": (
        steps(kept(LONG_TEXT) + b"](" + (get(0) + get(0) + b"\x93") * 30_000 + b"e"), "a name of",
    ),
    "steps that do nothing": (extra(IDLE), INERT),
    "one pair many times": (
        steps(kept(opcodes([("a", 1)] * 9_000)) + opcodes(ORDERED.called) + get(0) + b"\x85R"), "twice",
    ),
    # modules
    "a module in itself": (archive(b"\x80\x02" + in_itself() + b"."), "nested more than"),
    "a module in itself, as an extra": (steps(opcodes(OWN) + in_itself() + b"\x85\x81"), INERT),
    "thousands of modules in modules": (archive(b"\x80\x02" + nested_modules(5_000, 1) + b"."), "nested"),
    "two modules in two modules in two": (archive(b"\x80\x02" + nested_modules(30, 2) + b"."), "nested"),
    "many parameters that are none": (
        saved({"w": tensor(), "m": Raw(many(opcodes(module(NO_PARAMETERS)), 30_000))}), "nested",
    ),
    "a module of a long name": (saved(module({"w" * 600: tensor()})), "600 characters"),
    "a name twice by dots": (
        saved(module({"a.w": tensor()}, {"a": module({"w": tensor()})})), "two tensors with the name",
    ),
    "a parameter that is an object": (
        saved(module({"w": tensor(), "v": Object(OWN, (tensor(),))})), r"'v'.*own\.Thing",
    ),
    "a module without tensors": (saved(module()), "holds no weights"),
    "parts of a module that are none": (saved(module({"w": tensor()}, {"a": THING, "b": None})), INERT),
    "an object that says it is one": (
        saved({"w": tensor(), "m": Object(OWN, (), {"_parameters": 3, "_buffers": {}, "_modules": {}})}),
        INERT,
    ),
    "buffers that are not saved, as an object": (
        saved(module({"w": tensor()}, _non_persistent_buffers_set=THING)), INERT,
    ),
    # values converted to plain ones
    "a number of NumPy of no kind": (extra(Call(SCALAR, (Object(DTYPE, ("f8",)), b"x"))), INERT),
    "a number of NumPy of a long kind": (extra(Call(SCALAR, (Object(DTYPE, ("O" * 99,)), PATH))), INERT),
    "a number of NumPy without end": (extra(Call(SCALAR, ())), INERT),
    "a path of many parts": (extra(Call(Name("pathlib", "Path"), tuple("ab" * 50_000))), INERT),
    "an OmegaConf in itself": (
        steps(opcodes(CONFIG) + put(0) + b"}(" + opcodes("_content") + get(0) + b"ub"), INERT,
    ),
    "many weights of one model": (saved(SIXTY_DICTIONARIES), INERT),
}  # fmt: skip


def test_each_is_refused_or_inert(tmp_path: Path) -> None:
    assert_refused_or_inert(ZIPPED, tmp_path)
