"""To like, which Italian turns round: i like the cats, mi piacciono i gatti (the cats please me)."""

from __future__ import annotations

from random import Random

from transformer.data.tasks.pairs import Phrase, SourceWord, TargetWord, source_words, target_words
from transformer.data.tasks.toy_en_it import conjugation
from transformer.data.tasks.toy_en_it.lexicon import DATIVE_OF_SUBJECT
from transformer.data.tasks.toy_en_it.noun_phrases import (
    NounPhrase,
    determine,
    noun_phrase,
    pick_noun,
    prepositional,
)
from transformer.data.tasks.toy_en_it.noun_phrases import subject as pick_subject
from transformer.data.tasks.toy_en_it.states import generic
from transformer.data.tasks.toy_en_it.verbal import INTRANSITIVE

Words = tuple[TargetWord, ...]

_LIKED = frozenset({"animal", "food", "drink", "song", "watchable", "readable", "place", "wearable", "plant"})


def liking(rng: Random, *, question: bool = False) -> Phrase:
    """Say or ask what someone likes: a thing, a kind of thing, or doing something."""
    who = pick_subject(rng, {"person", "kin", "animal"}, joined=False)
    negative = not question and rng.random() < 0.2
    third = who.person == 2
    support = source_words("does" if third else "do") if question or negative else ()
    like = source_words("likes" if third and not support else "like")
    no = source_words("not") if negative else ()
    liked, plural = _liked(rng, who)
    verb = target_words(conjugation.present("piacere", 5 if plural else 2), support + like)
    non = target_words("non", no) if negative else ()
    experiencer = who.phrase.source
    source = support + experiencer + like if question else experiencer + support + no + like
    return Phrase(source + liked.source, _to_whom(who, like, non) + verb + liked.target)


def _to_whom(who: NounPhrase, like: tuple[SourceWord, ...], non: Words) -> Words:
    """Order non and whom it pleases: non mi piace, but a mia sorella non piace, a loro non piace."""
    if not who.dropped:
        return prepositional(like, "a", who).target + non
    words = target_words(DATIVE_OF_SUBJECT[who.dropped[0].text], who.dropped)
    return words + non if len(words) == 2 else non + words


def _liked(rng: Random, who: NounPhrase) -> tuple[Phrase, bool]:
    """Pick what is liked, and whether the Italian verb is plural."""
    kind = rng.random()
    if kind < 0.25:
        verb = rng.choice(
            [verb for verb in INTRANSITIVE if verb.aspect == "action" and verb.subject & who.tags]
        )
        words = source_words("to") + source_words(verb.english, content=True)
        return Phrase(words, target_words(verb.italian, words)), False
    if kind < 0.6:
        noun = pick_noun(rng, _LIKED)
        np = generic(determine(rng, "bare", noun, plural=noun.countable))
        return np.phrase, np.plural
    np = noun_phrase(rng, _LIKED)
    return np.phrase, np.plural
