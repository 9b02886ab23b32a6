"""Forms of dictionary words, against what grammars say."""

from __future__ import annotations

import pytest

from tests.transformer.data.making.small import libraries
from transformer.data.making import forms
from transformer.data.tasks.toy_en_it.italian import Gender


@pytest.mark.parametrize(
    "noun, plural", [("owl", "owls"), ("breast pump", "breast pumps"), ("biology", None), ("kindness", None)]
)
def test_english_plurals(noun: str, plural: str | None) -> None:
    assert forms.english_plural(noun, libraries()) == plural


@pytest.mark.parametrize(
    "noun, gender, plural",
    [
        ("gufo", "m", "gufi"), ("bosco", "m", "boschi"), ("medico", "m", "medici"), ("lago", "m", "laghi"),
        ("biologo", "m", "biologi"), ("sarcofago", "m", "sarcofagi"), ("dialogo", "m", "dialoghi"),
        ("occhio", "m", "occhi"), ("zio", "m", "zii"), ("uomo", "m", "uomini"), ("fico", "m", "fichi"),
        ("foto", "f", "foto"), ("mano", "f", "mani"), ("cane", "m", "cani"), ("specie", "f", "specie"),
        ("problema", "m", "problemi"), ("pianista", "m", "pianisti"), ("collega", "m", "colleghi"),
        ("gorilla", "m", "gorilla"), ("cinema", "m", "cinema"), ("formica", "f", "formiche"),
        ("strega", "f", "streghe"), ("spiaggia", "f", "spiagge"), ("freccia", "f", "frecce"),
        ("camicia", "f", "camicie"), ("famiglia", "f", "famiglie"), ("città", "f", "città"),
        ("bar", "m", "bar"), ("crisi", "f", "crisi"), ("uovo", "m", None),
    ],
)  # fmt: skip
def test_italian_plurals(noun: str, gender: Gender, plural: str | None) -> None:
    assert forms.plurale(noun, gender) == plural


@pytest.mark.parametrize("verb", ["raffinare", "mangiare", "pagare", "lasciare", "finire", "pulire"])
def test_regular_verbs(verb: str) -> None:
    assert forms.is_regular(verb)


@pytest.mark.parametrize(
    "verb", ["fare", "disfare", "stare", "andare", "inviare", "aprire", "dormire", "vedere"]
)
def test_verbs_with_forms_of_their_own(verb: str) -> None:
    assert not forms.is_regular(verb)


@pytest.mark.parametrize(
    "verb, present",
    [
        ("lucidare", "lucido lucidi lucida lucidiamo lucidate lucidano"),
        ("pagare", "pago paghi paga paghiamo pagate pagano"),
        ("mangiare", "mangio mangi mangia mangiamo mangiate mangiano"),
        ("finire", "finisco finisci finisce finiamo finite finiscono"),
    ],
)
def test_the_present(verb: str, present: str) -> None:
    assert " ".join(forms.present(verb, person) for person in range(6)) == present


@pytest.mark.parametrize(
    "verb, imperfect, participle, tu, voi",
    [
        ("lucidare", "lucidavo", "lucidato", "lucida", "lucidate"),
        ("finire", "finivo", "finito", "finisci", "finite"),
    ],
)
def test_other_forms(verb: str, imperfect: str, participle: str, tu: str, voi: str) -> None:
    assert forms.imperfect(verb, 0) == imperfect
    assert forms.participle(verb) == participle
    assert [forms.imperative(verb, person) for person in (1, 4)] == [tu, voi]


@pytest.mark.parametrize("adjective", ["cavo", "fragile"])
def test_adjectives_with_the_usual_endings(adjective: str) -> None:
    assert forms.is_inflected_by_rule(adjective)


@pytest.mark.parametrize("adjective", ["rosa", "blu", "buio", "traditore"])
def test_adjectives_without_them(adjective: str) -> None:
    assert not forms.is_inflected_by_rule(adjective)
