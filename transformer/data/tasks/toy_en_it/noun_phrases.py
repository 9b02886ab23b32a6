"""Noun phrases: nouns, adjectives, determiners, names, pronouns, and what prepositions do to them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cache
from random import Random

from transformer.data.tasks.pairs import Phrase, SourceWord, TargetWord, phrase, source_words, target_words
from transformer.data.tasks.toy_en_it import english, italian
from transformer.data.tasks.toy_en_it.italian import Gender
from transformer.data.tasks.toy_en_it.lexicon import (
    ADJECTIVES,
    NAMES,
    NOUNS,
    NUMBERS,
    SUBJECT_PRONOUNS,
    Adjective,
    Noun,
    pick_entry,
)

COLOURS = frozenset(["red", "black", "white", "green", "yellow", "blue", "grey", "brown", "pink", "purple"])
_PRONOUNS = {"i": 3, "you": 3, "he": 2, "she": 2, "we": 3, "they": 2}
_MASS = {"the": 5, "my": 2, "this": 1, "that": 1, "some": 3}
_SINGULAR = {"the": 12, "a": 9, "my": 6, "this": 2, "that": 2, "every": 1}
_PLURAL = {"the": 10, "my": 5, "this": 2, "that": 2, "number": 3, "the number": 1, "some": 3, "many": 2}


@dataclass(frozen=True)
class NounPhrase:
    """A phrase that verbs and adjectives agree with.

    Attributes:
        phrase: its words. A dropped pronoun has source words but no target words.
        gender: of the phrase.
        person: 0 io to 5 loro, as in `conjugation`.
        tags: of the noun.
        has_article: whether the Italian begins with a definite article, with which prepositions fuse.
    """

    phrase: Phrase
    gender: Gender
    person: int
    tags: frozenset[str]
    has_article: bool = False

    @property
    def plural(self) -> bool:
        """Whether what agrees with it is plural."""
        return self.person >= 3

    @property
    def dropped(self) -> tuple[SourceWord, ...]:
        """The pronoun that Italian leaves to the verb's ending, if it is one."""
        return () if self.phrase.target else self.phrase.source


def pick_noun(rng: Random, tags: Collection[str], *, countable: bool = False) -> Noun:
    """Pick a noun that has one of the tags."""
    return rng.choice(_nouns(frozenset(tags), countable))


@cache
def _nouns(tags: frozenset[str], countable: bool) -> tuple[Noun, ...]:
    return tuple(noun for noun in NOUNS if noun.tags & tags and (noun.countable or not countable))


def pick_adjective(
    rng: Random, tags: Collection[str], *, among: Collection[str] | None = None
) -> Adjective | None:
    """Pick an adjective that suits a noun of these tags; None when none does."""
    fitting = _adjectives(frozenset(tags), None if among is None else frozenset(among))
    return rng.choice(fitting) if fitting else None


@cache
def _adjectives(tags: frozenset[str], among: frozenset[str] | None) -> tuple[Adjective, ...]:
    return tuple(
        adjective
        for adjective in ADJECTIVES
        if adjective.describes & tags and (among is None or adjective.english in among)
    )


def nominal(rng: Random, noun: Noun, *, plural: bool, adjectives: bool = True) -> Phrase:
    """Put a noun and up to two adjectives in each language's order: big black dog, grande cane nero."""
    gender = noun.gender_of(plural=plural)
    head = phrase(
        noun.plural if plural else noun.english, noun.plurale if plural else noun.italian, content=True
    )
    if not adjectives or rng.random() > 0.4:
        return head
    first = pick_adjective(rng, noun.tags)
    if first is None:
        return head
    if first.comparative and rng.random() < 0.12:
        return _after(first, head, gender, plural, very=True)
    if first.place == "after":
        return _after(first, head, gender, plural)
    if rng.random() < 0.3:
        colour = pick_adjective(rng, noun.tags, among=COLOURS)
        head = _after(colour, head, gender, plural) if colour else head
    return _before(first, head, gender, plural)


def _after(adjective: Adjective, head: Phrase, gender: Gender, plural: bool, *, very: bool = False) -> Phrase:
    """With molto every adjective follows its noun: a very big dog, un cane molto grande."""
    words = phrase(adjective.english, italian.inflect(adjective.italian, gender, plural), content=True)
    words = phrase("very", "molto") + words if very else words
    return Phrase(words.source + head.source, head.target + words.target)


def _before(adjective: Adjective, head: Phrase, gender: Gender, plural: bool) -> Phrase:
    following = head.target[0].text
    if adjective.italian == "bello":
        form = italian.beautiful(gender, plural, following)
    elif adjective.italian == "buono":
        form = italian.good(gender, plural, following)
    else:
        form = italian.inflect(adjective.italian, gender, plural)
    return phrase(adjective.english, form, content=True) + head


def determine(
    rng: Random,
    kind: str,
    noun: Noun,
    *,
    plural: bool,
    adjectives: bool = True,
    without: Collection[str] = (),
) -> NounPhrase:
    """Give a noun a determiner of that kind, one of the keys of the tables above, "bare" or "genitive".

    Args:
        kind: of the determiner; "my" stands for any owner.
        adjectives: whether it may have some; relatives have none.
        without: owners that are not to be picked.
    """
    gender = noun.gender_of(plural=plural)
    kin = "kin" in noun.tags
    head = nominal(rng, noun, plural=plural, adjectives=adjectives and not kin)
    result = NounPhrase(head, gender, 5 if plural else 2, noun.tags)
    if kind == "bare":
        return result
    if kind == "my":
        owners = [owner for owner in italian.POSSESSIVES if owner not in without]
        if "spouse" in noun.tags:
            owners = [owner for owner in owners if owner not in ("our", "their")]
        return possessed(rng.choice(owners), result, without_article=kin and not plural)
    if kind == "genitive":
        return genitive(possessor(rng), result)
    if kind == "the number":
        return definite(_numbered(rng, result))
    if kind == "number":
        return _numbered(rng, result)
    if kind == "the":
        return definite(result)
    return replace(result, phrase=_determiner(kind, head, gender, plural) + head)


def _determiner(kind: str, head: Phrase, gender: Gender, plural: bool) -> Phrase:
    following = head.target[0].text
    if kind == "a":
        article = english.indefinite_article(head.source[0].text)
        return phrase(article, italian.indefinite_article(gender, following))
    if kind == "this":
        return phrase("these" if plural else "this", italian.inflect("questo", gender, plural))
    if kind == "that":
        return phrase("those" if plural else "that", italian.that(gender, plural, following))
    if kind == "some":
        return phrase("some", italian.partitive(gender, plural, following))
    if kind == "many":
        return phrase("many", italian.inflect("molto", gender, plural=True))
    return phrase("every", "ogni")


def definite(np: NounPhrase) -> NounPhrase:
    """Put "the" in front."""
    article = italian.definite_article(np.gender, np.plural, np.phrase.target[0].text)
    return replace(np, phrase=phrase("the", article) + np.phrase, has_article=True)


def _numbered(rng: Random, np: NounPhrase) -> NounPhrase:
    return replace(np, phrase=phrase(*pick_entry(rng, NUMBERS)) + np.phrase)


def possessed(owner: str, np: NounPhrase, *, without_article: bool = False) -> NounPhrase:
    """Say whose it is: my dog, il mio cane; but of single relatives, mio padre (though il loro padre)."""
    words = source_words(owner)
    form = italian.possessive(owner, np.gender, np.plural)
    translation = target_words(form, words)
    has_article = not without_article or form == "loro"
    if has_article:
        translation = target_words(italian.definite_article(np.gender, np.plural, form), words) + translation
    return replace(np, phrase=Phrase(words, translation) + np.phrase, has_article=has_article)


def possessor(rng: Random) -> NounPhrase:
    """Pick one owner: anna, my brother, the teacher."""
    if rng.random() < 0.4:
        return name(rng)
    noun = pick_noun(rng, {"kin", "person"})
    kind = "my" if noun.tags & {"kin", "related"} else "the"
    return determine(rng, kind, noun, plural=False, adjectives=False)


def genitive(owner: NounPhrase, np: NounPhrase) -> NounPhrase:
    """Say whose it is by 's: the teacher's book, il libro del maestro."""
    mark = source_words("'s")
    article = target_words(italian.definite_article(np.gender, np.plural, np.phrase.target[0].text), mark)
    return replace(
        np,
        phrase=Phrase(
            owner.phrase.source + mark + np.phrase.source,
            article + np.phrase.target + prepositional(mark, "di", owner).target,
        ),
        has_article=True,
    )


def prepositional(words: tuple[SourceWord, ...], preposition: str, np: NounPhrase) -> Phrase:
    """Put a preposition before a noun phrase: in the park, nel parco; near the zoo, vicino allo zoo.

    Args:
        words: the English preposition, or what takes its place.
        preposition: the Italian one, one or two words, of which the last may fuse with an article.
        np: what follows.
    """
    *first, last = preposition.split()
    leading = target_words(" ".join(first), words)
    article, rest = np.phrase.target[0], np.phrase.target[1:]
    fused = italian.fuse(last, article.text) if np.has_article else None
    if fused is not None:
        target = (*leading, TargetWord(fused, (*words, *article.origins)), *rest)
    else:
        target = (*leading, TargetWord(italian.euphonic(last, article.text), words), *np.phrase.target)
    return Phrase(words + np.phrase.source, target)


def noun_phrase(rng: Random, tags: Collection[str], *, bare: bool = False, some: bool = False) -> NounPhrase:
    """Pick a noun of these tags, its number, adjectives and determiner.

    Args:
        tags: the noun has one of them.
        bare: whether plurals and what can't be counted may have no determiner: i eat apples.
        some: whether they may have "some".
    """
    noun = pick_noun(rng, tags)
    plural = bool(noun.plural) and rng.random() < 0.35
    if "kin" in noun.tags:
        return determine(rng, "my", noun, plural=plural)
    kinds = _MASS if not noun.countable else _PLURAL if plural else _SINGULAR
    if bare and (plural or not noun.countable):
        kinds = kinds | {"bare": 4}
    if not some:
        kinds = {kind: weight for kind, weight in kinds.items() if kind != "some"}
    if noun.countable and "place" not in noun.tags:
        kinds = kinds | {"genitive": 3}
    if "person" in noun.tags and not noun.tags & {"job", "related"}:
        kinds = {kind: weight for kind, weight in kinds.items() if kind not in ("my", "genitive")}
    return determine(rng, rng.choices(list(kinds), list(kinds.values()))[0], noun, plural=plural)


def name(rng: Random) -> NounPhrase:
    """Pick a first name."""
    first_name, gender = rng.choice(list(NAMES.items()))
    return NounPhrase(phrase(first_name, first_name, content=True), gender, 2, frozenset({"person"}))


def pronoun(word: str) -> NounPhrase:
    """Make a subject pronoun, which Italian drops."""
    person, gender = SUBJECT_PRONOUNS[word]
    return NounPhrase(Phrase(source_words(word)), gender, person, frozenset({"person"}))


def coordinated(first: NounPhrase, second: NounPhrase) -> NounPhrase:
    """Join two: the cat and the dog. Plural; feminine only if both are."""
    words = source_words("and")
    conjunction = Phrase(words, target_words(italian.euphonic("e", second.phrase.target[0].text), words))
    return NounPhrase(
        first.phrase + conjunction + second.phrase,
        "f" if first.gender == second.gender == "f" else "m",
        5,
        first.tags & second.tags,
        first.has_article,
    )


def subject(rng: Random, tags: Collection[str], *, joined: bool = True) -> NounPhrase:
    """Pick a subject: of people often a pronoun, sometimes a name; now and then two, if `joined`."""
    kind = rng.random()
    people = frozenset({"person", "kin"}) & frozenset(tags)
    if people and kind < 0.6:
        return pronoun(rng.choices(list(_PRONOUNS), list(_PRONOUNS.values()))[0])
    if people and kind < 0.68:
        return name(rng)
    if joined and kind > 0.95:
        noun = pick_noun(rng, tags)
        partner = pick_noun(rng, noun.tags & frozenset(tags))
        kinds = ["my" if n.tags & {"kin"} else "the" for n in (noun, partner)]
        first, second = (
            determine(rng, kind, n, plural=False, adjectives=False)
            for kind, n in zip(kinds, (noun, partner), strict=True)
        )
        if noun != partner:
            return coordinated(first, second)
    return noun_phrase(rng, tags)
