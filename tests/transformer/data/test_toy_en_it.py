"""The tables of the built-in English-Italian task: the annotations of their rows are correct."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import islice
from typing import get_args

import pytest

from transformer.checkpoints.folder import open_saved
from transformer.data.tasks import TASKS, ToyEnIt
from transformer.data.tasks.toy_en_it import Agreement, Feature, MinimalPair, TaggedPair, minimal_pairs
from transformer.text.words import WordTokenizer
from transformer.training.evaluation.tasks import word_coder

N_TRAINED, N_HELD_OUT, N_MINIMAL = 19_000, 1_000, 200
FEATURES: tuple[Feature, ...] = get_args(Feature)
TAGS = set("NOUN VERB AUX ADJ ADV PRON DET ADP NUM PROPN CCONJ SCONJ PART PUNCT INTJ".split())
ARTICLES = {"il": "ms", "lo": "ms", "i": "mp", "gli": "mp", "la": "fs", "le": "fp", "un": "ms", "uno": "ms"}
ARTICLES |= {"una": "fs", "un'": "fs"}
TO_BE = {"sei": "2s", "è": "3s", "siamo": "1p", "ero": "1s", "eri": "2s", "era": "3s", "eravamo": "1p"}
TO_BE |= {"erano": "3p", "sarò": "1s", "sarai": "2s", "sarà": "3s", "saremo": "1p", "saranno": "3p"}


@pytest.fixture(scope="module")
def trained() -> list[TaggedPair]:
    return list(islice(ToyEnIt().pairs(1, held_out=False), N_TRAINED))


@pytest.fixture(scope="module")
def held_out() -> list[TaggedPair]:
    return list(islice(ToyEnIt().pairs(1, held_out=True), N_HELD_OUT))


@pytest.fixture(scope="module")
def minimal() -> list[MinimalPair]:
    return [pair for feature in FEATURES for pair in minimal_pairs(feature)]


@pytest.fixture(scope="module")
def pairs(
    trained: list[TaggedPair], held_out: list[TaggedPair], minimal: list[MinimalPair]
) -> list[TaggedPair]:
    """All pairs of all tables."""
    return trained + held_out + [one for pair in minimal for one in (pair.first, pair.second)]


def unmarked(words: tuple[str, ...]) -> tuple[str, ...]:
    return words[:-1] if words[-1] in ".?!" else words


def test_20_000_different_sentences_have_one_translation_each(
    trained: list[TaggedPair], held_out: list[TaggedPair]
) -> None:
    assert len({pair.source for pair in trained + held_out}) == N_TRAINED + N_HELD_OUT
    everything = islice(ToyEnIt().pairs(1, held_out=False), N_TRAINED, 2 * N_TRAINED)
    assert {pair.source for pair in everything} == {pair.source for pair in trained}


def test_no_italian_sentence_is_both_trained_on_and_held_out(
    trained: list[TaggedPair], held_out: list[TaggedPair]
) -> None:
    """Not even with a different punctuation mark at its end."""
    assert not {unmarked(pair.target) for pair in trained} & {unmarked(pair.target) for pair in held_out}


def test_a_seed_gives_the_same_pairs_and_another_one_others() -> None:
    first, again, other = (list(islice(ToyEnIt().pairs(seed, held_out=False), 20)) for seed in (1, 1, 2))
    assert first == again != other
    assert ToyEnIt().held_out(5, seed=3) == list(islice(ToyEnIt().pairs(3, held_out=True), 5))


def test_the_shipped_model_knows_every_word_and_none_is_rare(
    pairs: list[TaggedPair], trained: list[TaggedPair]
) -> None:
    loaded = open_saved("toy-en-it")
    for coder, side in ((loaded.source, "source"), (loaded.target, "target")):
        words = set(word_coder(coder).vocabulary.to_list()[4:])
        assert {word for pair in pairs for word in getattr(pair, side)} == words
        counts = Counter(word for pair in trained for word in set(getattr(pair, side)))
        assert min(counts[word] for word in words) >= 2


def test_every_word_is_linked_and_replaceable_ones_with_nothing_else(pairs: list[TaggedPair]) -> None:
    for pair in pairs:
        sources, targets = Counter(i for i, _ in pair.alignment), Counter(j for _, j in pair.alignment)
        assert set(sources) == set(range(len(pair.source))), pair
        assert set(targets) == set(range(len(pair.target))), pair
        for i, j in pair.replaceable:
            assert (i, j) in pair.alignment
            assert sources[i] == targets[j] == 1, pair
            assert {pair.source_tags[i], pair.target_tags[j]} <= {"NOUN", "VERB", "ADJ", "PROPN"}


def test_tags_are_parts_of_speech(pairs: list[TaggedPair]) -> None:
    for pair in pairs:
        tagged = zip(pair.source + pair.target, pair.source_tags + pair.target_tags, strict=True)
        for word, tag in tagged:
            assert tag in TAGS
            assert (word in ".?!,") == (tag == "PUNCT"), pair
            assert word not in ("the", "an", "un") or tag == "DET", pair


def test_forms_that_show_gender_number_or_person_have_those_of_the_agreement(
    pairs: list[TaggedPair],
) -> None:
    seen = set()
    for pair in pairs:
        features = {agreed.target: agreed.features for agreed in pair.agreement}
        for j, (word, tag) in enumerate(zip(pair.target, pair.target_tags, strict=True)):
            wanted = ARTICLES.get(word) if tag == "DET" else TO_BE.get(word) if tag == "AUX" else None
            if wanted is not None and j in features:
                assert features[j] == wanted, pair
                seen.add(word)
            assert tag != "DET" or word not in ARTICLES or j in features, pair
    assert seen == set(ARTICLES) | set(TO_BE)


def test_what_agrees_with_a_word_agrees_in_everything(pairs: list[TaggedPair]) -> None:
    """Except words joined by "and": the girl is feminine singular, but the girl and the boy are tall."""
    for pair in pairs:
        together = Counter(agreed.target for agreed in pair.agreement)
        genders, numbers = defaultdict(set), defaultdict(set)
        for agreed in pair.agreement:
            if together[agreed.target] == 1:
                numbers[agreed.source].add(agreed.features[1])
                if agreed.features[0] in "mf":
                    genders[agreed.source].add(agreed.features[0])
            assert pair.source_tags[agreed.source] in ("NOUN", "PROPN", "PRON", "ADJ"), pair
            assert pair.target_tags[agreed.target] in ("DET", "ADJ", "ADP", "PRON", "VERB", "AUX"), pair
        assert all(len(values) == 1 for values in [*genders.values(), *numbers.values()]), pair


@pytest.mark.parametrize("language, side", [("en", "source"), ("it", "target")])
def test_the_tokenizers_give_the_words_back(pairs: list[TaggedPair], language: str, side: str) -> None:
    tokenizer = WordTokenizer(language, lowercase=True)
    for pair in pairs[::10]:
        words = list(getattr(pair, side))
        assert tokenizer.words(tokenizer.join(words)) == words


def test_there_are_200_different_minimal_pairs_of_each_feature(minimal: list[MinimalPair]) -> None:
    assert Counter(pair.feature for pair in minimal) == dict.fromkeys(FEATURES, N_MINIMAL)
    assert len({frozenset((pair.first.source, pair.second.source)) for pair in minimal}) == 2 * N_MINIMAL


def test_minimal_pairs_differ_in_one_source_word_and_what_agrees_with_it(minimal: list[MinimalPair]) -> None:
    for pair in minimal:
        first, second, word = pair.first, pair.second, pair.exchanged
        assert (first.alignment, first.replaceable) == (second.alignment, second.replaceable)
        assert (first.source_tags, first.target_tags) == (second.source_tags, second.target_tags)
        translation = {j for i, j in first.alignment if i == word}
        agreeing = {agreed.target for agreed in first.agreement if agreed.source == word}
        assert set(pair.changed) <= translation | agreeing, pair
        assert agreeing & set(pair.changed), pair


def test_agreement_of_a_minimal_pair_differs_in_its_feature_alone(minimal: list[MinimalPair]) -> None:
    wanted = {"gender": {("m", "f")}, "number": {("s", "p")}}
    for pair in minimal:
        differences = set()
        for one, other in zip(pair.first.agreement, pair.second.agreement, strict=True):
            assert (one.source, one.target) == (other.source, other.target)
            assert one == other or one.source == pair.exchanged, pair
            differences |= set(zip(one.features, other.features, strict=True))
        assert {(one, other) for one, other in differences if one != other} == wanted[pair.feature], pair


@pytest.mark.parametrize(
    "alignment, tags, agreement",
    [
        ({(0, 0), (1, 0)}, ("VERB",), ()),
        ({(0, 0)}, ("VERB", "NOUN"), ()),
        ({(0, 0)}, ("VERB",), (Agreement(0, 1, "3s"),)),
        ({(0, 0)}, ("VERB",), (Agreement(-1, 0, "3s"),)),
    ],
)
def test_a_row_that_names_no_word_is_refused(
    alignment: set[tuple[int, int]], tags: tuple[str, ...], agreement: tuple[Agreement, ...]
) -> None:
    with pytest.raises(ValueError, match="'stop' are not those of its words"):
        TaggedPair(("stop",), ("ferma",), frozenset(alignment), frozenset(), tags, ("VERB",), agreement)


def test_tasks_by_name() -> None:
    assert list(TASKS) == ["toy-en-it", "copy", "reverse", "sort"]
    assert all(task.name == name for name, task in TASKS.items())
    assert isinstance(TASKS["toy-en-it"], ToyEnIt)
