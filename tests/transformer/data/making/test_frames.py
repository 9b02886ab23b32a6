"""Frames are read, or refused with the slot that is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.transformer.data.making.small import AMBER, OWL
from transformer.data.making import tables
from transformer.data.making.frames import FOLDER, Frame, FrameError, read_frames
from transformer.data.tasks.toy_en_it.lexicon import Noun

TABLES = sorted(path.stem for path in FOLDER.glob("*.tsv") if path.stem not in ("everyday", "written"))


def frame(folder: Path, english: str, italian: str) -> Frame:
    path = folder / "frames.tsv"
    path.write_text(f"english\titalian\n{english}\t{italian}\n", encoding="utf-8")
    (read,) = read_frames(path)
    return read


@pytest.mark.parametrize("name", TABLES)
def test_the_tables_can_be_read_and_say_each_thing_once(name: str) -> None:
    frames = read_frames(FOLDER / f"{name}.tsv")
    assert len({one.english for one in frames}) == len(frames) >= 100
    assert all(one.variables for one in frames)


@pytest.mark.parametrize("nouns", [tables.foods(), tables.everyday_nouns()], ids=["foods", "everyday"])
def test_a_table_of_nouns_has_each_once_with_its_gender_and_both_plurals_or_none(
    nouns: Sequence[Noun],
) -> None:
    assert len({noun.english for noun in nouns}) == len(nouns)
    for noun in nouns:
        assert all((noun.english, noun.italian)), noun
        assert noun.gender in ("m", "f", "mf"), noun
        assert bool(noun.plural) == bool(noun.plurale), noun


@pytest.mark.parametrize(
    "english, italian, variables",
    [
        ("{the n} and {a m}", "{il n} e {un m}", "n m"),
        ("{the+a ns}", "{di+i ns+a}", "n a"),
        ("{the n} is {a}", "{il n} è {a|n}", "n a"),
        ("{he|p} is {a j}", "{lui|p} è {un j|p}", "p j"),
        ("{p} and {q} are tired", "{p} {e+q} sono {stanco|pq}", "p q"),
        ("I'm tired", "sono {stanco|x}", "x"),
        ("{at time2}, {small}", "{alle time2}, {small}", "time2 small"),
        ("{v+ing} {the ds}", "{v ger} {i ds}", "v d"),
        ("in {k}, {lang k}", "{in k}, {il+lang k}", "k"),
    ],
)
def test_what_a_frame_names(tmp_path: Path, english: str, italian: str, variables: str) -> None:
    assert frame(tmp_path, english, italian).variables == set(variables.split())


def test_both_sides_must_name_the_same(tmp_path: Path) -> None:
    with pytest.raises(FrameError, match="do not both name m"):
        frame(tmp_path, "{the n} and {the m}", "{il n} e {il n}")


def test_a_slot_without_a_variable_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FrameError, match=r"\{the z\} names no variable"):
        frame(tmp_path, "{the z}", "{il z}")


@pytest.mark.parametrize(
    "english, takes", [("{the n}", True), ("{ns}", False), ("{a n}", False), ("{a+a n}", False)]
)
def test_what_is_not_counted_has_no_plural_and_no_a(tmp_path: Path, english: str, takes: bool) -> None:
    read = frame(tmp_path, english, "{n}{a|n}" if "+a" in english else "{n}")
    assert read.takes({"n": OWL})
    assert read.takes({"n": AMBER}) == takes


def test_a_country_of_many_languages_has_none(tmp_path: Path) -> None:
    read = frame(tmp_path, "{lang k}", "{lang k}")
    taken = {country.english for country in tables.countries() if read.takes({"k": country})}
    assert "Italy" in taken
    assert "Switzerland" not in taken
