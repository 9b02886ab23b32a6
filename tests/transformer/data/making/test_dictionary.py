"""Which words of a dictionary are taken, rule by rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.transformer.data.making.small import libraries, write_dictionary
from transformer.data.making.dictionary import (
    CLOSE,
    ENGLISH,
    ITALIAN,
    KNOWN,
    MOST_APART,
    MOST_USUAL,
    RAREST,
    Adjective,
    DictionaryError,
    Rule,
    Verb,
    Words,
    count_words,
    read_words,
)
from transformer.data.tasks.toy_en_it.lexicon import Noun

OWL = "owl|n|a bird|gufo|m"
OWL_EXPLAINED = "gufo|m|owl"


def words(
    folder: Path,
    given: Sequence[str],
    explained: Sequence[str],
    known: Mapping[str, int] | None = None,
    frequencies: Mapping[str, float] | None = None,
) -> Words:
    return read_words(write_dictionary(folder, given, explained), known or {}, libraries(frequencies))


def translations(found: Words) -> dict[str, str]:
    nouns = {noun.english: noun.italian for noun in found.nouns}
    adjectives = {adjective.english: adjective.italian for adjective in found.adjectives}
    return nouns | adjectives | {verb.english: verb.italian for verb in found.verbs}


def test_a_noun_with_its_plurals_and_gender(tmp_path: Path) -> None:
    found = words(tmp_path, [OWL], [OWL_EXPLAINED])
    assert list(found.nouns) == [Noun("owl", "owls", "gufo", "gufi", "m", frozenset())]


def test_a_noun_that_is_not_counted_has_no_plural(tmp_path: Path) -> None:
    found = words(tmp_path, ["loneliness|n|being alone|solitudine|f"], ["solitudine|f|loneliness"])
    assert [(noun.plural, noun.plurale) for noun in found.nouns] == [("", "")]


def test_an_everyday_noun_comes_before_what_the_dictionary_has(tmp_path: Path) -> None:
    wanted = Noun("owl", "owls", "civetta", "civette", "f", frozenset())
    folder = write_dictionary(tmp_path, [OWL, "loneliness|n|being alone|solitudine|f"], [OWL_EXPLAINED])
    found = read_words(folder, {}, libraries(), [wanted])
    assert found.nouns == {wanted: MOST_USUAL}
    assert found.words_left_out == {Rule.EVERYDAY: 1, Rule.ONE_DIRECTION: 1}


def test_verbs_and_adjectives(tmp_path: Path) -> None:
    found = words(
        tmp_path,
        ["refine|v|to purify|raffinare|", "run out|v|to end|terminare|", "hollow|adj|empty|cavo|"],
        ["raffinare|vt|To refine (sugar)", "terminare|vi|to run out, to end", "cavo|adj|hollow; empty"],
        frequencies={"run out": 2.0},
    )
    assert list(found.verbs) == [
        Verb("refine", "refines", "refineing", "raffinare", transitive=True),
        Verb("run out", "runs out", "runing out", "terminare", transitive=False),
    ]
    assert list(found.adjectives) == [Adjective("hollow", "cavo")]
    assert found.verbs_by(transitive=False) == {list(found.verbs)[1]: 3.0}, "rarer"
    assert found.verbs_by(transitive=True) == {next(iter(found.verbs)): MOST_USUAL}


@pytest.mark.parametrize(
    "gloss", ["An owl.", "bird of prey, owl", "eagle or owl", "owl (bird)", "hawk; the owl"]
)
def test_an_entry_explains_by_any_of_its_words(tmp_path: Path, gloss: str) -> None:
    assert translations(words(tmp_path, [OWL], [f"gufo|m|{gloss}"])) == {"owl": "gufo"}


@pytest.mark.parametrize(
    "line, rule",
    [
        ("owl|n|a fool (derogatory)|gufo|m", Rule.LABEL),
        ("owl|n|slang: a nightly person|gufo|m", Rule.LABEL),
        ("whore|n|who is paid|gufo|m", Rule.LABEL),
        ("Owl|n|a bird|gufo|m", Rule.FORM),
        ("owl|n|a bird|gufo reale|m", Rule.FORM),
        ("big old owl|n|a bird|gufo|m", Rule.FORM),
        ("iodine|n|an element|iodio|m", Rule.FORM),
        ("owl|n|a bird|gufo|", Rule.GENDER),
        ("owl|n|birds|gufi|m-p", Rule.GENDER),
        ("action|n|a deed|azione|m", Rule.GENDER),
    ],
)
def test_a_translation_that_is_left_out(tmp_path: Path, line: str, rule: Rule) -> None:
    explained = [f"{line.split('|')[3]}|m|{line.split('|')[0]}"]
    found = words(tmp_path, [line, "very|adv|much|molto|"], explained)
    assert translations(found) == {}
    assert found.translations_left_out == {rule: 1}


@pytest.mark.parametrize(
    "explained", [[], ["gufo|m|a fool"], ["gufo|f|owl"], ["gufo|m|owl (vulgar)"], ["civetta|f|owl"]]
)
def test_both_directions_must_have_it(tmp_path: Path, explained: list[str]) -> None:
    found = words(tmp_path, [OWL], explained)
    assert translations(found) == {}
    assert found.words_left_out == {Rule.ONE_DIRECTION: 1}


def test_what_the_corpus_has_often_is_left_out(tmp_path: Path) -> None:
    assert words(tmp_path, [OWL], [OWL_EXPLAINED], {"owl": KNOWN}).words_left_out == {Rule.KNOWN: 1}
    assert translations(words(tmp_path, [OWL], [OWL_EXPLAINED], {"owl": KNOWN - 1})) == {"owl": "gufo"}


def test_two_words_are_not_known_for_one_of_them(tmp_path: Path) -> None:
    given, explained = ["barn owl|n|a bird|barbagianni|m"], ["barbagianni|m|barn owl"]
    assert translations(words(tmp_path, given, explained, {"owl": 99})) == {"barn owl": "barbagianni"}


def test_rare_words_are_left_out(tmp_path: Path) -> None:
    found = words(tmp_path, [OWL], [OWL_EXPLAINED], frequencies={"owl": RAREST - 0.1, "gufo": RAREST})
    assert found.words_left_out == {Rule.RARE: 1}


@pytest.mark.parametrize("frequency", [3 + MOST_APART + 0.1, 3 - MOST_APART - 0.1])
def test_a_rare_word_for_a_common_one_is_left_out(tmp_path: Path, frequency: float) -> None:
    found = words(tmp_path, [OWL], [OWL_EXPLAINED], frequencies={"gufo": frequency})
    assert found.words_left_out == {Rule.APART: 1}


TWO = [OWL, "owl|n|a bird|civetta|f"]
TWO_EXPLAINED = [OWL_EXPLAINED, "civetta|f|owl"]


def test_of_two_translations_the_more_frequent_one(tmp_path: Path) -> None:
    found = words(tmp_path, TWO, TWO_EXPLAINED, frequencies={"civetta": 3.1 + CLOSE})
    assert translations(found) == {"owl": "civetta"}


def test_of_two_translations_the_one_of_more_senses(tmp_path: Path) -> None:
    given = [*TWO, "owl|n|another bird|gufo|m"]
    assert translations(words(tmp_path, given, TWO_EXPLAINED, frequencies={"civetta": 4})) == {"owl": "gufo"}


def test_no_translation_is_taken_by_chance(tmp_path: Path) -> None:
    found = words(tmp_path, TWO, TWO_EXPLAINED, frequencies={"civetta": 2.9 + CLOSE})
    assert found.words_left_out == {Rule.CHANCE: 1}


@pytest.mark.parametrize(
    "line, explained",
    [
        ("undo|v|to reverse|disfare|", "disfare|vt|to undo"),
        ("faint|v|to swoon|svenire|", "svenire|vi|to faint"),
        ("pink|adj|a colour|rosa|", "rosa|adj|pink"),
        ("dark|adj|without light|buio|", "buio|adj|dark"),
    ],
)
def test_what_no_rule_inflects_is_left_out(tmp_path: Path, line: str, explained: str) -> None:
    assert words(tmp_path, [line], [explained]).words_left_out == {Rule.IRREGULAR: 1}


def test_the_more_usual_a_word_the_more_often_it_is_used(tmp_path: Path) -> None:
    frequencies = {"owl": 2.0, "auk": RAREST, "gufo": 3, "alca": 2}
    given, explained = [OWL, "auk|n|a bird|alca|f"], [OWL_EXPLAINED, "alca|f|auk"]
    found = words(tmp_path, given, explained, frequencies=frequencies)
    assert {noun.english: weight for noun, weight in found.nouns.items()} == {"owl": 3.0, "auk": 1.0}


def test_words_are_counted_once_in_a_sentence_and_sentences_once() -> None:
    assert count_words(["An owl saw an owl.", "An owl saw an owl.", "OWLS!"]) == {
        "an": 1, "owl": 1, "saw": 1, "owls": 1,
    }  # fmt: skip


def test_a_folder_without_a_dictionary_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DictionaryError, match=rf"no file .*{ITALIAN}: name the folder that has {ENGLISH}"):
        read_words(tmp_path, {}, libraries())


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    write_dictionary(tmp_path, [OWL], [OWL_EXPLAINED])
    whole = (tmp_path / ENGLISH).read_bytes()
    (tmp_path / ENGLISH).write_bytes(whole[:-9])
    with pytest.raises(DictionaryError, match=rf"{ENGLISH} can't be read .*: fetch it again"):
        read_words(tmp_path, {}, libraries())
