"""Programs in RASP (Weiss et al. 2021, arXiv:2106.06981) for Tracr to compile, with their inputs."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tracr.compiler import lib
from tracr.rasp import rasp

N_INPUTS = 8
BRACKETS = ("()()()", "())(()", "((()))", "((()()", "(()())", ")(()()", "()()((", "(())()")
TWO_KINDS = ("(){}()", "()}{()", "({)}{}", "({)}{(", "{()}()", ")({}{}", "{{}}()", "{{}(()", "({})()")
"""Balanced, closed before they open, and left open, in turn."""


@dataclass(frozen=True)
class Program:
    """A program.

    Attributes:
        sop: the output, in RASP.
        vocab: the tokens that may be read.
        longest: most tokens of an input.
        fits: tells whether an input is one that the program is defined for.
        causal: compile to a decoder, which sees earlier tokens only.
        examples: the inputs, if random ones would hardly ever differ in their output.
    """

    sop: Any
    vocab: tuple[Any, ...]
    longest: int
    fits: Callable[[list[Any]], bool] = lambda tokens: True
    causal: bool = False
    examples: tuple[str, ...] = ()

    def inputs(self, seed: int) -> list[list[Any]]:
        """The examples, or random inputs: two lengths, as many of each, all different."""
        if self.examples:
            return list(map(list, self.examples))
        chosen: list[list[Any]] = []
        draw = random.Random(seed)
        for length in (self.longest - 1, self.longest):
            for tokens in self._drawn(draw, length):
                if tokens not in chosen:
                    chosen.append(tokens)
                if len(chosen) == N_INPUTS * (1 if length == self.longest else 0.5):
                    break
        return chosen

    def _drawn(self, draw: random.Random, length: int) -> Iterator[list[Any]]:
        for _ in range(100_000):
            tokens = draw.choices(self.vocab, k=length)
            if self.fits(tokens):
                yield tokens
        raise AssertionError("too few inputs fit")


def programs() -> dict[str, Program]:
    """All programs by name; made again at each call, because Tracr writes into them."""
    letters, numbers = tuple("abcd"), (1, 2, 3, 4, 5)
    tokens = rasp.tokens
    return {
        "hist": Program(lib.make_hist(), letters, 6),
        "double_hist": Program(_same_count(lib.make_hist()), letters, 5),
        "is_unique": Program(rasp.Map(lambda n: n == 1, lib.make_hist()), letters, 6),
        "count_a": Program(lib.make_count(tokens, "a"), letters, 6),
        "count_less_freq": Program(lib.make_count_less_freq(1), letters, 6),
        "frac_prevs": Program(lib.make_frac_prevs(tokens == "a"), letters, 6),
        "running_share": Program(lib.make_frac_prevs(tokens == "b"), letters, 7, causal=True),
        "share_everywhere": Program(_mean_of(tokens == "c"), letters, 7),
        "pair_balance": Program(lib.make_pair_balance(tokens, "(", ")"), tuple("()a"), 7),
        "shuffle_dyck": Program(lib.make_shuffle_dyck(["()"]), tuple("()"), 6, examples=BRACKETS),
        "shuffle_dyck_2": Program(lib.make_shuffle_dyck2(), tuple("(){}"), 6, examples=TWO_KINDS),
        "shift_1": Program(lib.shift_by(1, tokens), letters, 6),
        "shift_2": Program(lib.shift_by(2, tokens), letters, 6),
        "next": Program(lib.shift_by(-1, tokens), letters, 6),
        "swap_neighbours": Program(_looked_up(lambda key, query: key == query ^ 1), letters, 6),
        "first": Program(_looked_up(lambda key, query: key == 0), letters, 6),
        "last": Program(_at_end(tokens), letters, 6),
        "is_repeated": Program(
            rasp.SequenceMap(lambda old, new: old == new, lib.shift_by(1, tokens), tokens), letters, 6
        ),
        "detect_ab": Program(lib.detect_pattern(tokens, "ab"), tuple("ab"), 6),
        "detect_abc": Program(lib.detect_pattern(tokens, "abc"), tuple("abc"), 7, _has("abc")),
        "detect_aba_causal": Program(
            lib.detect_pattern(tokens, "aba"), tuple("ab"), 6, _has("aba"), causal=True
        ),
        "reverse": Program(lib.make_reverse(tokens), letters, 6),
        "rotate": Program(_rotated(), letters, 6),
        "is_palindrome": Program(_mirrored(), letters, 6, lambda given: given[0] == given[-1]),
        "sort_unique": Program(lib.make_sort_unique(tokens, tokens), numbers, 5, _all_differ),
        "sort": Program(lib.make_sort(tokens, tokens, max_seq_len=5, min_key=1), numbers, 5),
        "sort_freq": Program(lib.make_sort_freq(5), letters, 5),
        "largest": Program(_at_end(lib.make_sort_unique(tokens, tokens)), numbers, 5, _all_differ),
        "induction": Program(_induction(), letters, 6, _is_followed_once, causal=True),
        "length": Program(lib.make_length(), letters, 6),
    }


def _same_count(counts: Any) -> Any:
    return rasp.SelectorWidth(rasp.Select(counts, counts, rasp.Comparison.EQ)).named("double_hist")


def _mean_of(bools: Any) -> Any:
    everywhere = rasp.Select(rasp.indices, rasp.indices, rasp.Comparison.TRUE)
    return rasp.numerical(rasp.Aggregate(everywhere, rasp.numerical(bools), default=0)).named("share")


def _looked_up(is_chosen: Callable[[int, int], bool]) -> Any:
    return rasp.Aggregate(rasp.Select(rasp.indices, rasp.indices, is_chosen), rasp.tokens, default=None)


def _at_end(sop: Any) -> Any:
    end = rasp.Select(rasp.indices, lib.make_length() - 1, rasp.Comparison.EQ)
    return rasp.Aggregate(end, sop, default=None).named("at_end")


def _rotated() -> Any:
    # Tracr also asks for the place in an empty input.
    place = rasp.SequenceMap(lambda index, n: (index + 1) % max(n, 1), rasp.indices, lib.make_length())
    return rasp.Aggregate(rasp.Select(rasp.indices, place, rasp.Comparison.EQ), rasp.tokens).named("rotated")


def _mirrored() -> Any:
    """True at positions whose token is that at the same distance from the other end."""
    turned = lib.make_reverse(rasp.tokens)
    return rasp.SequenceMap(lambda one, other: one == other, turned, rasp.tokens).named("mirrored")


def _induction() -> Any:
    """The token that followed the present one the last time (Olsson et al. 2022, arXiv:2209.11895)."""
    # The first token has none before it and counts as its own.
    before = _looked_up(lambda key, query: key == max(query - 1, 0))
    return rasp.Aggregate(rasp.Select(before, rasp.tokens, rasp.Comparison.EQ), rasp.tokens, default=None)


def _all_differ(given: list[Any]) -> bool:
    return len(set(given)) == len(given)


def _is_followed_once(given: list[Any]) -> bool:
    """Some token occurs twice; none more often, next to itself, or at the beginning."""
    times = [given.count(token) for token in given]
    is_apart = all(one != other for one, other in pairwise(given))
    return max(times) == 2 and times[0] == 1 and is_apart


def _has(pattern: str) -> Callable[[list[Any]], bool]:
    return lambda given: pattern in "".join(given)
