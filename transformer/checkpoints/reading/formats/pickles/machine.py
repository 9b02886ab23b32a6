"""A pickle interpreter that runs no code: functions are names, and their results are opaque objects.

It supports the opcodes of protocol 2, which torch.save writes, those of Python 2, and those that other
protocols use for the same values. https://github.com/python/cpython/blob/3.11/Lib/pickletools.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from transformer.checkpoints.reading.formats.pickles.calls import as_reference, call, is_known
from transformer.checkpoints.reading.formats.pickles.globals import as_global
from transformer.checkpoints.reading.formats.pickles.pickle_bytes import DAMAGED, PickleBytes, as_text
from transformer.checkpoints.reading.formats.pickles.values import (
    SAVE_WEIGHTS,
    Global,
    Opaque,
    Ordered,
    Storage,
    StorageView,
    add_to,
    as_key,
    key_twice,
)
from transformer.checkpoints.reading.limits import Limits
from transformer.errors import CheckpointError

MAX_STACK = 1_000_000
MAX_MEMO = 4_000_000
MAX_INTEGER_BYTES = 32
_LARGEST_STEP = 1_000
"""How far the total number of arguments may exceed the number of bytes read."""
_PROTOCOLS = range(2, 6)
_STOP = ord(".")
_LONG = (str, bytes, tuple, list)


@dataclass(frozen=True)
class Unpickled:
    """The contents of a pickle.

    Attributes:
        value: primitives, tuples, lists, sets, dictionaries, PickledTensors, Globals, Opaque objects.
        storages: the storages that are referred to, by key.
        end: offset after the pickle.
    """

    value: Any
    storages: Mapping[str, Storage]
    end: int


def read_pickle(content: bytes, limits: Limits, start: int = 0) -> Unpickled:
    """Read the pickle that begins at `start`; more may follow it.

    Raises:
        CheckpointError: when unpickling would run a program, or the pickle is damaged.
    """
    return _Machine(content, limits, start).run()


def _damaged() -> NoReturn:
    raise CheckpointError(DAMAGED)


class _Machine:
    def __init__(self, content: bytes, limits: Limits, start: int) -> None:
        self._pickle = PickleBytes(content, start)
        self._limits = limits
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}
        self._storages: dict[str, Storage] = {}
        self._n_given = 0

    def run(self) -> Unpickled:
        while (operation := self._pickle.byte()) != _STOP:
            step = _STEPS.get(operation)
            if step is None:
                raise CheckpointError(
                    f"has a pickle with the operation {bytes([operation])!r}, which no weights need: save it "
                    f"again with {SAVE_WEIGHTS}."
                )
            step(self)
            if len(self._stack) > MAX_STACK or len(self._marks) > MAX_STACK or len(self._memo) > MAX_MEMO:
                raise CheckpointError(
                    f"has a pickle with too many values at once: save it again with {SAVE_WEIGHTS}."
                )
        if len(self._stack) != 1 or self._marks:
            _damaged()
        return Unpickled(self._stack[0], self._storages, self._pickle.at)

    def _push(self, value: Any) -> None:
        self._stack.append(value)

    def _pop(self) -> Any:
        if len(self._stack) <= (self._marks[-1] if self._marks else 0):
            _damaged()
        return self._stack.pop()

    def _top(self) -> Any:
        if len(self._stack) <= (self._marks[-1] if self._marks else 0):
            _damaged()
        return self._stack[-1]

    def _pop_to_mark(self) -> list[Any]:
        if not self._marks:
            _damaged()
        mark = self._marks.pop()
        values = self._stack[mark:]
        del self._stack[mark:]
        return values

    def drop(self) -> None:
        self._pop()

    def drop_to_mark(self) -> None:
        self._pop_to_mark()

    def protocol(self) -> None:
        """The first opcode of a pickle, absent in protocol 1."""
        if self._pickle.byte() not in _PROTOCOLS:
            raise CheckpointError(
                "has a pickle of another protocol than torch.save writes (2): save it again with "
                f"{SAVE_WEIGHTS}."
            )

    def mark(self) -> None:
        self._marks.append(len(self._stack))

    def frame(self) -> None:
        if self._pickle.number("<Q") > self._pickle.n_left:
            _damaged()

    def integer(self) -> None:
        n_bytes = self._pickle.byte()
        if n_bytes > MAX_INTEGER_BYTES:
            raise CheckpointError(
                f"has a whole number of {n_bytes} bytes, where {MAX_INTEGER_BYTES} are allowed: save it "
                f"again with {SAVE_WEIGHTS}."
            )
        self._push(int.from_bytes(self._pickle.take(n_bytes), "little", signed=True))

    def tuple_of(self, n_items: int) -> None:
        self._push(tuple(reversed([self._pop() for _ in range(n_items)])))

    def append(self) -> None:
        item = self._pop()
        self._extend([item])

    def _extend(self, items: list[Any]) -> None:
        target = self._top()
        if isinstance(target, Opaque):
            target = target.members
        if type(target) is not list:
            _damaged()
        target.extend(items)

    def add_items(self) -> None:
        items, target = self._pop_to_mark(), self._top()
        if isinstance(target, Opaque):
            target.members.extend(items)
            return
        if type(target) is not set:
            _damaged()
        add_to(target, items)

    def frozen_set(self) -> None:
        members: set[Any] = set()
        add_to(members, self._pop_to_mark())
        self._push(members)

    def set_item(self) -> None:
        value, key = self._pop(), self._pop()
        self._set_all([key, value])

    def _set_all(self, items: list[Any]) -> None:
        target = self._top()
        if isinstance(target, Opaque):
            target = target.entries
        if not isinstance(target, dict) or len(items) % 2:
            _damaged()
        for given, value in zip(items[::2], items[1::2], strict=True):
            key = as_key(given)
            if key in target:
                key_twice(key)
            target[key] = value

    def remember(self, key: int) -> None:
        self._memo[key] = self._top()

    def recall(self, key: int) -> None:
        if key not in self._memo:
            _damaged()
        self._push(self._memo[key])

    def global_line(self) -> None:
        module, name = self._pickle.line(), self._pickle.line()
        self._push(as_global(module, name))

    def global_on_stack(self) -> None:
        name, module = self._pop(), self._pop()
        if not isinstance(module, str) or not isinstance(name, str):
            _damaged()
        self._push(as_global(module, name))

    def reduce(self) -> None:
        args, called = self._pop(), self._pop()
        self._call(called, args)

    def new_object(self) -> None:
        """Equivalent to calling the class, of which only the name is known."""
        args, made = self._pop(), self._pop()
        self._call(made, args)

    def new_object_by_names(self) -> None:
        named, args, made = self._pop(), self._pop(), self._pop()
        if not isinstance(named, dict) or not isinstance(args, tuple):
            _damaged()
        self._call(made, (*args, named) if named else args)

    def instance(self) -> None:
        args = tuple(self._pop_to_mark())
        self._call(as_global(self._pickle.line(), self._pickle.line()), args)

    def object_at_mark(self) -> None:
        made, *args = self._pop_to_mark() or [None]
        self._call(made, tuple(args))

    def _call(self, called: Any, args: Any) -> None:
        if is_known(called):
            self._check_given(args)
        self._push(call(called, args, self._limits))

    def _check_given(self, args: Any) -> None:
        """Refuse calls with more arguments in total than bytes read, which means that values are reused.

        Otherwise a few bytes could cause millions of values to be read or copied again and again. The
        arguments of opaque objects are not read.
        """
        if isinstance(args, tuple):
            self._n_given += sum(len(arg) if isinstance(arg, _LONG) else 1 for arg in args)
        if self._n_given > self._pickle.n_read + _LARGEST_STEP:
            raise CheckpointError(
                f"has a pickle that uses the same values over and over: save it again with {SAVE_WEIGHTS}."
            )

    def build(self) -> None:
        """Store the state of an opaque object; drop that of an OrderedDict (module versions)."""
        state, target = self._pop(), self._top()
        if isinstance(target, Opaque):
            target.state = state
        elif type(target) is not Ordered:
            raise CheckpointError(
                f"sets the state of what has none, which is code: save it again with {SAVE_WEIGHTS}."
            )

    def persistent(self) -> None:
        found = as_reference(self._pop())
        if not isinstance(found, Global):
            storage = found.storage if isinstance(found, StorageView) else found
            if self._storages.setdefault(storage.key, storage) != storage:
                raise CheckpointError(
                    f"says two different things about a storage: save it again with {SAVE_WEIGHTS}."
                )
        self._push(found)

    def number_in_text(self) -> None:
        """An integer in protocol 1; 00 and 01 are False and True."""
        line = self._pickle.line().removesuffix("L")
        if len(line) > 2 * MAX_INTEGER_BYTES or not line.removeprefix("-").isdecimal():
            _damaged()
        self._push(line == "01" if line in ("00", "01") else int(line))

    def old_text(self, code: str) -> None:
        """A Python 2 string: text, or bytes if it can't be decoded."""
        content = self._pickle.take(max(self._pickle.number(code), 0))
        try:
            self._push(content.decode())
        except UnicodeDecodeError:
            self._push(content)

    def text(self, code: str) -> None:
        self._push(as_text(self._pickle.take(self._pickle.number(code))))

    def raw(self, code: str) -> None:
        self._push(self._pickle.take(self._pickle.number(code)))


_STEPS: dict[int, Callable[[_Machine], None]] = {
    0x80: _Machine.protocol,
    ord("("): _Machine.mark,
    0x95: _Machine.frame,
    ord("N"): lambda m: m._push(None),
    0x88: lambda m: m._push(True),
    0x89: lambda m: m._push(False),
    ord("J"): lambda m: m._push(m._pickle.number("<i")),
    ord("K"): lambda m: m._push(m._pickle.byte()),
    ord("M"): lambda m: m._push(m._pickle.number("<H")),
    0x8A: _Machine.integer,
    ord("G"): lambda m: m._push(m._pickle.number(">d")),
    ord("X"): lambda m: m.text("<I"),
    0x8C: lambda m: m.text("<B"),
    0x8D: lambda m: m.text("<Q"),
    ord("U"): lambda m: m.old_text("<B"),
    ord("T"): lambda m: m.old_text("<i"),
    ord("I"): _Machine.number_in_text,
    ord("L"): _Machine.number_in_text,
    ord("B"): lambda m: m.raw("<I"),
    ord("C"): lambda m: m.raw("<B"),
    0x8E: lambda m: m.raw("<Q"),
    0x96: lambda m: m.raw("<Q"),
    ord(")"): lambda m: m._push(()),
    ord("t"): lambda m: m._push(tuple(m._pop_to_mark())),
    0x85: lambda m: m.tuple_of(1),
    0x86: lambda m: m.tuple_of(2),
    0x87: lambda m: m.tuple_of(3),
    ord("]"): lambda m: m._push([]),
    ord("a"): _Machine.append,
    ord("e"): lambda m: m._extend(m._pop_to_mark()),
    0x8F: lambda m: m._push(set()),
    0x90: _Machine.add_items,
    0x91: _Machine.frozen_set,
    ord("}"): lambda m: m._push({}),
    ord("s"): _Machine.set_item,
    ord("u"): lambda m: m._set_all(m._pop_to_mark()),
    ord("q"): lambda m: m.remember(m._pickle.byte()),
    ord("r"): lambda m: m.remember(m._pickle.number("<I")),
    0x94: lambda m: m.remember(len(m._memo)),
    ord("h"): lambda m: m.recall(m._pickle.byte()),
    ord("j"): lambda m: m.recall(m._pickle.number("<I")),
    ord("c"): _Machine.global_line,
    0x93: _Machine.global_on_stack,
    ord("0"): _Machine.drop,
    ord("1"): lambda m: m.drop_to_mark(),
    ord("R"): _Machine.reduce,
    0x81: _Machine.new_object,
    0x92: _Machine.new_object_by_names,
    ord("i"): _Machine.instance,
    ord("o"): _Machine.object_at_mark,
    ord("b"): _Machine.build,
    ord("Q"): _Machine.persistent,
}
"""Opcode -> its implementation."""
