"""Clauses about how things are: to be something, somewhere, older, hungry, ten years old; there is."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from transformer.data.tasks.pairs import Phrase, phrase, source_words, target_words
from transformer.data.tasks.toy_en_it import adverbials, conjugation, english, italian
from transformer.data.tasks.toy_en_it.clauses import Clause, Tense, VerbGroup
from transformer.data.tasks.toy_en_it.lexicon import ADJECTIVES, AGES, NOUNS, TOWNS, pick_entry
from transformer.data.tasks.toy_en_it.noun_phrases import (
    COLOURS,
    NounPhrase,
    definite,
    determine,
    genitive,
    name,
    noun_phrase,
    pick_adjective,
    pick_noun,
    possessed,
    prepositional,
    pronoun,
    subject,
)

_EVERYTHING = frozenset().union(*(noun.tags for noun in NOUNS))
_LOCATABLE = frozenset({"animal", "person", "kin", "portable", "press"})
_LIVING = frozenset({"animal", "person", "kin"})
_FEELINGS = {
    "hungry": "fame", "thirsty": "sete", "sleepy": "sonno", "cold": "freddo", "hot": "caldo",
    "right": "ragione", "wrong": "torto", "afraid": "paura",
}  # fmt: skip
"""With avere in Italian: i am hungry, ho fame."""


def being(who: NounPhrase, tense: Tense, *, infinitive: str = "essere") -> VerbGroup:
    """Conjugate to be, as essere, or as avere where Italian says so. The past is the imperfect of essere."""
    if tense == "future":
        will, be = source_words("will"), source_words("be")
        return VerbGroup(will, be, target_words(conjugation.future(infinitive, who.person), will + be)[0])
    past = tense == "past"
    words = source_words(english.was(who.person) if past else english.be(who.person))
    form = conjugation.was(who.person) if past else conjugation.present(infinitive, who.person)
    return VerbGroup(words, (), target_words(form, words)[0])


def _tense(rng: Random) -> Tense:
    tenses: dict[Tense, int] = {"present": 6, "past": 2, "future": 1}
    return rng.choices(list(tenses), list(tenses.values()))[0]


def state(rng: Random, *, question: bool = False) -> Clause:
    """Make a clause with to be; questions have no "not"."""
    rules = [described, located, profession, presented, compared, aged, feeling, favourite]
    clause = rng.choices(rules, [10, 6, 3, 4, 3, 2, 3, 5])[0](rng)
    if question or rng.random() > 0.15 or clause.adverb:
        return clause
    return replace(clause, negative=True)


def described(rng: Random) -> Clause:
    """Say what someone or something is like: the apples are very red, le mele sono molto rosse."""
    clause = described_as(rng, subject(rng, _LIVING if rng.random() < 0.5 else _EVERYTHING - _LIVING))
    return clause or described(rng)


def described_as(rng: Random, who: NounPhrase) -> Clause | None:
    """Say what a given subject is like; None if no adjective suits it."""
    adjective = pick_adjective(rng, who.tags)
    if adjective is None:
        return None
    form = italian.inflect(adjective.italian, who.gender, who.plural)
    degrees = [Phrase(), phrase("very", "molto"), phrase("too", "troppo")]
    degree = rng.choices(degrees, [10, 3, 1])[0] if adjective.comparative else Phrase()
    adverb = rng.choices(["", "always", "never"], [12, 1, 1])[0] if not degree.source else ""
    complement = degree + phrase(adjective.english, form, content=True)
    tense = _tense(rng)
    return Clause(who, being(who, tense), complement, adverb=adverb, tense=tense)


def located(rng: Random, *, place: bool = False) -> Clause:
    """Say where someone or something is, or, if `place`, a place: the bank is near the station."""
    tense = _tense(rng)
    if place:
        where_to_go = determine(
            rng, "the", pick_noun(rng, {"at", "in", "to"}), plural=False, adjectives=False
        )
        return Clause(
            where_to_go, being(where_to_go, "present"), adverbials.place(rng, "near", among={"place"})
        )
    who = subject(rng, _LOCATABLE)
    where = adverbials.location(rng) if who.tags & {"person", "kin"} else adverbials.position(rng)
    return Clause(who, being(who, tense), where, tense=tense)


def profession(rng: Random) -> Clause:
    """Say what someone does: my father is a doctor, mio padre è un medico; the plural has no article."""
    who = subject(rng, {"person", "kin"})
    jobs = [noun for noun in NOUNS if "job" in noun.tags and noun.gender == who.gender]
    job = determine(rng, "bare" if who.plural else "a", rng.choice(jobs), plural=who.plural)
    return Clause(who, being(who, "future" if rng.random() < 0.1 else "present"), job.phrase)


def presented(rng: Random) -> Clause:
    """Say who or what it is: this is my house, questa è la mia casa; he is my brother, è mio fratello."""
    if rng.random() < 0.4:
        who = pronoun(rng.choice(["you", "he", "she", "they"]))
        related = [noun for noun in NOUNS if noun.tags & {"kin", "related"} and noun.gender == who.gender]
        noun = rng.choice([noun for noun in related if noun.plural or not who.plural])
        relative = determine(rng, "my", noun, plural=who.plural, without={"your"})
        return Clause(who, being(who, "present"), relative.phrase)
    noun = pick_noun(rng, _EVERYTHING - {"place"})
    plural = bool(noun.plural) and rng.random() < 0.35
    kinds = ["the", "my", "genitive"] if plural or not noun.countable else ["the", "a", "a", "my", "genitive"]
    thing = determine(rng, "my" if "kin" in noun.tags else rng.choice(kinds), noun, plural=plural)
    what = rng.choice(["this", "that", "it"])
    if what == "it" and not thing.plural:
        who = NounPhrase(Phrase(source_words("it")), thing.gender, thing.person, thing.tags)
    else:
        plural_word = "these" if what == "this" else "those"
        form = italian.inflect("questo" if what == "this" else "quello", thing.gender, thing.plural)
        word = plural_word if thing.plural else "this" if what == "this" else "that"
        who = NounPhrase(phrase(word, form), thing.gender, thing.person, thing.tags)
    return Clause(who, being(who, "present"), thing.phrase)


def compared(rng: Random) -> Clause:
    """Compare two: the dog is bigger than the cat, il cane è più grande del gatto."""
    adjective = rng.choice([adjective for adjective in ADJECTIVES if adjective.comparative])
    who = noun_phrase(rng, adjective.describes)
    other = noun_phrase(rng, who.tags & adjective.describes)
    form = italian.inflect(adjective.italian, who.gender, who.plural)
    more, _, positive = adjective.comparative.rpartition(" ")
    if more:
        degree = phrase(more, "più") + phrase(positive, form, content=True)
    else:
        degree = phrase(adjective.comparative, f"più {form}", content=True)
    return Clause(who, being(who, "present"), degree + prepositional(source_words("than"), "di", other))


def aged(rng: Random) -> Clause:
    """Say how old someone is, which Italian has: my sister is ten years old, mia sorella ha dieci anni."""
    who = subject(rng, {"person", "kin", "animal"})
    years = phrase(*pick_entry(rng, AGES)) + phrase("years old", "anni")
    return Clause(who, being(who, "present", infinitive="avere"), years)


def feeling(rng: Random) -> Clause:
    """Say what someone feels, which Italian has: i am afraid of the dog, ho paura del cane."""
    who = subject(rng, _LIVING)
    feelings = list(_FEELINGS) if "animal" not in who.tags else ["hungry", "thirsty", "cold", "afraid"]
    word = rng.choice(feelings)
    complement = phrase(word, _FEELINGS[word])
    if word == "afraid":
        complement += prepositional(source_words("of"), "di", noun_phrase(rng, {"animal"}))
    return Clause(who, being(who, "present", infinitive="avere"), complement)


def favourite(rng: Random) -> Clause:
    """Say what is liked best: my favourite animal is the raccoon, il mio animale preferito è il procione."""
    category = rng.choice(list(CATEGORIES))
    whose = favourite_of(rng, category)
    member = _member(rng, category)
    first, second = (whose, member) if rng.random() < 0.75 else (member, whose)
    return Clause(first, being(first, "present"), second.phrase)


CATEGORIES: dict[str, tuple[str, italian.Gender]] = {
    "animal": ("animale", "m"), "food": ("cibo", "m"), "drink": ("bevanda", "f"), "fruit": ("frutto", "m"),
    "instrument": ("strumento", "m"), "colour": ("colore", "m"), "city": ("città", "f"),
    "day": ("giorno", "m"), "season": ("stagione", "f"),
}  # fmt: skip
"""What one may have a favourite of, with its translation and gender."""
_SEASONS = {"spring": "primavera", "summer": "estate", "autumn": "autunno", "winter": "inverno"}
_DAYS = {
    "monday": "lunedì", "tuesday": "martedì", "wednesday": "mercoledì", "thursday": "giovedì",
    "friday": "venerdì", "saturday": "sabato", "sunday": "domenica",
}  # fmt: skip
_FEMININE = frozenset({"primavera", "estate", "domenica"})


def favourite_of(rng: Random, category: str) -> NounPhrase:
    """Say whose favourite: my favourite animal, anna's favourite animal; preferito follows its noun."""
    translation, gender = CATEGORIES[category]
    noun, adjective = phrase(category, translation, content=True), source_words("favourite")
    form = target_words(italian.inflect("preferito", gender, plural=False), adjective)
    np = NounPhrase(Phrase(adjective + noun.source, noun.target + form), gender, 2, frozenset())
    if rng.random() < 0.15:
        return genitive(name(rng), np)
    return possessed(rng.choice(list(italian.POSSESSIVES)), np)


def _member(rng: Random, category: str) -> NounPhrase:
    """Pick one of a category. What English leaves bare gets an article: tea, il tè; red, il rosso."""
    if category == "city":
        return NounPhrase(phrase(*pick_entry(rng, TOWNS), content=True), "f", 2, frozenset())
    if category in ("animal", "fruit", "instrument"):
        return determine(rng, "the", pick_noun(rng, {category}), plural=False, adjectives=False)
    if category in ("food", "drink"):
        tasty = [noun for noun in NOUNS if category in noun.tags and not noun.countable]
        return generic(determine(rng, "bare", rng.choice(tasty), plural=False, adjectives=False))
    if category == "colour":
        colours = {
            adjective.english: adjective.italian for adjective in ADJECTIVES if adjective.english in COLOURS
        }
        return _named(rng, colours)
    return _named(rng, _DAYS if category == "day" else _SEASONS)


def _named(rng: Random, names: dict[str, str]) -> NounPhrase:
    word, translation = pick_entry(rng, names)
    gender: italian.Gender = "f" if translation in _FEMININE else "m"
    return generic(NounPhrase(phrase(word, translation, content=True), gender, 2, frozenset()))


def generic(np: NounPhrase) -> NounPhrase:
    """Give a bare noun the article that Italian needs for a whole kind: cats, i gatti."""
    with_article = definite(np)
    article = with_article.phrase.target[0].text
    target = target_words(article, np.phrase.source[-1:]) + np.phrase.target
    return NounPhrase(Phrase(np.phrase.source, target), np.gender, np.person, np.tags, has_article=True)


def existence(rng: Random, *, question: bool = False) -> Phrase:
    """Say that something is there: there are two cats in the garden, ci sono due gatti nel giardino."""
    tags = {"animal", "person", "portable", "food", "drink"}
    noun = pick_noun(rng, tags)
    plural = bool(noun.plural) and rng.random() < 0.5
    past = rng.random() < 0.2
    person = 5 if plural else 2
    there = source_words("there")
    be = source_words(english.was(person) if past else english.be(person))
    form = conjugation.was(person) if past else conjugation.present("essere", person)
    ci = target_words("c'" if form.startswith(("e", "è")) else "ci", there) + target_words(form, be)
    where = adverbials.location(rng) if "person" in noun.tags else adverbials.position(rng)
    if not question and (plural or not noun.countable) and rng.random() < 0.15:
        no = source_words("no")
        np = determine(rng, "bare", noun, plural=plural)
        return Phrase(there + be + no, target_words("non", no) + ci) + np.phrase + where
    kind = "some" if not noun.countable else rng.choice(["number", "some", "many"]) if plural else "a"
    np = determine(rng, kind, noun, plural=plural)
    return Phrase(be + there if question else there + be, ci) + np.phrase + where
