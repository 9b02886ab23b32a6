"""The list of mistakes: the description of each, and which one a seed draws."""

from __future__ import annotations

import ast
import re

import pytest
import torch

from tests.pages.lab.mistakes.cases import TRAINED, model
from tests.support.kinds import KINDS
from viz.pages.lab.mistakes import GROUPS, MISTAKES, Level
from viz.pages.lab.mistakes.drawing import drawn, guessable

LEVELS: tuple[Level, ...] = (1, 2, 3)


@pytest.mark.parametrize("name", MISTAKES)
def test_what_is_told_of_a_mistake_is_whole(name: str) -> None:
    mistake = MISTAKES[name]
    assert mistake.name == name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
    assert mistake.title
    assert not mistake.title.endswith(".")
    assert mistake.what.endswith(".")
    assert mistake.wrong != mistake.right
    for code in (mistake.wrong, mistake.right, mistake.find):
        ast.parse(code)
        assert max(map(len, code.splitlines())) <= 64, "it stands in half a page"
    assert "assert " in mistake.find
    assert mistake.seen


def test_where_they_were_seen_can_be_opened() -> None:
    for seen in (seen for mistake in MISTAKES.values() for seen in mistake.seen):
        assert re.fullmatch(r"[\w.-]+/[\w.-]+", seen.project)
        assert seen.url == f"https://github.com/{seen.project}/issues/{seen.number}"
        assert seen.number.isdigit()
        assert seen.said == "" or seen.said.endswith(".")


def test_groups_follow_each_other_and_none_is_empty() -> None:
    groups = [mistake.group for mistake in MISTAKES.values()]
    assert list(dict.fromkeys(groups)) == list(GROUPS)
    assert groups == sorted(groups, key=GROUPS.index)


def test_titles_tell_them_apart() -> None:
    assert len({mistake.title for mistake in MISTAKES.values()}) == len(MISTAKES) >= 25


@pytest.mark.parametrize("kind", [*KINDS, *TRAINED])
def test_a_seed_draws_the_same_mistake_each_time(kind: str) -> None:
    """Other random draws don't affect it, and it does not advance torch's generator."""
    config = model(kind).model.config
    before = [drawn(seed, level, config) for level in LEVELS for seed in range(9)]
    state = torch.get_rng_state()
    assert [drawn(seed, level, config) for level in LEVELS for seed in range(9)] == before
    assert torch.equal(torch.get_rng_state(), state)
    assert all(mistake in guessable(config) for mistake in before)


@pytest.mark.parametrize("level", LEVELS)
def test_seeds_that_follow_each_other_draw_all_of_a_level(level: Level) -> None:
    config = model("toy-en-it").model.config
    offered = [mistake for mistake in guessable(config) if mistake.level == level]
    assert len(offered) >= 3
    for first in (0, len(offered)):
        seeds = range(first, first + len(offered))
        names = {mistake.name for seed in seeds if (mistake := drawn(seed, level, config))}
        assert names == {mistake.name for mistake in offered}


def test_a_reading_is_never_drawn() -> None:
    """The patient's numbers would be sound, so there would be nothing to find."""
    for kind in (*KINDS, *TRAINED):
        assert all(mistake.group != "reading" for mistake in guessable(model(kind).model.config))


def test_a_level_of_one_mistake_draws_from_all() -> None:
    """A model without a decoder has only one mistake of level 1, so there would be nothing to guess."""
    config = model("masked").model.config
    assert len([mistake for mistake in guessable(config) if mistake.level == 1]) == 1
    assert len({mistake.name for seed in range(9) if (mistake := drawn(seed, 1, config))}) > 5
