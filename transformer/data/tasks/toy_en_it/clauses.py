"""Verb groups and clauses: tenses, negation, object pronouns, adverbs, and the order around the verb."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from transformer.data.tasks.pairs import NOTHING, Phrase, SourceWord, TargetWord, source_words, target_words
from transformer.data.tasks.toy_en_it import conjugation, english, italian
from transformer.data.tasks.toy_en_it.lexicon import Verb
from transformer.data.tasks.toy_en_it.noun_phrases import NounPhrase

Tense = Literal["present", "progressive", "past", "perfect", "future", "can", "must", "want"]

_MODALS = {"can": "potere", "must": "dovere"}
_ADVERBS = {
    "never": ("non", "mai"), "always": ("", "sempre"), "often": ("", "spesso"), "already": ("", "già"),
}  # fmt: skip


@dataclass(frozen=True)
class VerbGroup:
    """The words of a verb in one tense, before they are put in order.

    Attributes:
        auxiliary: English words that a question puts in front of the subject: do, is, will; may be empty.
        main: the other English words: seen, looking for, to buy.
        finite: the Italian word that agrees with the subject, without origins of a dropped pronoun.
        rest: the Italian words after it: a participle, a gerund, an infinitive.
    """

    auxiliary: tuple[SourceWord, ...]
    main: tuple[SourceWord, ...]
    finite: TargetWord
    rest: tuple[TargetWord, ...] = ()


def verb_group(verb: Verb, tense: Tense, subject: NounPhrase, *, support: bool) -> VerbGroup:
    """Conjugate a verb for a subject.

    Args:
        verb: must have a past for the tenses past and perfect.
        tense: the English one; past and perfect both become the passato prossimo.
        subject: what both languages agree with.
        support: whether simple tenses need do, as questions and negations do.
    """
    auxiliary, main = _english(verb, tense, subject, support=support)
    if tense in ("present", "future"):
        conjugate = conjugation.future if tense == "future" else conjugation.present
        only = TargetWord(conjugate(verb.italian, subject.person), auxiliary + main)
        return VerbGroup(auxiliary, main, only)
    if tense == "want":  # i do not want | to buy: the first word of main is the one that is conjugated
        wanting = TargetWord(conjugation.present("volere", subject.person), auxiliary + main[:1])
        return VerbGroup(auxiliary, main, wanting, target_words(verb.italian, main[1:]))
    if tense in ("past", "perfect"):
        finite = verb.auxiliary
        rest = conjugation.participle(verb.participio, verb.auxiliary, subject.gender, subject.plural)
    elif tense == "progressive":
        finite, rest = "stare", conjugation.gerund(verb.italian)
    else:
        finite, rest = _MODALS[tense], verb.italian
    # Auxiliary goes with auxiliary and verb with verb: has seen, ha visto; saw alone goes with both.
    first = TargetWord(conjugation.present(finite, subject.person), auxiliary or main)
    return VerbGroup(auxiliary, main, first, target_words(rest, main))


def _english(
    verb: Verb, tense: Tense, subject: NounPhrase, *, support: bool
) -> tuple[tuple[SourceWord, ...], tuple[SourceWord, ...]]:
    third = subject.person == 2
    if tense == "present":
        auxiliary = ("does" if third else "do") if support else ""
        main = english.third_person(verb.english) if third and not support else verb.english
    elif tense == "progressive":
        auxiliary, main = english.be(subject.person), english.ing(verb.english)
    elif tense == "past":
        auxiliary, main = ("did", verb.english) if support else ("", verb.past)
    elif tense == "perfect":
        auxiliary, main = "has" if third else "have", verb.participle
    elif tense == "want":
        auxiliary = ("does" if third else "do") if support else ""
        wanting = "wants" if third and not support else "want"
        return source_words(auxiliary), source_words(wanting) + source_words("to") + _content(verb.english)
    else:
        auxiliary, main = "will" if tense == "future" else tense, verb.english
    return source_words(auxiliary), _content(main)


def _content(text: str) -> tuple[SourceWord, ...]:
    return source_words(text, content=True)


@dataclass(frozen=True)
class Clause:
    """A subject, a verb group and what goes with them, before they are put in order.

    Attributes:
        subject: a noun phrase or a dropped pronoun.
        verb: the group.
        complements: what follows the verb, in the same order in both languages.
        clitic: an object pronoun: its English word follows the verb, its Italian one goes before.
        negative: whether there is "not".
        adverb: one of never, always, often, already, or none.
        tense: of the English verb.
        needs_time: whether only a time tells its past from its present: i read the book.
        is_state: whether it is about a lasting state, with which a time is odd: i want a dog every week.
    """

    subject: NounPhrase
    verb: VerbGroup
    complements: Phrase = NOTHING
    clitic: Phrase = NOTHING
    negative: bool = False
    adverb: str = ""
    tense: Tense = "present"
    needs_time: bool = False
    is_state: bool = False


def declarative(clause: Clause) -> Phrase:
    """Put a statement in order: the dog has never seen me, il cane non mi ha mai visto."""
    who, negation, adverb = clause.subject.phrase, _negation(clause), _adverb(clause)
    before = who.source + clause.verb.auxiliary + negation.source + adverb.source
    predicate = _predicate(clause, negation, adverb)
    return Phrase(before + predicate.source, who.target + predicate.target) + clause.complements


def yes_no_question(clause: Clause) -> Phrase:
    """Put a question in order: does the dog see me? English inverts, Italian only changes its melody."""
    who, adverb = clause.subject.phrase, _adverb(clause)
    before = clause.verb.auxiliary + who.source + adverb.source
    predicate = _predicate(clause, _negation(clause), adverb)
    return Phrase(before + predicate.source, who.target + predicate.target) + clause.complements


def wh_question(question: Phrase, clause: Clause) -> Phrase:
    """Put a question about something else than the subject in order, as in what did the dog eat.

    In Italian a subject that is said follows the verb: che cosa ha mangiato il cane?
    """
    who, predicate = clause.subject.phrase, _predicate(clause, _negation(clause), _adverb(clause))
    inverted = clause.verb.auxiliary + who.source + predicate.source
    return question + Phrase(inverted, predicate.target + who.target) + clause.complements


def _predicate(clause: Clause, negation: Phrase, adverb: Phrase) -> Phrase:
    """The English verb and object pronoun; in Italian non, pronoun, conjugated verb, adverb, its rest."""
    finite = TargetWord(clause.verb.finite.text, clause.verb.finite.origins + clause.subject.dropped)
    before, after = negation.target, adverb.target
    if clause.adverb == "never":
        before, after = adverb.target[:1], adverb.target[1:]
    clitic = tuple(elided(word, finite.text) for word in clause.clitic.target)
    rest = clause.verb.rest
    if rest and clitic and finite.text in _HAVE:
        rest = tuple(_agreeing_participle(word, clause.clitic) for word in rest)
    return Phrase(clause.verb.main + clause.clitic.source, (*before, *clitic, finite, *after, *rest))


_HAVE = frozenset(conjugation.present("avere", person) for person in range(6))


def elided(clitic: TargetWord, following: str) -> TargetWord:
    """Shorten lo and la before a vowel or h: l'ho visto, l'aspetta."""
    if clitic.text in ("lo", "la") and italian.starts_with_vowel(following):
        return TargetWord("l'", clitic.origins)
    return clitic


def _agreeing_participle(participle: TargetWord, clitic: Phrase) -> TargetWord:
    """Agree the participle after avere with lo, la or li before it: l'ho vista, li ho visti."""
    pronoun = clitic.target[0].text
    if pronoun not in ("la", "li"):
        return participle
    form = italian.inflect(participle.text, "f" if pronoun == "la" else "m", plural=pronoun == "li")
    return TargetWord(form, (*participle.origins, *clitic.source))


def _negation(clause: Clause) -> Phrase:
    words = source_words("not") if clause.negative else ()
    return Phrase(words, target_words("non", words) if words else ())


def _adverb(clause: Clause) -> Phrase:
    if not clause.adverb:
        return Phrase()
    words = source_words(clause.adverb)
    return Phrase(words, target_words(" ".join(_ADVERBS[clause.adverb]), words))
