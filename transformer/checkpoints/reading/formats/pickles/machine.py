"""A pickle interpreter that runs no code: functions are names, and their results are opaque objects.

`pickletools` of the standard library splits the bytes into operations without executing any. Supported are
the operations of protocol 2, which torch.save writes, those of Python 2, and those that other protocols use
for the same values.

A `pickle.Unpickler` with a harmless `find_class` would not do. It creates and hashes dictionaries, sets and
tuples itself, so a key of a few hundred bytes can keep it busy forever (a tuple that contains the same tuple
twice, and so on), and a key of a million nested tuples crashes the process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from pickletools import OpcodeInfo, genops
from typing import Any, NoReturn

from transformer.checkpoints.reading.formats.pickles.calls import as_reference, call, is_known
from transformer.checkpoints.reading.formats.pickles.globals import as_global
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

DAMAGED = "has a damaged pickle: copy or download it again."
MAX_STACK = 1_000_000
MAX_MEMO = 4_000_000
MAX_INTEGER_BYTES = 32
_LARGEST_STEP = 1_000
"""How far the total number of arguments may exceed the number of bytes read."""
_PROTOCOLS = range(2, 6)
_FRAME_BYTES = 9
"""Length of the operation that begins a frame."""
_LONG = (str, bytes, tuple, list)


class EndsEarlyError(CheckpointError):
    """A pickle that ends too early."""


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
        EndsEarlyError: when the pickle is longer than `content`.
        CheckpointError: when unpickling would run a program, or the pickle is damaged.
    """
    return _Machine(content, limits, start).run()


def _operations(content: bytes, start: int) -> Iterator[tuple[OpcodeInfo, Any, int | None]]:
    """The operations of a pickle, their arguments and offsets."""
    stream = BytesIO(content)
    stream.seek(start)
    try:
        yield from genops(stream)
    except UnicodeDecodeError as error:
        raise _no_text() from error
    except ValueError as error:
        kind = EndsEarlyError if stream.tell() == len(content) else CheckpointError
        raise kind(DAMAGED) from error


def _no_text() -> CheckpointError:
    return CheckpointError("has text in its pickle that is no UTF-8: save it again.")


def _damaged() -> NoReturn:
    raise CheckpointError(DAMAGED)


class _Machine:
    def __init__(self, content: bytes, limits: Limits, start: int) -> None:
        self._content = content
        self._limits = limits
        self._start = self._at = start
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}
        self._storages: dict[str, Storage] = {}
        self._n_given = 0

    def run(self) -> Unpickled:
        for operation, argument, at in _operations(self._content, self._start):
            self._at = at or 0
            if operation.name == "STOP":
                break
            step = _STEPS.get(operation.name)
            if step is None:
                raise CheckpointError(
                    f"has a pickle with the operation {operation.code.encode('latin-1')!r}, which no weights "
                    f"need: save it again with {SAVE_WEIGHTS}."
                )
            step(self, argument)
            if len(self._stack) > MAX_STACK or len(self._marks) > MAX_STACK or len(self._memo) > MAX_MEMO:
                raise CheckpointError(
                    f"has a pickle with too many values at once: save it again with {SAVE_WEIGHTS}."
                )
        if len(self._stack) != 1 or self._marks:
            _damaged()
        return Unpickled(self._stack[0], self._storages, self._at + 1)

    def push(self, value: Any) -> None:
        self._stack.append(value)

    def _top(self) -> Any:
        if len(self._stack) <= (self._marks[-1] if self._marks else 0):
            _damaged()
        return self._stack[-1]

    def pop(self, n_values: int) -> list[Any]:
        """Take the topmost values, in the order in which they were pushed."""
        start = len(self._stack) - n_values
        if start < (self._marks[-1] if self._marks else 0):
            _damaged()
        return self._take(start)

    def pop_to_mark(self) -> list[Any]:
        if not self._marks:
            _damaged()
        return self._take(self._marks.pop())

    def _take(self, start: int) -> list[Any]:
        values = self._stack[start:]
        del self._stack[start:]
        return values

    def protocol(self, number: int) -> None:
        """The first opcode of a pickle, absent in protocol 1."""
        if number not in _PROTOCOLS:
            raise CheckpointError(
                "has a pickle of another protocol than torch.save writes (2): save it again with "
                f"{SAVE_WEIGHTS}."
            )

    def mark(self) -> None:
        self._marks.append(len(self._stack))

    def frame(self, length: int) -> None:
        if length > len(self._content) - self._at - _FRAME_BYTES:
            _damaged()

    def integer(self, number: int) -> None:
        n_bytes = number.bit_length() // 8 + 1
        if n_bytes > MAX_INTEGER_BYTES:
            raise CheckpointError(
                f"has a whole number of {n_bytes} bytes, where {MAX_INTEGER_BYTES} are "
                f"allowed: save it again with {SAVE_WEIGHTS}."
            )
        self.push(number)

    def extend(self, items: list[Any], kind: Any) -> None:
        """Add items to a list or a set, whichever the operation is for."""
        target = self._top()
        if isinstance(target, Opaque):
            target.members.extend(items)
        elif type(target) is not kind:
            _damaged()
        elif kind is set:
            add_to(target, items)
        else:
            target.extend(items)

    def set_items(self, items: list[Any]) -> None:
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

    def remember(self, key: int | None) -> None:
        self._memo[len(self._memo) if key is None else key] = self._top()

    def recall(self, key: int) -> None:
        if key not in self._memo:
            _damaged()
        self.push(self._memo[key])

    def global_on_stack(self) -> None:
        module, name = self.pop(2)
        if not isinstance(module, str) or not isinstance(name, str):
            _damaged()
        self.push(as_global(module, name))

    def call_by_names(self) -> None:
        made, args, named = self.pop(3)
        if not isinstance(named, dict) or not isinstance(args, tuple):
            _damaged()
        self.call(made, (*args, named) if named else args)

    def call_all(self) -> None:
        made, *args = self.pop_to_mark() or [None]
        self.call(made, tuple(args))

    def call(self, called: Any, args: Any) -> None:
        if is_known(called):
            self._check_given(args)
        self.push(call(called, args, self._limits))

    def _check_given(self, args: Any) -> None:
        """Refuse calls with more arguments in total than bytes read, which means that values are reused.

        Otherwise a few bytes could cause millions of values to be read or copied again and again. The
        arguments of opaque objects are not read.
        """
        if isinstance(args, tuple):
            self._n_given += sum(len(arg) if isinstance(arg, _LONG) else 1 for arg in args)
        if self._n_given > self._at - self._start + _LARGEST_STEP:
            raise CheckpointError(
                f"has a pickle that uses the same values over and over: save it again with {SAVE_WEIGHTS}."
            )

    def build(self) -> None:
        """Store the state of an opaque object; drop that of an OrderedDict (module versions)."""
        state, target = self.pop(1)[0], self._top()
        if isinstance(target, Opaque):
            target.state = state
        elif type(target) is not Ordered:
            raise CheckpointError(
                f"sets the state of what has none, which is code: save it again with {SAVE_WEIGHTS}."
            )

    def persistent(self) -> None:
        found = as_reference(*self.pop(1))
        if not isinstance(found, Global):
            storage = found.storage if isinstance(found, StorageView) else found
            if self._storages.setdefault(storage.key, storage) != storage:
                raise CheckpointError(
                    f"says two different things about a storage: save it again with {SAVE_WEIGHTS}."
                )
        self.push(found)

    def text(self, text: str) -> None:
        """Refuse lone surrogates, which `pickletools` lets pass."""
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise _no_text() from error
        self.push(text)

    def old_text(self, characters: str) -> None:
        """A Python 2 string, of which each character is a byte: text, or bytes if it can't be decoded."""
        content = characters.encode("latin-1")
        try:
            self.push(content.decode())
        except UnicodeDecodeError:
            self.push(content)


def _global(named: str) -> Global:
    module, _, name = named.partition(" ")
    return as_global(module, name)


_STEPS: dict[str, Callable[[_Machine, Any], object]] = {
    **dict.fromkeys(
        "BININT BININT1 BININT2 BINFLOAT SHORT_BINBYTES BINBYTES BINBYTES8".split(), _Machine.push
    ),
    **dict.fromkeys("INT LONG LONG1".split(), _Machine.integer),
    **dict.fromkeys("SHORT_BINUNICODE BINUNICODE BINUNICODE8".split(), _Machine.text),
    **dict.fromkeys("SHORT_BINSTRING BINSTRING".split(), _Machine.old_text),
    **dict.fromkeys("BINPUT LONG_BINPUT MEMOIZE".split(), _Machine.remember),
    **dict.fromkeys("BINGET LONG_BINGET".split(), _Machine.recall),
    # A class is called like a function: of both only the name is known.
    **dict.fromkeys("REDUCE NEWOBJ".split(), lambda m, _: m.call(*m.pop(2))),
    "PROTO": _Machine.protocol,
    "FRAME": _Machine.frame,
    "NONE": _Machine.push,
    "BYTEARRAY8": lambda m, content: m.push(bytes(content)),
    "GLOBAL": lambda m, named: m.push(_global(named)),
    "INST": lambda m, named: m.call(_global(named), tuple(m.pop_to_mark())),
    "MARK": lambda m, _: m.mark(),
    "NEWTRUE": lambda m, _: m.push(True),
    "NEWFALSE": lambda m, _: m.push(False),
    "EMPTY_TUPLE": lambda m, _: m.push(()),
    "EMPTY_LIST": lambda m, _: m.push([]),
    "EMPTY_DICT": lambda m, _: m.push({}),
    "EMPTY_SET": lambda m, _: m.push(set()),
    "TUPLE": lambda m, _: m.push(tuple(m.pop_to_mark())),
    "TUPLE1": lambda m, _: m.push(tuple(m.pop(1))),
    "TUPLE2": lambda m, _: m.push(tuple(m.pop(2))),
    "TUPLE3": lambda m, _: m.push(tuple(m.pop(3))),
    "FROZENSET": lambda m, _: m.push(add_to(set(), m.pop_to_mark())),
    "APPEND": lambda m, _: m.extend(m.pop(1), list),
    "APPENDS": lambda m, _: m.extend(m.pop_to_mark(), list),
    "ADDITEMS": lambda m, _: m.extend(m.pop_to_mark(), set),
    "SETITEM": lambda m, _: m.set_items(m.pop(2)),
    "SETITEMS": lambda m, _: m.set_items(m.pop_to_mark()),
    "STACK_GLOBAL": lambda m, _: m.global_on_stack(),
    "NEWOBJ_EX": lambda m, _: m.call_by_names(),
    "OBJ": lambda m, _: m.call_all(),
    "POP": lambda m, _: m.pop(1),
    "POP_MARK": lambda m, _: m.pop_to_mark(),
    "BUILD": lambda m, _: m.build(),
    "BINPERSID": lambda m, _: m.persistent(),
}
"""Name of an operation in `pickletools` -> its implementation."""
