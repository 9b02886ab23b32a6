"""Clauses with a full verb: who does what, to whom, where and when."""

from __future__ import annotations

from random import Random

from transformer.data.tasks.pairs import Phrase, TargetWord, phrase, source_words
from transformer.data.tasks.toy_en_it import adverbials
from transformer.data.tasks.toy_en_it.clauses import Clause, Tense, verb_group
from transformer.data.tasks.toy_en_it.lexicon import ANIMATE, DATIVE_CLITICS, OBJECT_CLITICS, VERBS, Verb
from transformer.data.tasks.toy_en_it.noun_phrases import NounPhrase, noun_phrase, prepositional, subject

_TENSES: dict[str, dict[Tense, int]] = {
    "action": {
        "present": 6, "progressive": 4, "past": 5, "perfect": 2, "future": 5, "can": 1, "must": 1, "want": 1,
    },
    "event": {"past": 5, "perfect": 2, "future": 5},
    "state": {"present": 5, "past": 3, "perfect": 2, "future": 3, "can": 1},
    "motion": {"progressive": 2, "past": 6, "perfect": 2, "future": 5, "must": 1, "want": 1},
    "giving": {"present": 4, "past": 6, "perfect": 2, "future": 5, "must": 1, "want": 1},
}  # fmt: skip
_ADVERBS: dict[Tense, tuple[str, ...]] = {
    "present": ("never", "always", "often"), "past": ("never",), "perfect": ("never", "already"),
    "future": ("never",),
}  # fmt: skip
_QUESTION_ADVERBS = {"present": ("always", "often")}
_TIMES_WITH_PLACE = ("action", "event")
_FOR_SOMEONE = frozenset({"buy", "cook", "prepare", "sing", "write", "build", "choose"})
_NOT_ONESELF = {"i": {"me", "us"}, "you": {"you"}, "we": {"me", "us"}}
_PLACES = frozenset({"to", "at", "in"})

TRANSITIVE = tuple(
    verb for verb in VERBS if verb.object and not verb.object & _PLACES and verb.aspect != "giving"
)
INTRANSITIVE = tuple(verb for verb in VERBS if not verb.object or verb.object & _PLACES)
GIVING = tuple(verb for verb in VERBS if verb.aspect == "giving")


def pick_tense(rng: Random, verb: Verb, who: NounPhrase) -> Tense:
    """Pick an English tense that the verb is used in; things neither can, must nor want."""
    weights = {
        tense: weight
        for tense, weight in _TENSES[verb.aspect].items()
        if (verb.past or tense == "present") and (who.tags & ANIMATE or tense not in ("can", "must", "want"))
    }
    return rng.choices(list(weights), list(weights.values()))[0]


def pick_verb(rng: Random) -> Verb:
    """Pick a verb, whichever kind it is of."""
    return rng.choice(rng.choices([TRANSITIVE, INTRANSITIVE, GIVING], [12, 7, 2])[0])


def clause(rng: Random, *, question: bool = False) -> Clause:
    """Make a clause of any verb. A question's English will be inverted; it has no "not"."""
    verb = pick_verb(rng)
    return clause_of(rng, verb, subject(rng, verb.subject), question=question)


def clause_of(rng: Random, verb: Verb, who: NounPhrase, *, question: bool = False) -> Clause:
    """Make a clause of a given verb and subject."""
    tense = pick_tense(rng, verb, who)
    negative = not question and rng.random() < 0.18
    adverbs = (_QUESTION_ADVERBS if question else _ADVERBS).get(tense, ())
    adverb = rng.choice(adverbs) if adverbs and not negative and rng.random() < 0.15 else ""
    clitic, complements = _objects(rng, verb, who, positive=not negative and adverb != "never")
    return Clause(
        subject=who,
        verb=verb_group(verb, tense, who, support=question or negative),
        complements=complements + _circumstances(rng, verb, who),
        clitic=clitic,
        negative=negative,
        adverb=adverb,
        tense=tense,
        needs_time=tense == "past" and verb.past_looks_present and not (question or negative),
        is_state=verb.aspect == "state" and tense == "present",
    )


def bare_clause(rng: Random, verb: Verb, *, question: bool) -> Clause:
    """Make a clause of a subject and a verb, whose object or place is said elsewhere: (what) did you eat."""
    who = subject(rng, verb.subject)
    tense = pick_tense(rng, verb, who)
    group = verb_group(verb, tense, who, support=question)
    return Clause(
        who, group, tense=tense, needs_time=tense == "past" and verb.past_looks_present and not question
    )


def _objects(rng: Random, verb: Verb, who: NounPhrase, *, positive: bool) -> tuple[Phrase, Phrase]:
    """Pick what the verb is done to: an object pronoun or nothing, and what follows."""
    if verb in INTRANSITIVE:
        return Phrase(), Phrase()
    thing = noun_phrase(rng, verb.object, bare=verb.aspect != "giving", some=positive)
    if verb in GIVING:
        return _given(rng, who, thing)
    if rng.random() < 0.2:
        return _pronoun(rng, OBJECT_CLITICS, who, person=bool(verb.object & {"person", "kin"})), Phrase()
    return Phrase(), thing.phrase


def _given(rng: Random, who: NounPhrase, thing: NounPhrase) -> tuple[Phrase, Phrase]:
    """Give it to someone: i gave her the book, or i gave the book to the girl."""
    if rng.random() < 0.5:
        return _pronoun(rng, DATIVE_CLITICS, who, person=True), thing.phrase
    receiver = noun_phrase(rng, {"person", "kin"})
    return Phrase(), thing.phrase + prepositional(source_words("to"), "a", receiver)


def _pronoun(rng: Random, clitics: dict[str, str], who: NounPhrase, *, person: bool) -> Phrase:
    excluded = _NOT_ONESELF.get(who.dropped[0].text if who.dropped else "", set())
    possible = [
        word for word in clitics if word not in excluded and (word == "them" or person == (word != "it"))
    ]
    word = rng.choice(possible)
    return phrase(word, clitics[word])


def _circumstances(rng: Random, verb: Verb, who: NounPhrase) -> Phrase:
    """Add where to, where, with whom or for whom, as the verb allows."""
    if "to" in verb.object:
        return adverbials.destination(rng) if rng.random() < 0.85 else Phrase()
    if verb.object & {"at", "in"}:
        if rng.random() < 0.2 and "in" in verb.object:
            return adverbials.town(rng, "in")
        tag = rng.choice(sorted(verb.object & {"at", "in"}))
        return adverbials.place(rng, tag, among=verb.object - _PLACES or {"place"})
    added = Phrase()
    if verb.english in _FOR_SOMEONE and verb.object and rng.random() < 0.2:
        added += adverbials.beneficiary(rng)
    if verb.aspect in _TIMES_WITH_PLACE and rng.random() < (0.12 if verb.object else 0.35):
        added += adverbials.location(rng)
    sociable = verb.aspect == "action" and verb.english != "sleep" and who.tags & {"person", "kin"}
    if sociable and rng.random() < (0.05 if verb.object else 0.15):
        added += adverbials.company(rng)
    return added


def timed(rng: Random, sentence: Phrase, tense: Tense, *, always: bool) -> Phrase:
    """Add a time to a sentence, always or now and then: in front, with or without a comma, or at the end."""
    if not always and rng.random() > 0.35:
        return sentence
    when = adverbials.time(rng, tense)
    if not when.source or rng.random() < 0.5:
        return sentence + when
    if rng.random() < 0.2:  # the comma has no word of its own in Italian: it belongs to the time
        comma, last = source_words(","), when.target[-1]
        when = Phrase(when.source + comma, (*when.target[:-1], TargetWord(last.text, last.origins + comma)))
    return when + sentence
