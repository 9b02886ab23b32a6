"""The source statements that computed a number, found in the syntax tree so that they stay up to date."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from transformer.files import CODE


@dataclass(frozen=True)
class Lines:
    """A statement, and the function around it.

    Attributes:
        file: relative to the project's folder.
        first, last: line numbers of the statement in the file, from 1.
        around: first and last line number of the function.
        function: its qualified name.
        source: source of the whole function, as in the file.
    """

    file: str
    first: int
    last: int
    around: tuple[int, int]
    function: str
    source: str

    @property
    def text(self) -> str:
        """The statement's lines, verbatim."""
        lines = self.source.split("\n")
        return "\n".join(lines[self.first - self.around[0] : self.last - self.around[0] + 1])

    @property
    def place(self) -> str:
        """Its location, as "file:first-last"."""
        return f"{self.file}:{self.first}" + (f"-{self.last}" if self.last > self.first else "")


@lru_cache(maxsize=256)
def tapping(function: Callable[..., Any], name: str) -> Lines:
    """Find the statement that passes a tensor of this name to the tap."""
    return _statement(function, lambda node: _is_tap(node, name), f"tap({name!r})")


@lru_cache(maxsize=256)
def calling(function: Callable[..., Any], name: str) -> Lines:
    """Find the first statement that calls this name."""
    return _statement(function, lambda node: _is_call(node, name), f"{name}()")


@lru_cache(maxsize=256)
def assigning(function: Callable[..., Any], name: str) -> Lines:
    """Find the first statement that assigns a variable of this name."""
    return _statement(function, lambda node: _is_assignment(node, name), f"{name} =")


@lru_cache(maxsize=256)
def returning(function: Callable[..., Any], name: str) -> Lines:
    """Find the first statement that returns the result of calling this name."""

    def is_it(node: ast.AST) -> bool:
        return isinstance(node, ast.Return) and node.value is not None and _is_call(node.value, name)

    return _statement(function, is_it, f"return {name}()")


@lru_cache(maxsize=256)
def returning_sum(function: Callable[..., Any]) -> Lines:
    """Find the first statement that returns a sum."""

    def is_it(node: ast.AST) -> bool:
        return isinstance(node, ast.Return) and isinstance(node.value, ast.BinOp)

    return _statement(function, is_it, "return ... + ...")


@lru_cache(maxsize=256)
def whole(function: Callable[..., Any]) -> Lines:
    """All lines of a function."""
    lines = _function(function)
    return Lines(lines.file, *lines.around, lines.around, lines.function, lines.source)


def _is_tap(node: ast.AST, name: str) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "tap"
        and bool(node.args)
        and isinstance(node.args[0], ast.Constant)
        and node.args[0].value == name
    )


def _is_call(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == name


def _is_assignment(node: ast.AST, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else []
    return any(ast.unparse(target) == name for target in targets)


def _statement(function: Callable[..., Any], is_it: Callable[[ast.AST], bool], what: str) -> Lines:
    """The first of the innermost statements that match."""
    around = _function(function)
    tree = ast.parse(textwrap.dedent(around.source)).body[0]
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and node is not tree and any(map(is_it, _own(node)))
    ]
    if not found:
        raise LookupError(f"{around.function} has no statement with {what}")
    statement = min(found, key=lambda node: node.lineno)
    first = around.around[0] + statement.lineno - 1
    last = around.around[0] + (statement.end_lineno or statement.lineno) - 1
    return Lines(around.file, first, last, around.around, around.function, around.source)


def _own(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement, without nested statements."""
    yield statement
    waiting = list(ast.iter_child_nodes(statement))
    while waiting:
        node = waiting.pop()
        if not isinstance(node, ast.stmt):
            yield node
            waiting.extend(ast.iter_child_nodes(node))


@lru_cache(maxsize=64)
def _function(function: Callable[..., Any]) -> Lines:
    plain = inspect.unwrap(function)
    file = Path(inspect.getfile(plain)).resolve()
    shown = file.relative_to(CODE) if file.is_relative_to(CODE) else Path(file.name)
    lines, first = inspect.getsourcelines(plain)
    around = first, first + len(lines) - 1
    source = "".join(lines).rstrip("\n")
    return Lines(shown.as_posix(), *around, around, plain.__qualname__, source)
