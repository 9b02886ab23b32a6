"""Frames are filled with words that agree, on both sides."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from tests.transformer.data.making.small import AMBER, ANT, ISLAND, KNAPSACK, OWL, TREE, UNCLE, WORDS
from tests.transformer.data.making.test_frames import TABLES, frame
from transformer.data.making.dictionary import Adjective, Verb
from transformer.data.making.filling import Filler, said_in_english, said_in_italian
from transformer.data.making.frames import FOLDER, FrameError, Speaker, Value, read_frames
from transformer.data.making.names import NamedPerson
from transformer.data.making.quantities import Quantity
from transformer.data.making.tables import City, Company, Country, FirstName, Job

ANNA, MARK = NamedPerson(FirstName("Anna", "f"), "Rossi"), NamedPerson(FirstName("Mark", "m"), "Bianchi")
EVA = NamedPerson(FirstName("Eva", "f"), "Neri")
HOLLOW, FRAGILE = Adjective("hollow", "cavo"), Adjective("fragile", "fragile")
POLISH = Verb("polish", "polishes", "polishing", "lucidare", transitive=True)
WITHER = Verb("wither", "withers", "withering", "appassire", transitive=False)
ACTOR = Job("actor", "attore", "attrice")
STUDENT = Job("student", "studente", "studentessa")
ATHENS, ROME = City("Athens", "Atene"), City("Rome", "Roma")
STATES = Country(
    "the United States", "gli Stati Uniti", "negli Stati Uniti", "dagli Stati Uniti",
    "American", "americano", "English", "inglese",
)  # fmt: skip
SPAIN = Country(
    "Spain", "la Spagna", "in Spagna", "dalla Spagna", "Spanish", "spagnolo", "Spanish", "spagnolo"
)


@pytest.mark.parametrize("name", TABLES)
def test_every_frame_can_be_filled(name: str) -> None:
    """Without braces, doubled spaces, unfused prepositions or articles that should have been elided."""
    filler = Filler(WORDS, Random(5))
    for one in read_frames(FOLDER / f"{name}.tsv"):
        for _ in range(2):
            pair = filler.fill(one)
            assert pair is not None, one
            for side in pair:
                assert not re.search(r"[{}|]|  | [.,;?]", side), side
                assert not next(character for character in side if character.isalnum()).islower(), side
            assert not re.search(r"\b(?:di|a|da|in|su) (?:il|lo|gli)\b|\b(?:un|l|quell)' ", pair[1]), pair[1]


def said(folder: Path, english: str, italian: str, **values: Value) -> tuple[str, str]:
    read = frame(folder, english, italian)
    return said_in_english(read, values), said_in_italian(read, values)


def italian(folder: Path, slots: str, **values: Value) -> str:
    """What an Italian side becomes, whose English side names the same variables."""
    names = "".join(f"{{{name}}}" for name in values if name != "x")
    return said_in_italian(frame(folder, names, slots), values)


@pytest.mark.parametrize(
    "slots, owl, ant, uncle, island",
    [
        ("{il n}", "Il gufo", "La formica", "Lo zio", "L'isola"),
        ("{i ns}", "I gufi", "Le formiche", "Gli zii", "Le isole"),
        ("{un n}", "Un gufo", "Una formica", "Uno zio", "Un'isola"),
        ("{dei ns}", "Dei gufi", "Delle formiche", "Degli zii", "Delle isole"),
        ("{quel n}", "Quel gufo", "Quella formica", "Quello zio", "Quell'isola"),
        ("{quei ns}", "Quei gufi", "Quelle formiche", "Quegli zii", "Quelle isole"),
        ("{questo n}", "Questo gufo", "Questa formica", "Questo zio", "Questa isola"),
        ("{mio n}", "Il mio gufo", "La mia formica", "Il mio zio", "La mia isola"),
        ("{nostri ns}", "I nostri gufi", "Le nostre formiche", "I nostri zii", "Le nostre isole"),
        ("{di+il n}", "Del gufo", "Della formica", "Dello zio", "Dell'isola"),
        ("{su+i ns}", "Sui gufi", "Sulle formiche", "Sugli zii", "Sulle isole"),
        ("{n} {nuovo|n}", "Gufo nuovo", "Formica nuova", "Zio nuovo", "Isola nuova"),
        ("{lo|n} vedo {n}", "Lo vedo gufo", "La vedo formica", "Lo vedo zio", "La vedo isola"),
        ("{lo|n} ho {n}", "L'ho gufo", "L'ho formica", "L'ho zio", "L'ho isola"),
        ("{lo|ns} ho {n}", "Li ho gufo", "Le ho formica", "Li ho zio", "Le ho isola"),
    ],
)
def test_what_agrees_with_nouns(
    tmp_path: Path, slots: str, owl: str, ant: str, uncle: str, island: str
) -> None:
    said = [italian(tmp_path, slots, n=noun) for noun in (OWL, ANT, UNCLE, ISLAND)]
    assert said == [owl, ant, uncle, island]


def test_before_a_masculine_vowel_un_is_not_elided(tmp_path: Path) -> None:
    assert italian(tmp_path, "{un n}, {quel n}, {quei ns}", n=TREE) == (
        "Un albero, quell'albero, quegli alberi"
    )
    assert italian(tmp_path, "{un n}, {lo|n} ho", n=KNAPSACK) == "Uno zaino, l'ho"


def test_adjectives_agree_beside_the_noun_and_alone(tmp_path: Path) -> None:
    slots = "{di+il n+a}, {i ns+a}, {a|n}, {a|ns}"
    assert italian(tmp_path, slots, n=ANT, a=HOLLOW) == "Della formica cava, le formiche cave, cava, cave"
    assert italian(tmp_path, slots, n=OWL, a=FRAGILE) == "Del gufo fragile, i gufi fragili, fragile, fragili"


def test_english_nouns(tmp_path: Path) -> None:
    slots = "{a n}, {the n}, {these ns}, {n}, {a+a n}, {a}"
    assert said(tmp_path, slots, "{n} {a|n}", n=ANT, a=HOLLOW)[0] == (
        "An ant, the ant, these ants, ant, a hollow ant, hollow"
    )


@pytest.mark.parametrize(
    "person, english, italian",
    [
        (ANNA, "Anna Rossi, she, her", "Lei, ad Anna, e Anna Rossi, stanca"),
        (MARK, "Mark Bianchi, he, his", "Lui, a Mark, e Mark Bianchi, stanco"),
    ],
)
def test_people(tmp_path: Path, person: NamedPerson, english: str, italian: str) -> None:
    slots = "{full p}, {he|p}, {his|p}", "{lui|p}, {a+p}, {e+full p}, {stanco|p}"
    assert said(tmp_path, *slots, p=person) == (english, italian)


@pytest.mark.parametrize(
    "other, said", [(EVA, "Anna ed Eva, stanche, mie amiche"), (MARK, "Anna e Mark, stanchi, miei amici")]
)
def test_two_people_are_feminine_where_both_are(tmp_path: Path, other: NamedPerson, said: str) -> None:
    slots = "{p} {e+q}, {stanco|pq}, {mio|pq} {amico|pq}"
    assert italian(tmp_path, slots, p=ANNA, q=other) == said


def test_jobs_agree_with_who_has_them(tmp_path: Path) -> None:
    assert said(tmp_path, "{p}, {a j}", "{p}, {un j|p}", p=ANNA, j=ACTOR) == (
        "Anna, an actor",
        "Anna, un'attrice",
    )
    assert said(tmp_path, "{the j}", "{il j|x}", j=STUDENT, x=Speaker("f")) == (
        "The student",
        "La studentessa",
    )
    assert said(tmp_path, "{the j}", "{il j}", j=STUDENT) == ("The student", "Lo studente")


def test_places_and_companies(tmp_path: Path) -> None:
    slots = "{c}, {o}", "{a+c}, {di+o}"
    assert said(tmp_path, *slots, c=ATHENS, o=Company("Fiat")) == ("Athens, Fiat", "Ad Atene, di Fiat")
    assert said(tmp_path, *slots, c=ROME, o=Company("Fiat"))[1] == "A Roma, di Fiat"


@pytest.mark.parametrize(
    "country, english, italian",
    [
        (
            STATES,
            "The United States, American, English",
            "Gli Stati Uniti, negli Stati Uniti, americana, l'inglese",
        ),
        (SPAIN, "Spain, Spanish, Spanish", "La Spagna, in Spagna, spagnola, lo spagnolo"),
    ],
)
def test_countries(tmp_path: Path, country: Country, english: str, italian: str) -> None:
    slots = "{k}, {nat k}, {lang k}", "{k}, {in k}, {nat k|x}, {il+lang k}"
    assert said(tmp_path, *slots, k=country, x=Speaker("f")) == (english, italian)


def test_verbs(tmp_path: Path) -> None:
    slots = "{v}, {v+s}, {v+ing}", "{v}, {v 0}, {v fut 3}, {v imp 5}, {v ger}, {v pp}, {v tu!}, {v voi!}"
    assert said(tmp_path, *slots, v=POLISH) == (
        "Polish, polishes, polishing",
        "Lucidare, lucido, lucideremo, lucidavano, lucidando, lucidato, lucida, lucidate",
    )
    assert italian(tmp_path, "{i 2}, {i fut 0}, {i tu!}", i=WITHER) == "Appassisce, appassirò, appassisci"


def test_quantities_have_the_form_that_is_asked_for(tmp_path: Path) -> None:
    time = Quantity({"": "5 p.m.", "at": "at 5 p.m."}, {"": "le 5", "alle": "alle 5", "sono": "sono le 5"})
    assert said(tmp_path, "{time} {at time}.", "{sono time} {alle time}.", time=time) == (
        "5 p.m. at 5 p.m.",
        "Sono le 5 alle 5.",
    )


def test_ordinals_agree(tmp_path: Path) -> None:
    third = Quantity({"": "third"}, {"": "terzo"})
    assert italian(tmp_path, "{ordinal|n} {n}", ordinal=third, n=ANT) == "Terza formica"


@pytest.mark.parametrize("english, italian", [("{in p}", "{p}"), ("{p}", "{un p}"), ("{on time}", "{time}")])
def test_a_form_that_there_is_not_is_refused(tmp_path: Path, english: str, italian: str) -> None:
    time = Quantity({"": "noon"}, {"": "mezzogiorno"})
    with pytest.raises(FrameError, match="There is no"):
        said(tmp_path, english, italian, p=ANNA, time=time)


def test_no_word_comes_twice_but_a_number_may(tmp_path: Path) -> None:
    two = frame(tmp_path, "{n}, {m}", "{n}, {m}")
    filler = Filler(WORDS, Random(1))
    pairs = [filler.fill(two) for _ in range(200)]
    assert all(pair and len(set(pair[0].lower().split(", "))) == 2 for pair in pairs)
    numbers = frame(tmp_path, "{small1}, {small2}", "{small1}, {small2}")
    same = Quantity({"": "4"}, {"": "4"})
    assert filler.fill(numbers, {"small1": same, "small2": same}) is None
    other = frame(tmp_path, "{code}, {small}", "{code}, {small}")
    assert filler.fill(other, {"code": same, "small": same}) == ("4, 4", "4, 4")


def test_a_given_word_without_the_form_makes_no_sentence(tmp_path: Path) -> None:
    assert Filler(WORDS, Random(1)).fill(frame(tmp_path, "{ns}", "{ns}"), {"n": AMBER}) is None
