import pytest

from transformer.data.tasks.toy_en_it import conjugation, english, italian
from transformer.data.tasks.toy_en_it.italian import Gender
from transformer.data.tasks.toy_en_it.lexicon import ADJECTIVES, NOUNS, VERBS


@pytest.mark.parametrize(
    "gender, plural, following, article",
    [
        ("m", False, "gatto", "il"),
        ("m", False, "sale", "il"),
        ("m", False, "zaino", "lo"),
        ("m", False, "studente", "lo"),
        ("m", False, "psicologo", "lo"),
        ("m", False, "gnomo", "lo"),
        ("m", False, "yogurt", "lo"),
        ("m", False, "uomo", "l'"),
        ("m", False, "hotel", "l'"),
        ("m", True, "gatti", "i"),
        ("m", True, "zaini", "gli"),
        ("m", True, "uomini", "gli"),
        ("f", False, "zuppa", "la"),
        ("f", False, "acqua", "l'"),
        ("f", True, "acque", "le"),
        ("f", True, "scarpe", "le"),
    ],
)
def test_definite_article(gender: Gender, plural: bool, following: str, article: str) -> None:
    assert italian.definite_article(gender, plural, following) == article


@pytest.mark.parametrize(
    "gender, following, article",
    [
        ("m", "gatto", "un"),
        ("m", "amico", "un"),
        ("m", "zaino", "uno"),
        ("m", "specchio", "uno"),
        ("f", "mela", "una"),
        ("f", "scarpa", "una"),
        ("f", "arancia", "un'"),
    ],
)
def test_indefinite_article(gender: Gender, following: str, article: str) -> None:
    assert italian.indefinite_article(gender, following) == article


@pytest.mark.parametrize(
    "preposition, forms",
    [
        ("a", "al allo all' alla ai agli alle"),
        ("da", "dal dallo dall' dalla dai dagli dalle"),
        ("di", "del dello dell' della dei degli delle"),
        ("in", "nel nello nell' nella nei negli nelle"),
        ("su", "sul sullo sull' sulla sui sugli sulle"),
    ],
)
def test_articulated_prepositions(preposition: str, forms: str) -> None:
    articles = ["il", "lo", "l'", "la", "i", "gli", "le"]
    assert [italian.fuse(preposition, article) for article in articles] == forms.split()


@pytest.mark.parametrize("preposition", ["con", "per", "sotto"])
def test_other_prepositions_stand_alone(preposition: str) -> None:
    assert italian.fuse(preposition, "il") is None


@pytest.mark.parametrize(
    "following, plural, gender, forms",
    [
        ("cane", False, "m", ("quel", "bel", "buon", "del")),
        ("studente", False, "m", ("quello", "bello", "buono", "dello")),
        ("amico", False, "m", ("quell'", "bell'", "buon", "dell'")),
        ("casa", False, "f", ("quella", "bella", "buona", "della")),
        ("isola", False, "f", ("quell'", "bell'", "buona", "dell'")),
        ("cani", True, "m", ("quei", "bei", "buoni", "dei")),
        ("alberi", True, "m", ("quegli", "begli", "buoni", "degli")),
        ("studenti", True, "m", ("quegli", "begli", "buoni", "degli")),
        ("isole", True, "f", ("quelle", "belle", "buone", "delle")),
    ],
)
def test_words_that_change_before_nouns(
    following: str, plural: bool, gender: Gender, forms: tuple[str, ...]
) -> None:
    rules = (italian.that, italian.beautiful, italian.good, italian.partitive)
    assert tuple(rule(gender, plural, following) for rule in rules) == forms


@pytest.mark.parametrize(
    "forms",
    [
        "rosso rossa rossi rosse",
        "bianco bianca bianchi bianche",
        "lungo lunga lunghi lunghe",
        "simpatico simpatica simpatici simpatiche",
        "vecchio vecchia vecchi vecchie",
        "grigio grigia grigi grigie",
        "verde verde verdi verdi",
        "marrone marrone marroni marroni",
        "blu blu blu blu",
        "rosa rosa rosa rosa",
        "nuovo nuova nuovi nuove",
        "selvatico selvatica selvatici selvatiche",
    ],
)
def test_adjectives_agree(forms: str) -> None:
    masculine, feminine, masculines, feminines = forms.split()
    assert italian.inflect(masculine, "m", False) == masculine
    assert italian.inflect(masculine, "f", False) == feminine
    assert italian.inflect(masculine, "m", True) == masculines
    assert italian.inflect(masculine, "f", True) == feminines


@pytest.mark.parametrize(
    "owner, forms",
    [
        ("my", "mio mia miei mie"),
        ("your", "tuo tua tuoi tue"),
        ("his", "suo sua suoi sue"),
        ("her", "suo sua suoi sue"),
        ("our", "nostro nostra nostri nostre"),
        ("their", "loro loro loro loro"),
    ],
)
def test_possessives_agree_with_what_is_possessed(owner: str, forms: str) -> None:
    agreements: list[tuple[Gender, bool]] = [("m", False), ("f", False), ("m", True), ("f", True)]
    assert [italian.possessive(owner, *agreement) for agreement in agreements] == forms.split()


@pytest.mark.parametrize(
    "infinitive, forms",
    [
        ("parlare", "parlo parli parla parliamo parlate parlano"),
        ("mangiare", "mangio mangi mangia mangiamo mangiate mangiano"),
        ("studiare", "studio studi studia studiamo studiate studiano"),
        ("cercare", "cerco cerchi cerca cerchiamo cercate cercano"),
        ("spiegare", "spiego spieghi spiega spieghiamo spiegate spiegano"),
        ("vedere", "vedo vedi vede vediamo vedete vedono"),
        ("leggere", "leggo leggi legge leggiamo leggete leggono"),
        ("dormire", "dormo dormi dorme dormiamo dormite dormono"),
        ("pulire", "pulisco pulisci pulisce puliamo pulite puliscono"),
        ("scegliere", "scelgo scegli sceglie scegliamo scegliete scelgono"),
        ("venire", "vengo vieni viene veniamo venite vengono"),
        ("dare", "do dai dà diamo date danno"),
    ],
)
def test_present(infinitive: str, forms: str) -> None:
    assert [conjugation.present(infinitive, person) for person in range(6)] == forms.split()


@pytest.mark.parametrize(
    "infinitive, form",
    [
        ("parlare", "parlerò"),
        ("mangiare", "mangerò"),
        ("cercare", "cercherò"),
        ("spiegare", "spiegherò"),
        ("studiare", "studierò"),
        ("assaggiare", "assaggerò"),
        ("prendere", "prenderò"),
        ("dormire", "dormirò"),
        ("vedere", "vedrò"),
        ("bere", "berrò"),
        ("venire", "verrò"),
        ("essere", "sarò"),
        ("dare", "darò"),
        ("dipingere", "dipingerò"),
    ],
)
def test_future(infinitive: str, form: str) -> None:
    assert conjugation.future(infinitive, 0) == form


def test_gerund_imperative_and_participle() -> None:
    assert [conjugation.gerund(verb) for verb in ("mangiare", "bere", "dormire")] == [
        "mangiando",
        "bevendo",
        "dormendo",
    ]
    assert [conjugation.imperative(verb) for verb in ("guardare", "leggere", "pulire", "scegliere")] == [
        "guarda",
        "leggi",
        "pulisci",
        "scegli",
    ]
    assert conjugation.enclitic("aiutare", "mi") == "aiutami"
    assert conjugation.enclitic("dare", "ci") == "dacci"
    assert conjugation.participle("andato", "essere", "f", True) == "andate"
    assert conjugation.participle("visto", "avere", "f", True) == "visto"


@pytest.mark.parametrize(
    "base, third, progressive",
    [
        ("see", "sees", "seeing"),
        ("watch", "watches", "watching"),
        ("study", "studies", "studying"),
        ("play", "plays", "playing"),
        ("go", "goes", "going"),
        ("have", "has", "having"),
        ("run", "runs", "running"),
        ("look for", "looks for", "looking for"),
        ("wash", "washes", "washing"),
    ],
)
def test_english_verbs(base: str, third: str, progressive: str) -> None:
    assert english.third_person(base) == third
    assert english.ing(base) == progressive


@pytest.mark.parametrize(
    "word, article",
    [("apple", "an"), ("university", "a"), ("umbrella", "an"), ("house", "a"), ("ugly", "an")],
)
def test_a_and_an(word: str, article: str) -> None:
    assert english.indefinite_article(word) == article


@pytest.mark.parametrize(
    "words, contracted",
    [
        ("i am here", "i 'm here"),
        ("i am not here", "i 'm not here"),
        ("she is not here", "she is n't here"),
        ("they do not sing", "they do n't sing"),
        ("we will not sing", "we wo n't sing"),
        ("he can not sing", "he ca n't sing"),
        ("the dog has eaten", "the dog has eaten"),
        ("you have eaten", "you 've eaten"),
    ],
)
def test_contractions(words: str, contracted: str) -> None:
    assert english.contract(words.split(), fixed=set()) == contracted.split()


def test_have_as_a_main_verb_is_not_contracted() -> None:
    assert english.contract(["i", "have", "two", "cats"], fixed={1}) == ["i", "have", "two", "cats"]


def test_an_english_word_has_one_translation() -> None:
    assert len({noun.english for noun in NOUNS}) == len(NOUNS)
    assert len({adjective.english for adjective in ADJECTIVES}) == len(ADJECTIVES)
    assert len({(verb.english, bool(verb.object)) for verb in VERBS}) == len(VERBS)
    forms = [form for noun in NOUNS for form in (noun.english, noun.plural) if form]
    assert len(set(forms)) == len(forms)


def test_tables_are_complete() -> None:
    for noun in NOUNS:
        assert bool(noun.plural) == bool(noun.plurale)
        assert noun.gender in ("m", "f", "mf")
        assert noun.tags
    used = frozenset[str]().union(*(noun.tags for noun in NOUNS))
    for adjective in ADJECTIVES:
        assert adjective.describes <= used, adjective
    for verb in VERBS:
        assert verb.subject <= used, verb
        assert verb.object <= used, verb
        assert bool(verb.past) == bool(verb.participle)
        assert verb.italian.endswith(("are", "ere", "ire"))
        assert verb.participio.endswith("o")
