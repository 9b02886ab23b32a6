"""English forms: third persons, -ing, a and an, contractions."""

from __future__ import annotations

from itertools import pairwise

_AN = ("a", "e", "i", "o", "u")
_A_ALTHOUGH_VOWEL = ("uni", "one", "eu", "use", "usa", "usu", "uti", "ura", "ute", "uku", "ubi")
_AN_ALTHOUGH_CONSONANT = ("hour", "honest", "honor", "honour", "heir")
_DOUBLING = {"run": "running", "swim": "swimming", "forget": "forgetting", "travel": "travelling"}
_IRREGULAR_THIRD = {"have": "has"}


def third_person(base: str) -> str:
    """Inflect for he, she and it: sees, watches, studies, goes; the first word of "look for"."""
    verb, *rest = base.split()
    return " ".join([_IRREGULAR_THIRD.get(verb) or _with_s(verb), *rest])


def _with_s(verb: str) -> str:
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("s", "sh", "ch", "x", "o")) else f"{verb}s"


def ing(base: str) -> str:
    """Form the present participle: seeing, writing, running."""
    verb, *rest = base.split()
    if verb in _DOUBLING:
        form = _DOUBLING[verb]
    elif verb.endswith("e") and not verb.endswith("ee"):
        form = f"{verb[:-1]}ing"
    else:
        form = f"{verb}ing"
    return " ".join([form, *rest])


def indefinite_article(following: str) -> str:
    """Choose a or an by the sound of the next word: an apple, a university, an hour."""
    is_vowel = following.startswith(_AN) and not following.startswith(_A_ALTHOUGH_VOWEL)
    return "an" if is_vowel or following.startswith(_AN_ALTHOUGH_CONSONANT) else "a"


_BE = {0: "am", 2: "is"}


def be(person: int) -> str:
    """Conjugate to be in the present; persons 0 to 5 as for the Italian verbs."""
    return _BE.get(person, "are")


def was(person: int) -> str:
    """Conjugate to be in the past."""
    return "was" if person in (0, 2) else "were"


_AFTER_PRONOUN = {
    "i": {"am": "'m", "will": "'ll", "have": "'ve"},
    "you": {"are": "'re", "will": "'ll", "have": "'ve"},
    "he": {"is": "'s", "will": "'ll", "has": "'s"},
    "she": {"is": "'s", "will": "'ll", "has": "'s"},
    "it": {"is": "'s"},
    "we": {"are": "'re", "will": "'ll", "have": "'ve"},
    "they": {"are": "'re", "will": "'ll", "have": "'ve"},
    "there": {"is": "'s"},
    "where": {"is": "'s"},
    "what": {"is": "'s"},
    "who": {"is": "'s", "has": "'s"},
}
_BEFORE_NOT = {
    "do": "do", "does": "does", "did": "did", "is": "is", "are": "are", "was": "was", "were": "were",
    "have": "have", "has": "has", "will": "wo", "can": "ca", "must": "must",
}  # fmt: skip


def contract(words: list[str], fixed: set[int]) -> list[str]:
    """Contract as people do: i am to i 'm, do not to do n't, will not to wo n't; the number of words stays.

    Args:
        fixed: indices of words that stay as they are, such as have as a main verb.
    """
    contracted = list(words)
    for index, (word, following) in enumerate(pairwise(words)):
        if following == "not" and word in _BEFORE_NOT:
            contracted[index : index + 2] = [_BEFORE_NOT[word], "n't"]
        elif following in _AFTER_PRONOUN.get(word, {}) and index + 1 not in fixed:
            negated = words[index + 2 : index + 3] == ["not"]
            if following == "am" or not negated:
                contracted[index + 1] = _AFTER_PRONOUN[word][following]
    return contracted
