"""Questions with a question word: what, who, which, how many, where, when, why, how old."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from transformer.data.tasks.pairs import Phrase, phrase, source_words, target_words
from transformer.data.tasks.toy_en_it import italian
from transformer.data.tasks.toy_en_it.clauses import Clause, declarative, wh_question, yes_no_question
from transformer.data.tasks.toy_en_it.lexicon import NOUNS, VERBS, Verb
from transformer.data.tasks.toy_en_it.noun_phrases import NounPhrase, nominal, pick_noun
from transformer.data.tasks.toy_en_it.states import CATEGORIES, aged, being, favourite_of, located
from transformer.data.tasks.toy_en_it.verbal import (
    INTRANSITIVE,
    TRANSITIVE,
    bare_clause,
    clause,
    clause_of,
    pick_verb,
)

_PERSONS = frozenset({"person", "kin"})
_WHAT = tuple(verb for verb in TRANSITIVE if verb.english != "play" and not verb.object <= _PERSONS)
_WHICH = tuple(verb for verb in _WHAT if any(noun.plural and noun.tags & verb.object for noun in NOUNS))
_WHOM = tuple(verb for verb in TRANSITIVE if verb.object & _PERSONS)
_WHEN = tuple(verb for verb in VERBS if verb.aspect == "motion" and verb.english != "stay")
_WHERE = tuple(verb for verb in INTRANSITIVE if verb.aspect == "action" or verb.english in ("go", "live"))


def wh(rng: Random) -> Phrase:
    """Ask any of the questions below."""
    rules = [what, whom, who_does, which, how_many, where_is, where, when, why, how_old, what_favourite]
    return rng.choices(rules, [4, 2, 4, 2, 2, 3, 2, 2, 3, 1, 2])[0](rng)


def what(rng: Random) -> Phrase:
    """Ask what: what did the dog eat, che cosa ha mangiato il cane."""
    return wh_question(phrase("what", "che cosa"), bare_clause(rng, rng.choice(_WHAT), question=True))


def whom(rng: Random) -> Phrase:
    """Ask whom: who did you see, chi hai visto.

    Only pronouns are asked about: chi ha visto maria could be asking who saw her.
    """
    asked = _with_pronoun(rng, _WHOM)
    return wh_question(phrase("who", "chi"), asked)


def _with_pronoun(rng: Random, verbs: tuple[Verb, ...]) -> Clause:
    asked = bare_clause(rng, rng.choice(verbs), question=True)
    return asked if asked.subject.dropped else _with_pronoun(rng, verbs)


def who_does(rng: Random) -> Phrase:
    """Ask who: who ate the apple, chi ha mangiato la mela."""
    return doing(rng, NounPhrase(phrase("who", "chi"), "m", 2, frozenset({"person"})))


def doing(rng: Random, who: NounPhrase) -> Phrase:
    """Let a given subject do something, without a time."""
    verb = pick_verb(rng)
    while not verb.subject & who.tags:
        verb = pick_verb(rng)
    done = clause_of(rng, verb, who)
    return doing(rng, who) if done.needs_time else declarative(done)


def which(rng: Random) -> Phrase:
    """Ask which: which book did you buy, quale libro hai comprato."""
    verb = rng.choice(_WHICH)
    noun = pick_noun(rng, verb.object, countable=True)
    plural = bool(noun.plural) and rng.random() < 0.4
    question = phrase("which", italian.inflect("quale", noun.gender_of(plural=plural), plural))
    return wh_question(question + nominal(rng, noun, plural=plural), bare_clause(rng, verb, question=True))


def how_many(rng: Random) -> Phrase:
    """Ask how many: how many cats do you have, quanti gatti hai."""
    verb = rng.choice(_WHICH)
    noun = pick_noun(rng, verb.object, countable=True)
    while not noun.plural:
        noun = pick_noun(rng, verb.object, countable=True)
    question = phrase("how many", italian.inflect("quanto", noun.gender_of(plural=True), plural=True))
    return wh_question(question + nominal(rng, noun, plural=True), bare_clause(rng, verb, question=True))


def where_is(rng: Random) -> Phrase:
    """Ask where something is: where are the keys, dove sono le chiavi."""
    asked = located(rng, place=rng.random() < 0.3)
    return wh_question(_where(asked), replace(asked, complements=Phrase()))


def where(rng: Random) -> Phrase:
    """Ask where someone does something: where did the cat go, dov'è andato il gatto."""
    asked = bare_clause(rng, rng.choice(_WHERE), question=True)
    return wh_question(_where(asked), asked)


def _where(asked: Clause) -> Phrase:
    elided = asked.verb.finite.text.startswith(("e", "è"))
    return phrase("where", "dov'" if elided else "dove")


def when(rng: Random) -> Phrase:
    """Ask when: when did the train leave, quando è partito il treno."""
    return wh_question(phrase("when", "quando"), bare_clause(rng, rng.choice(_WHEN), question=True))


def why(rng: Random) -> Phrase:
    """Ask why: why is the child crying, perché il bambino sta piangendo."""
    return phrase("why", "perché") + yes_no_question(clause(rng, question=True))


def how_old(rng: Random) -> Phrase:
    """Ask how old: how old is your sister, quanti anni ha tua sorella."""
    how, old = source_words("how"), source_words("old")
    question = Phrase(how + old, target_words("quanti", how) + target_words("anni", old))
    return wh_question(question, replace(aged(rng), complements=Phrase()))


def what_favourite(rng: Random) -> Phrase:
    """Ask what is liked best: what is your favourite animal, qual è il tuo animale preferito."""
    thing = favourite_of(rng, rng.choice(list(CATEGORIES)))
    return wh_question(phrase("what", "qual"), Clause(thing, being(thing, "present")))
