"""Whole sentences: the rules, how often each is used, and the finish: marks, contractions, spelling."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from transformer.data.tasks.pairs import (
    Phrase,
    SentencePair,
    TargetWord,
    phrase,
    sentence_pair,
    source_words,
    target_words,
)
from transformer.data.tasks.toy_en_it import conjugation, english
from transformer.data.tasks.toy_en_it.clauses import Clause, declarative, yes_no_question
from transformer.data.tasks.toy_en_it.lexicon import IDIOMS
from transformer.data.tasks.toy_en_it.liking import liking
from transformer.data.tasks.toy_en_it.noun_phrases import (
    NounPhrase,
    determine,
    name,
    noun_phrase,
    pick_noun,
    subject,
)
from transformer.data.tasks.toy_en_it.questions import doing, wh
from transformer.data.tasks.toy_en_it.states import described, described_as, existence, located, state
from transformer.data.tasks.toy_en_it.verbal import GIVING, TRANSITIVE, bare_clause, clause, timed

_HELPFUL = frozenset({"help", "call", "wait for", "follow", "invite"})
_JOINED = {"me": "mi", "us": "ci"}
_CALLED = {
    "my": ("mi", "chiamo"), "your": ("ti", "chiami"), "his": ("si", "chiama"), "her": ("si", "chiama"),
}  # fmt: skip
_ASKING = frozenset({"how", "what", "do"})
_AMERICAN = {
    "favourite": "favorite", "colour": "color", "neighbour": "neighbor", "neighbours": "neighbors",
    "grey": "gray",
    "theatre": "theater", "theatres": "theaters", "travelled": "traveled", "travelling": "traveling",
}  # fmt: skip


def statement(rng: Random) -> Phrase:
    """Say what someone does, with a time now and then: yesterday i saw a raccoon."""
    made = clause(rng)
    said = declarative(made)
    if made.adverb or made.is_state:
        return timed(rng, said, made.tense, always=True) if made.needs_time else said
    return timed(rng, said, made.tense, always=made.needs_time)


def being_statement(rng: Random) -> Phrase:
    """Say how things are."""
    if rng.random() > 0.1:
        return declarative(state(rng))
    made = described(rng) if rng.random() < 0.5 else located(rng)
    return (
        timed(rng, declarative(made), made.tense, always=True)
        if made.tense != "present"
        else _today(rng, made)
    )


def _today(rng: Random, made: Clause) -> Phrase:
    today = phrase("today", "oggi")
    return today + declarative(made) if rng.random() < 0.5 else declarative(made) + today


def naming(rng: Random) -> Phrase:
    """Tell a name, as Italian does with a verb: my name is maria, mi chiamo maria."""
    who = name(rng)
    owner = rng.choice(["my", "your", "her" if who.gender == "f" else "his"])
    clitic, verb = _CALLED[owner]
    whose, name_is = source_words(owner), source_words("name is")
    named = Phrase(whose + name_is, target_words(clitic, whose) + target_words(verb, name_is))
    return named + who.phrase


def question(rng: Random) -> Phrase:
    """Ask a question that yes or no answers."""
    kind = rng.random()
    if kind < 0.6:
        return yes_no_question(clause(rng, question=True))
    if kind < 0.85:
        return yes_no_question(state(rng, question=True))
    return existence(rng, question=True) if kind < 0.92 else liking(rng, question=True)


def joined(rng: Random) -> Phrase:
    """Join two statements: the dog is sleeping and the cat is eating."""
    word, translation = rng.choice([("and", "e"), ("but", "ma"), ("because", "perché")])
    return _simple(rng) + phrase(word, translation) + _simple(rng)


def reported(rng: Random) -> Phrase:
    """Report a statement: i know that the dog is tired, so che il cane è stanco."""
    infinitive, verb = rng.choice([("sapere", "know"), ("dire", "say")])
    who = subject(rng, {"person", "kin"})
    words = source_words(english.third_person(verb) if who.person == 2 else verb)
    said = target_words(conjugation.present(infinitive, who.person), words + who.dropped)
    return Phrase(who.phrase.source + words, who.phrase.target + said) + phrase("that", "che") + _simple(rng)


def _simple(rng: Random) -> Phrase:
    kind = rng.random()
    if kind < 0.15:
        return liking(rng)
    if kind < 0.6:
        return being_statement(rng)
    made = clause(rng)
    return _simple(rng) if made.needs_time else declarative(made)


def with_relative(rng: Random) -> Phrase:
    """Tell one of a kind from the others: the book that i bought is red; i know the boy who sings."""
    whole = _object_relative(rng) if rng.random() < 0.5 else _subject_relative(rng)
    if rng.random() < 0.4:
        fitting = [verb for verb in TRANSITIVE if verb.object & whole.tags]
        made = bare_clause(rng, rng.choice(fitting), question=False) if fitting else None
        if made and not made.needs_time:
            return declarative(replace(made, complements=whole.phrase))
    predicate = described_as(rng, whole)
    return declarative(predicate) if predicate else with_relative(rng)


def _subject_relative(rng: Random) -> NounPhrase:
    """Make the boy who is reading, the dog that chased the cat."""
    noun = noun_phrase(rng, {"person", "animal"})
    word = "who" if "person" in noun.tags else "that"
    relative = doing(rng, replace(noun, phrase=phrase(word, "che"), has_article=False))
    return replace(noun, phrase=noun.phrase + relative)


def _object_relative(rng: Random) -> NounPhrase:
    """Make the book that i bought."""
    verb = rng.choice(TRANSITIVE)
    made = bare_clause(rng, verb, question=False)
    if made.needs_time:
        return _object_relative(rng)
    noun = pick_noun(rng, verb.object - {"kin"} or {"person"})
    plural = bool(noun.plural) and rng.random() < 0.35
    kind = "my" if "kin" in noun.tags else rng.choice(["the", "the", "this", "that"])
    thing = determine(rng, kind, noun, plural=plural)
    return replace(thing, phrase=thing.phrase + phrase("that", "che") + declarative(made))


def imperative(rng: Random) -> Phrase:
    """Ask someone to do something, or not to: open the door; do not eat the cake; give me the key."""
    kind = rng.random()
    if kind < 0.25:
        made = _ask_for_me(rng)
    else:
        verb = rng.choice(
            [verb for verb in TRANSITIVE if verb.aspect == "action" and "person" in verb.subject]
        )
        thing = noun_phrase(rng, verb.object).phrase
        words = source_words(verb.english, content=True)
        if kind < 0.45:
            do, no = source_words("do"), source_words("not")
            not_doing = target_words("non", no) + target_words(verb.italian, (*do, *words))
            made = Phrase(do + no + words, not_doing) + thing
        else:
            made = Phrase(words, target_words(conjugation.imperative(verb.italian), words)) + thing
    if rng.random() < 0.3:
        please = phrase("please", "per favore")
        made = please + made if rng.random() < 0.5 else made + please
    return made


def _ask_for_me(rng: Random) -> Phrase:
    """Ask for oneself; Italian joins the pronoun to the verb: help me, aiutami; give us tea, dacci il tè."""
    if rng.random() < 0.4:
        verb = rng.choice([verb for verb in TRANSITIVE if verb.english in _HELPFUL])
        thing, who = Phrase(), "me"
    else:
        verb = rng.choice(GIVING)
        thing, who = noun_phrase(rng, verb.object).phrase, rng.choice(["me", "us"])
    words = source_words(f"{verb.english} {who}")
    return Phrase(words, target_words(conjugation.enclitic(verb.italian, _JOINED[who]), words)) + thing


def answer(rng: Random) -> Phrase:
    """Answer with yes or no: yes, i saw the dog."""
    word, translation = rng.choice([("yes", "sì"), ("no", "no")])
    return phrase(word, translation) + phrase(",", ",") + _simple(rng)


def idiomatic(rng: Random) -> Phrase:
    """Pick what can't be made of its words: it is raining, piove; how are you, come stai."""
    words, translation, links = rng.choice(IDIOMS)
    source = source_words(words)
    pairs = [tuple(map(int, link.split("-"))) for link in links.split()]
    target = tuple(
        TargetWord(text, tuple(source[i] for i, to in pairs if to == j))
        for j, text in enumerate(translation.split())
    )
    return Phrase(source, target)


_STATEMENTS = {
    statement: 38, being_statement: 16, existence: 5, liking: 7, joined: 6, reported: 3, with_relative: 7,
    answer: 1,
    naming: 1,
}  # fmt: skip
_QUESTIONS = {question: 12, wh: 11}
_OTHERS = {imperative: 4, idiomatic: 3}
_RULES = _STATEMENTS | _QUESTIONS | _OTHERS


def sample(rng: Random) -> SentencePair:
    """Make one sentence and its translation."""
    rule = rng.choices(list(_RULES), list(_RULES.values()))[0]
    sentence = rule(rng)
    asks = rule in _QUESTIONS or (rule is idiomatic and sentence.source[0].text in _ASKING)
    if rng.random() < 0.85:
        mark = "?" if asks else "!" if rule in _OTHERS and rng.random() < 0.5 else "."
        sentence += phrase(mark, mark)
    return _spelled(rng, sentence_pair(sentence), sentence)


def _spelled(rng: Random, pair: SentencePair, sentence: Phrase) -> SentencePair:
    """Contract the English and spell it the American way now and then; the Italian stays."""
    words = list(pair.source)
    if rng.random() < 0.35:
        words = english.contract(words, fixed={i for i, word in enumerate(sentence.source) if word.content})
    if rng.random() < 0.25:
        words = [_AMERICAN.get(word, word) for word in words]
    return replace(pair, source=tuple(words))
