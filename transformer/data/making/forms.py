"""Forms of dictionary words: plurals, and what regular Italian verbs have beyond the grammar of toy_en_it.

They follow the rules of grammars; None where no rule tells a form: who needs it takes another word.
"""

from __future__ import annotations

import re

from transformer.data.making.libraries import Libraries
from transformer.data.tasks.toy_en_it import conjugation, italian
from transformer.data.tasks.toy_en_it.italian import Gender

_MASS = re.compile("(ology|ism|ness|ics|graphy|nomy|ity|phobia|ship|hood|ance|ence|ing|th|dom|urgy|istry)$")
_PLURALI = {
    "uomo": "uomini", "bue": "buoi", "tempio": "templi", "dito": "dita", "braccio": "braccia",
    "ginocchio": "ginocchia", "osso": "ossa", "lenzuolo": "lenzuola", "labbro": "labbra", "ciglio": "ciglia",
    "mano": "mani", "ala": "ali", "arma": "armi", "moglie": "mogli", "superficie": "superfici", "zio": "zii",
    "amico": "amici", "nemico": "nemici", "greco": "greci", "porco": "porci", "maiale": "maiali",
    "fico": "fichi", "carico": "carichi", "incarico": "incarichi", "valico": "valichi",
    "strascico": "strascichi",
    "asparago": "asparagi", "pendio": "pendii", "ronzio": "ronzii", "addio": "addii", "leggio": "leggii",
}  # fmt: skip
_UNCERTAIN = frozenset(
    "uovo dio centinaio migliaio paio miglio riso muro grido urlo filo fondamento membro".split()
)
"""With plurals of another gender, or of two kinds."""
_INVARIABLE_IN_A = frozenset("cinema puma lama gamma karma delta alpaca".split())
_SOFT_G = ("ologo", "fago")
_HARD_G = ("dialogo", "catalogo", "analogo", "prologo", "epilogo")
"""Psicologi, but prologhi."""
_WITHOUT_ISC = (
    "aprire", "coprire", "offrire", "soffrire", "dormire", "partire", "sentire", "servire", "seguire",
    "vestire", "bollire", "fuggire", "pentire", "cucire", "divertire", "avvertire", "convertire",
    "venire", "salire", "udire", "uscire", "morire", "dire", "apparire", "comparire", "scomparire",
    "riempire", "mentire", "assorbire", "inghiottire", "applaudire", "nutrire", "tossire",
)  # fmt: skip
_IRREGULAR_IN_ARE = re.compile("((^|[^l])(fare|dare|stare|andare)|[^ghcs]iare)$")


def english_plural(noun: str, libraries: Libraries) -> str | None:
    """Pluralize: owls, theses, breast pumps; None for what ends as uncountable nouns do."""
    if _MASS.search(noun):
        return None
    *first, last = noun.split(" ")
    return " ".join([*first, libraries.inflect(last, "NNS")])


def plurale(noun: str, gender: Gender) -> str | None:
    """Pluralize an Italian noun: gatti, problemi, spiagge, città; None where there is more than one way."""
    if noun in _PLURALI:
        return _PLURALI[noun]
    if noun in _UNCERTAIN:
        return None
    if noun[-1] not in "aeo" or noun.endswith("ie"):
        return noun
    if noun.endswith("e"):
        return f"{noun[:-1]}i"
    return _plural_in_o(noun, gender) if noun.endswith("o") else _plural_in_a(noun, gender)


def _plural_in_o(noun: str, gender: Gender) -> str:
    if gender == "f":
        return noun  # foto, radio, auto
    if noun.endswith(_SOFT_G) and not noun.endswith(_HARD_G):
        return f"{noun[:-1]}i"
    return italian.inflect(noun, "m", plural=True)


def _plural_in_a(noun: str, gender: Gender) -> str:
    stem = noun[:-1]
    if gender == "m":
        if not re.search("(ist|m|t|[cg])a$", noun) or noun in _INVARIABLE_IN_A:
            return noun  # gorilla, kea
        return f"{stem}hi" if stem.endswith(("c", "g")) else f"{stem}i"
    if stem.endswith(("c", "g")):
        return f"{stem}he"
    if re.search("[^aeiou][cg]i$", stem):
        return f"{stem[:-1]}e"
    return f"{stem}e"


def is_inflected_by_rule(adjective: str) -> bool:
    """Whether an adjective has the endings of rosso or of verde."""
    return adjective.endswith(("o", "e")) and not adjective.endswith(("tore", "sore", "io"))


def is_regular(infinitive: str) -> bool:
    """Whether a verb is surely conjugated by rule: with -isc-, or in -are unlike fare, dare, inviare."""
    if infinitive.endswith("are"):
        return not _IRREGULAR_IN_ARE.search(infinitive)
    return infinitive.endswith("ire") and not infinitive.endswith(_WITHOUT_ISC)


def present(infinitive: str, person: int) -> str:
    """Conjugate the present of a regular verb: lucido, lucidi; verbs in -ire have -isc-."""
    if infinitive.endswith("ire"):
        return conjugation.present_with_isc(infinitive, person)
    return conjugation.present(infinitive, person)


def imperfect(infinitive: str, person: int) -> str:
    """Conjugate the imperfect: lucidavo, finivo."""
    return infinitive[:-2] + ("vo", "vi", "va", "vamo", "vate", "vano")[person]


def imperative(infinitive: str, person: int) -> str:
    """Ask somebody called tu (person 1) or some called voi (4): lucida, finisci, lucidate."""
    return present(infinitive, 2 if person == 1 and infinitive.endswith("are") else person)


def participle(infinitive: str) -> str:
    """Form the participle of a regular verb: lucidato, finito."""
    return f"{infinitive[:-2]}to"
