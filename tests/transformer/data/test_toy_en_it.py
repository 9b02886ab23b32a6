import subprocess
import sys
from collections import Counter
from random import Random

import pytest

from transformer.data.tasks import TASKS, SentencePair, ToyEnIt
from transformer.data.tasks.pairs import NOTHING, Phrase, SourceWord, TargetWord, idiom, phrase, sentence_pair
from transformer.data.tasks.toy_en_it import italian, noun_phrases, states, verbal
from transformer.data.tasks.toy_en_it.clauses import Clause, Tense, declarative, verb_group
from transformer.data.tasks.toy_en_it.lexicon import NOUNS, OBJECT_CLITICS, VERBS
from transformer.data.tasks.toy_en_it.noun_phrases import NounPhrase
from transformer.text.words import WordTokenizer

N_SAMPLES = 6_000
ENGLISH = WordTokenizer("en", lowercase=True)
ITALIAN = WordTokenizer("it", lowercase=True)


@pytest.fixture(scope="module")
def samples() -> list[SentencePair]:
    rng = Random(11)
    return [ToyEnIt().sample(rng) for _ in range(N_SAMPLES)]


def test_an_english_sentence_has_one_translation(samples: list[SentencePair]) -> None:
    known: dict[tuple[str, ...], tuple[str, ...]] = {}
    for pair in samples:
        assert known.setdefault(pair.source, pair.target) == pair.target, pair.source
    assert len(known) > 0.9 * N_SAMPLES


def test_every_word_is_aligned(samples: list[SentencePair]) -> None:
    for pair in samples:
        assert {i for i, _ in pair.alignment} == set(range(len(pair.source))), pair
        assert {j for _, j in pair.alignment} == set(range(len(pair.target))), pair


def test_replaceable_words_are_aligned_with_nothing_else(samples: list[SentencePair]) -> None:
    for pair in samples:
        for i, j in pair.replaceable:
            assert [(i, j)] == [link for link in pair.alignment if link[0] == i or link[1] == j]


def test_the_tokenizers_give_the_words_back(samples: list[SentencePair]) -> None:
    for pair in samples[:2000]:
        assert tuple(ENGLISH.words(ENGLISH.join(pair.source))) == pair.source
        assert tuple(ITALIAN.words(ITALIAN.join(pair.target))) == pair.target


def test_there_are_words_enough(samples: list[SentencePair]) -> None:
    assert len({word for pair in samples for word in pair.source}) >= 700
    assert len({word for pair in samples for word in pair.target}) >= 1000


def test_sentences_fit_the_models_positions(samples: list[SentencePair]) -> None:
    assert max(max(len(pair.source), len(pair.target)) for pair in samples) <= 60


def test_some_sentences_lack_their_mark(samples: list[SentencePair]) -> None:
    ends = Counter(pair.source[-1] if pair.source[-1] in ".?!" else "" for pair in samples)
    assert all(ends[mark] > 0.005 * N_SAMPLES for mark in (".", "?", "!", ""))
    for pair in samples:
        assert (pair.source[-1] in ".?!") == (pair.target[-1] in ".?!")


GENDERS: tuple[italian.Gender, italian.Gender] = ("m", "f")
NOT_ARTICLES = {"he", "she", "her", "him", "it", "give"}
ARTICLES = {"il", "lo", "l'", "la", "i", "gli", "le", "un", "uno", "una", "un'"}
FUSED = {
    italian.fuse(preposition, article): article
    for preposition in ("a", "da", "di", "in", "su")
    for article in ("il", "lo", "l'", "la", "i", "gli", "le")
}


def test_every_article_suits_the_word_after_it(samples: list[SentencePair]) -> None:
    checked = Counter[str]()
    for pair in samples:
        for j, following in enumerate(pair.target[1:]):
            word = FUSED.get(pair.target[j], pair.target[j])
            from_english = {pair.source[i] for i, to in pair.alignment if to == j}
            if word not in ARTICLES or from_english & NOT_ARTICLES or following == "so":
                continue  # pronouns look the same (non lo so), and so does dai, you give
            possible = {
                form
                for gender in GENDERS
                for form in (
                    italian.definite_article(gender, False, following),
                    italian.definite_article(gender, True, following),
                    italian.indefinite_article(gender, following),
                )
            }
            assert word in possible, (word, following)
            checked[word] += 1
    assert set(checked) == ARTICLES


@pytest.mark.parametrize("plural", [False, True])
def test_every_noun_agrees_with_its_article(plural: bool) -> None:
    articles = {("m", False): {"il", "lo", "l'"}, ("m", True): {"i", "gli"}} | {
        ("f", False): {"la", "l'"}, ("f", True): {"le"},
    }  # fmt: skip
    for noun in NOUNS:
        if plural and not noun.plural:
            continue
        definite = noun_phrases.determine(Random(0), "the", noun, plural=plural, adjectives=False).phrase
        article, word = (word.text for word in definite.target)
        assert article in articles[noun.gender_of(plural=plural), plural]
        assert word == (noun.plurale if plural else noun.italian)


def test_adjectives_agree_wherever_they_stand() -> None:
    rng = Random(3)
    forms = {noun.italian: (noun, False) for noun in NOUNS} | {noun.plurale: (noun, True) for noun in NOUNS}
    seen = Counter[str]()
    for _ in range(4000):
        noun = rng.choice(NOUNS)
        plural = bool(noun.plural) and rng.random() < 0.5
        words = [word.text for word in noun_phrases.nominal(rng, noun, plural=plural).target]
        position = next(k for k, word in enumerate(words) if word in forms)
        gender = noun.gender_of(plural=plural)
        for k, word in enumerate(words):
            if k == position or word == "molto":
                continue
            if word.endswith(("o", "a")) and not plural and word not in ("rosa", "viola", "blu"):
                assert word.endswith("o" if gender == "m" else "a"), words
            if plural:
                assert not word.endswith("o"), words
            seen["before" if k < position else "after"] += 1
    assert min(seen["before"], seen["after"]) > 200


def test_a_noun_that_changes_its_gender() -> None:
    egg = next(noun for noun in NOUNS if noun.english == "egg")
    rng = Random(0)

    def the(plural: bool) -> list[str]:
        words = noun_phrases.determine(rng, "the", egg, plural=plural, adjectives=False).phrase.target
        return [word.text for word in words]

    assert the(False) == ["l'", "uovo"]
    assert the(True) == ["le", "uova"]


@pytest.mark.parametrize(
    "owner, noun, plural, words",
    [
        ("my", "father", False, "mio padre"),
        ("their", "father", False, "il loro padre"),
        ("my", "brother", True, "i miei fratelli"),
        ("her", "friend", False, "il suo amico"),
        ("our", "house", True, "le nostre case"),
    ],
)
def test_possessives_take_an_article_but_not_before_one_relative(
    owner: str, noun: str, plural: bool, words: str
) -> None:
    entry = next(entry for entry in NOUNS if entry.english == noun)
    bare = noun_phrases.determine(Random(0), "bare", entry, plural=plural, adjectives=False)
    np = noun_phrases.possessed(owner, bare, without_article="kin" in entry.tags and not plural)
    assert " ".join(word.text for word in np.phrase.target) == words


def subject(word: str) -> NounPhrase:
    return noun_phrases.pronoun(word)


@pytest.mark.parametrize(
    "english, tense, who, finite, rest",
    [
        ("see", "past", "she", "ha", "visto"),
        ("go", "past", "she", "è", "andata"),
        ("go", "perfect", "we", "siamo", "andati"),
        ("eat", "progressive", "i", "sto", "mangiando"),
        ("buy", "want", "they", "vogliono", "comprare"),
        ("read", "can", "you", "puoi", "leggere"),
        ("clean", "present", "they", "puliscono", ""),
        ("drink", "future", "he", "berrà", ""),
    ],
)
def test_tenses(english: str, tense: Tense, who: str, finite: str, rest: str) -> None:
    verb = next(verb for verb in VERBS if verb.english == english)
    group = verb_group(verb, tense, subject(who), support=False)
    assert group.finite.text == finite
    assert " ".join(word.text for word in group.rest) == rest


def text(tokenizer: WordTokenizer, words: tuple[SourceWord, ...] | tuple[TargetWord, ...]) -> str:
    return tokenizer.join([word.text for word in words])


def test_my_favourite_animal_is_in_it() -> None:
    rng = Random(0)
    made = (declarative(states.favourite(rng)) + phrase(".", ".") for _ in range(60_000))
    wanted = ("my favourite animal is the raccoon.", "il mio animale preferito è il procione.")
    found = next(m for m in made if (text(ENGLISH, m.source), text(ITALIAN, m.target)) == wanted)
    assert links(found) == {
        ("my", "il"),
        ("my", "mio"),
        ("animal", "animale"),
        ("favourite", "preferito"),
        ("is", "è"),
        ("the", "il"),
        ("raccoon", "procione"),
        (".", "."),
    }


def test_yesterday_i_saw_a_raccoon_is_in_it() -> None:
    rng = Random(0)
    see = next(verb for verb in VERBS if verb.english == "see")
    wanted = ("yesterday i saw a raccoon.", "ieri ho visto un procione.")
    raccoons = (noun_phrases.noun_phrase(rng, see.object).phrase for _ in range(20_000))
    raccoon = next(np for np in raccoons if text(ENGLISH, np.source) == "a raccoon")
    i = subject("i")
    clause = Clause(i, verb_group(see, "past", i, support=False), raccoon, tense="past")
    made = (
        verbal.timed(rng, declarative(clause), "past", always=True) + phrase(".", ".") for _ in range(200)
    )
    found = next(m for m in made if (text(ENGLISH, m.source), text(ITALIAN, m.target)) == wanted)
    assert links(found) == {
        ("yesterday", "ieri"), ("i", "ho"), ("saw", "ho"), ("saw", "visto"), ("a", "un"),
        ("raccoon", "procione"), (".", "."),
    }  # fmt: skip


def links(sentence: Phrase) -> set[tuple[str, str]]:
    pair = sentence_pair(sentence)
    return {(pair.source[i], pair.target[j]) for i, j in pair.alignment}


@pytest.mark.parametrize(
    "who, clitic, tense, words",
    [
        ("i", "them", "present", "li aspetto"),
        ("i", "it", "present", "l'aspetto"),
        ("she", "me", "past", "mi ha aspettato"),
        ("she", "her", "past", "l'ha aspettata"),
        ("we", "them", "perfect", "li abbiamo aspettati"),
        ("you", "us", "can", "ci puoi aspettare"),
    ],
)
def test_object_pronouns_go_before_the_verb(who: str, clitic: str, tense: Tense, words: str) -> None:
    wait = next(verb for verb in VERBS if verb.english == "wait for")
    subject_phrase = subject(who)
    group = verb_group(wait, tense, subject_phrase, support=False)
    clause = Clause(subject_phrase, group, clitic=phrase(clitic, OBJECT_CLITICS[clitic]))
    assert text(ITALIAN, declarative(clause).target) == words


def test_negation_and_never_surround_the_verb() -> None:
    go = next(verb for verb in VERBS if verb.english == "go")
    she = subject("she")
    never = Clause(she, verb_group(go, "past", she, support=False), adverb="never")
    assert text(ENGLISH, declarative(never).source) == "she never went"
    assert text(ITALIAN, declarative(never).target) == "non è mai andata"
    not_yet = Clause(she, verb_group(go, "past", she, support=True), negative=True)
    assert text(ENGLISH, declarative(not_yet).source) == "she did not go"
    assert text(ITALIAN, declarative(not_yet).target) == "non è andata"


def test_two_subjects_are_feminine_only_together() -> None:
    rng = Random(0)
    by_name = {noun.english: noun for noun in NOUNS}

    def the(noun: str) -> NounPhrase:
        return noun_phrases.determine(rng, "the", by_name[noun], plural=False, adjectives=False)

    assert noun_phrases.coordinated(the("girl"), the("queen")).gender == "f"
    mixed = noun_phrases.coordinated(the("girl"), the("boy"))
    assert (mixed.gender, mixed.person) == ("m", 5)


def test_phrases_of_fixed_words() -> None:
    morning = idiom("in the morning", "la mattina")
    assert [[word.text for word in target.origins] for target in morning.target] == [
        ["in", "the"],
        ["morning"],
    ]
    assert (NOTHING + morning) == morning


def test_held_out_sentences_are_never_trained_on() -> None:
    task = ToyEnIt()
    held_out = task.held_out(50, seed=1)
    assert len({pair.source for pair in held_out}) == 50
    training = [pair for _, pair in zip(range(3000), task.pairs(1, held_out=False), strict=False)]
    kept = {unmarked(pair.target) for pair in held_out}
    for pair in training:
        assert not ToyEnIt().is_held_out(pair)
        assert unmarked(pair.target) not in kept


def unmarked(words: tuple[str, ...]) -> tuple[str, ...]:
    return words[:-1] if words[-1] in ".?!" else words


def test_the_mark_does_not_decide_what_is_held_out() -> None:
    rng = Random(2)
    for _ in range(500):
        pair = ToyEnIt().sample(rng)
        if pair.target[-1] in ".?!":
            bare = SentencePair(pair.source[:-1], pair.target[:-1], frozenset(), frozenset())
            assert ToyEnIt().is_held_out(bare) == ToyEnIt().is_held_out(pair)


def test_a_seed_makes_the_same_sentences_in_every_process() -> None:
    code = (
        "from random import Random; from transformer.data.tasks import ToyEnIt; rng = Random(7); "
        "print([ToyEnIt().sample(rng).source for _ in range(200)])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_tasks_by_name() -> None:
    assert list(TASKS) == ["toy-en-it", "copy", "reverse", "sort"]
    assert all(task.name == name for name, task in TASKS.items())
    assert isinstance(TASKS["toy-en-it"], ToyEnIt)
