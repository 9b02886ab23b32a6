"""Italian verb forms. Persons are numbered 0 io, 1 tu, 2 lui or lei, 3 noi, 4 voi, 5 loro."""

from __future__ import annotations

from transformer.data.tasks.toy_en_it.italian import Gender, inflect

_ENDINGS = {
    "are": ("o", "i", "a", "iamo", "ate", "ano"),
    "ere": ("o", "i", "e", "iamo", "ete", "ono"),
    "ire": ("o", "i", "e", "iamo", "ite", "ono"),
}
_ISC = {"capire", "costruire", "pulire"}
_ISC_ENDINGS = ("isco", "isci", "isce", "iamo", "ite", "iscono")
_IRREGULAR_PRESENT = {
    "andare": ("vado", "vai", "va", "andiamo", "andate", "vanno"),
    "avere": ("ho", "hai", "ha", "abbiamo", "avete", "hanno"),
    "bere": ("bevo", "bevi", "beve", "beviamo", "bevete", "bevono"),
    "dare": ("do", "dai", "dà", "diamo", "date", "danno"),
    "dire": ("dico", "dici", "dice", "diciamo", "dite", "dicono"),
    "dovere": ("devo", "devi", "deve", "dobbiamo", "dovete", "devono"),
    "essere": ("sono", "sei", "è", "siamo", "siete", "sono"),
    "piacere": ("piaccio", "piaci", "piace", "piacciamo", "piacete", "piacciono"),
    "potere": ("posso", "puoi", "può", "possiamo", "potete", "possono"),
    "sapere": ("so", "sai", "sa", "sappiamo", "sapete", "sanno"),
    "scegliere": ("scelgo", "scegli", "sceglie", "scegliamo", "scegliete", "scelgono"),
    "stare": ("sto", "stai", "sta", "stiamo", "state", "stanno"),
    "uscire": ("esco", "esci", "esce", "usciamo", "uscite", "escono"),
    "venire": ("vengo", "vieni", "viene", "veniamo", "venite", "vengono"),
    "volere": ("voglio", "vuoi", "vuole", "vogliamo", "volete", "vogliono"),
}
_IMPERFECT_OF_BEING = ("ero", "eri", "era", "eravamo", "eravate", "erano")
_FUTURE_ENDINGS = ("ò", "ai", "à", "emo", "ete", "anno")
_IRREGULAR_FUTURE_STEMS = {
    "andare": "andr", "avere": "avr", "bere": "berr", "cadere": "cadr", "dare": "dar", "dovere": "dovr",
    "essere": "sar", "fare": "far", "potere": "potr", "sapere": "sapr", "stare": "star", "vedere": "vedr",
    "venire": "verr", "volere": "vorr",
}  # fmt: skip
_IRREGULAR_GERUND_STEMS = {"bere": "bev"}


def present(infinitive: str, person: int) -> str:
    """Conjugate the present indicative: vedo, mangi (not mangii), cerchiamo (c stays hard), pulisce."""
    if infinitive in _IRREGULAR_PRESENT:
        return _IRREGULAR_PRESENT[infinitive][person]
    if infinitive in _ISC:
        return present_with_isc(infinitive, person)
    stem, conjugation = infinitive[:-3], infinitive[-3:]
    ending = _ENDINGS[conjugation][person]
    if conjugation == "are" and ending.startswith("i"):
        return _soften(stem) + ending
    return stem + ending


def present_with_isc(infinitive: str, person: int) -> str:
    """Conjugate the present of a verb in -ire like most of them: pulisco, puliamo."""
    return infinitive[:-3] + _ISC_ENDINGS[person]


def _soften(stem: str) -> str:
    """Spell the stem of a verb in -are before an i: cerch-, pagh-, mang-."""
    if stem.endswith(("c", "g")):
        return f"{stem}h"
    return stem.removesuffix("i")


def was(person: int) -> str:
    """Conjugate the imperfect of essere."""
    return _IMPERFECT_OF_BEING[person]


def future(infinitive: str, person: int) -> str:
    """Conjugate the future: parlerò, cercherò, mangerò, vedrò."""
    return _future_stem(infinitive) + _FUTURE_ENDINGS[person]


def _future_stem(infinitive: str) -> str:
    if infinitive in _IRREGULAR_FUTURE_STEMS:
        return _IRREGULAR_FUTURE_STEMS[infinitive]
    stem, conjugation = infinitive[:-3], infinitive[-3:]
    if conjugation != "are":
        return infinitive[:-1]
    if stem.endswith(("ci", "gi", "sci")):
        stem = stem[:-1]
    elif stem.endswith(("c", "g")):
        stem += "h"
    return f"{stem}er"


def gerund(infinitive: str) -> str:
    """Form the gerund: mangiando, leggendo, bevendo."""
    stem = _IRREGULAR_GERUND_STEMS.get(infinitive, infinitive[:-3])
    return stem + ("ando" if infinitive.endswith("are") else "endo")


def imperative(infinitive: str) -> str:
    """Ask someone called tu: apri, leggi, guarda, pulisci."""
    return present(infinitive, 2 if infinitive.endswith("are") else 1)


def enclitic(infinitive: str, clitic: str) -> str:
    """Join a pronoun to an imperative: aiutami, portaci; dammi, as da' doubles what follows."""
    if infinitive == "dare":
        return f"da{clitic[0]}{clitic}"
    return imperative(infinitive) + clitic


def participle(base: str, auxiliary: str, gender: Gender, plural: bool) -> str:
    """Agree a past participle with the subject after essere (sono andate), not after avere (hanno visto)."""
    return inflect(base, gender, plural) if auxiliary == "essere" else base
