"""Italian forms that agree: articles, articulated prepositions, demonstratives, adjectives.

Small pure functions. `following` is always the word that comes next, because its sound decides the form:
il gatto, lo zaino, l'acqua.
"""

from __future__ import annotations

from typing import Literal

Gender = Literal["m", "f"]

_VOWELS = "aeiouàèéìòù"
_IMPURE_STARTS = ("gn", "pn", "ps", "x", "y", "z")

_AFTER_PREPOSITION = {
    "il": "l", "lo": "llo", "l'": "ll'", "la": "lla", "i": "i", "gli": "gli", "le": "lle",
}  # fmt: skip
_FUSING = {"a": "a", "da": "da", "di": "de", "in": "ne", "su": "su"}


def starts_with_vowel(word: str) -> bool:
    """Whether a word begins with a vowel sound; h is silent."""
    return word.removeprefix("h")[:1] in tuple(_VOWELS)


def is_impure(word: str) -> bool:
    """Whether a word takes lo, gli and uno: s before a consonant, z, gn, ps, pn, x, y."""
    s_impura = word.startswith("s") and not starts_with_vowel(word[1:])
    return s_impura or word.startswith(_IMPURE_STARTS)


def definite_article(gender: Gender, plural: bool, following: str) -> str:
    """Choose il, lo, l', la, i, gli or le."""
    if gender == "f":
        if plural:
            return "le"
        return "l'" if starts_with_vowel(following) else "la"
    if plural:
        return "gli" if starts_with_vowel(following) or is_impure(following) else "i"
    if starts_with_vowel(following):
        return "l'"
    return "lo" if is_impure(following) else "il"


def indefinite_article(gender: Gender, following: str) -> str:
    """Choose un, uno, una or un'."""
    if gender == "f":
        return "un'" if starts_with_vowel(following) else "una"
    return "uno" if is_impure(following) else "un"


def fuse(preposition: str, article: str) -> str | None:
    """Join a preposition and a definite article: nel, sulla, all'. None for those that stay apart: con il."""
    if preposition not in _FUSING:
        return None
    return _FUSING[preposition] + _AFTER_PREPOSITION[article]


def euphonic(word: str, following: str) -> str:
    """Say ad and ed before the same vowel: ad anna, ed elena."""
    return f"{word}d" if word in ("a", "e") and following.startswith(word) else word


def partitive(gender: Gender, plural: bool, following: str) -> str:
    """Say "some": del, dello, dell', della, dei, degli, delle."""
    return _FUSING["di"] + _AFTER_PREPOSITION[definite_article(gender, plural, following)]


def that(gender: Gender, plural: bool, following: str) -> str:
    """Choose quel, quello, quell', quella, quei, quegli or quelle, which are formed as nel and nello are."""
    return "que" + _AFTER_PREPOSITION[definite_article(gender, plural, following)]


def beautiful(gender: Gender, plural: bool, following: str) -> str:
    """Choose bel, bello, bell', bella, bei, begli or belle, before a noun."""
    return "be" + _AFTER_PREPOSITION[definite_article(gender, plural, following)]


def good(gender: Gender, plural: bool, following: str) -> str:
    """Choose buon, buono, buona, buoni or buone, before a noun. Convention: buona is never elided."""
    if plural or gender == "f":
        return inflect("buono", gender, plural)
    return "buono" if is_impure(following) else "buon"


def inflect(adjective: str, gender: Gender, plural: bool) -> str:
    """Agree an adjective, given as masculine singular, with a noun: rosso, rossa, rossi, rosse.

    Those in -e have one form per number (verde, verdi), others (blu, rosa, viola) one form in all.
    """
    if adjective.endswith("e"):
        return adjective[:-1] + "i" if plural else adjective
    if not adjective.endswith("o"):
        return adjective
    stem = adjective[:-1]
    if gender == "f":
        hard = "h" if stem.endswith(("c", "g")) else ""
        return f"{stem}{hard}e" if plural else f"{stem}a"
    return _masculine_plural(stem) if plural else adjective


def _masculine_plural(stem: str) -> str:
    """Pluralize: stanchi and lunghi, but simpatici (stress before -ico) and vecchi (no double i)."""
    if stem.endswith("i"):
        return stem
    if stem.endswith("g") or (stem.endswith("c") and not stem.endswith("ic")):
        return f"{stem}hi"
    return f"{stem}i"


POSSESSIVES = {"my": "mio", "your": "tuo", "his": "suo", "her": "suo", "our": "nostro", "their": "loro"}
_IRREGULAR_POSSESSIVES = {"mio": "miei", "tuo": "tuoi", "suo": "suoi"}


def possessive(english: str, gender: Gender, plural: bool) -> str:
    """Translate my, your, his, her, our or their, agreeing with what is possessed; loro never changes."""
    return inflect_possessive(POSSESSIVES[english], gender, plural)


def inflect_possessive(base: str, gender: Gender, plural: bool) -> str:
    """Agree mio, tuo, suo, nostro or loro with what is possessed: mia, miei, mie."""
    if base == "loro":
        return base
    if plural and gender == "m":
        return _IRREGULAR_POSSESSIVES.get(base, "nostri")
    return inflect(base, gender, plural)
