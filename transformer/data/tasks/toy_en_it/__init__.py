"""The built-in English-Italian task: a small synchronous grammar that makes sentence pairs without end.

Each English sentence has one translation. Where English leaves open what Italian must say, it is decided:

- you is one person, called tu; i, you, we, they and them are masculine, and so is "it" as an object;
- friend, teacher, doctor and other persons are masculine unless English has a word of its own (actress,
  waitress, queen); nurse is infermiera;
- the past tense and the present perfect are both the passato prossimo, but was and were the imperfect; the
  present progressive is stare with the gerund; can is potere, also where one has learnt it (sapere);
- what is "che cosa"; they like is "a loro piace"; to live is abitare;
- an object pronoun goes before a modal verb (lo posso vedere); after avere the participle agrees with lo, la
  and li, but not with mi, ti and ci;
- lo and la are elided before every vowel and h; questo and buona never are, quello and bello always.
"""

from __future__ import annotations

from random import Random

from transformer.data.tasks.pairs import SentencePair, Task, drawn_for_evaluation
from transformer.data.tasks.toy_en_it import sentences
from transformer.data.tasks.toy_en_it.lexicon import IDIOMS

_ALWAYS_TRAINED = frozenset(tuple(translation.split()) for _, translation, _ in IDIOMS)


class ToyEnIt(Task):
    """The task, as training and tests use it."""

    name = "toy-en-it"
    source_language = "en"
    target_language = "it"
    about = """\
A small Transformer that translates simple English sentences into Italian, made to be looked into. It reads
whole words in lower case, those that a grammar written for it (`transformer/data/tasks`) uses. Other words
are `<unk>` to it, and other constructions it has never seen."""
    limits = """\
- You is one person and a man, as are i, we and they where Italian must choose; further conventions are at the
  top of `transformer/data/tasks/toy_en_it/__init__.py`.
- Sentences are short (at most {longest} words in training). The positions reach to {max_len}, but longer
  sentences than those come out badly."""

    def sample(self, rng: Random) -> SentencePair:
        """Make a random pair; to train on or held out."""
        return sentences.sample(rng)

    def is_held_out(self, pair: SentencePair) -> bool:
        """Whether a pair is for evaluation only, by its Italian words without the final mark.

        So no spelling, contraction or punctuation of a held-out sentence is trained on. Idioms, of which
        there are few and which follow no rule, are always trained on.
        """
        words = pair.target[:-1] if pair.target[-1] in ".?!" else pair.target
        return words not in _ALWAYS_TRAINED and drawn_for_evaluation(words)

    def held_out(self, count: int, seed: int) -> list[SentencePair]:
        """Make so many different held-out pairs."""
        found: dict[tuple[str, ...], SentencePair] = {}
        for pair in self.pairs(seed, held_out=True):
            found.setdefault(pair.source, pair)
            if len(found) == count:
                break
        return list(found.values())
