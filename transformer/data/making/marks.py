"""Signs that a corpus for learners hardly has: quotes, brackets, dashes, smileys, lists, addresses, sums.

A sign that was never learnt from costs more than itself: the translation stops there, or wanders.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from transformer.data.making import tables
from transformer.data.making.joined import LOWERED, Pair, conjoined
from transformer.data.making.names import draw_first_name

_AROUND = tuple(zip("“\"'‘«„([*_", "”\"'’»“)]*_", strict=True))
_QUOTES = _AROUND[:6]
_BETWEEN = (" – ", " — ", "—", " - ", ": ", "… ", "... ", " / ", " ")
_BULLETS = ("- ", "– ", "• ", "* ", "> ", "→ ", "{}. ", "{}) ", "({}) ", "{}: ")
_SMILEYS = (":)", ":-)", ";)", ":(", ":D", ":P", "xD", "<3", "^^", "(!)", "(?)", "*", "[1]", "→", "✓")
_PICTURES = [
    *range(0x1F300, 0x1F650),
    *range(0x1F680, 0x1F700),
    *range(0x1F900, 0x1FA00),
    *range(0x2600, 0x27C0),
]
_DRAWN_AS = (*[""] * 10, *["\ufe0f"] * 4, *map(chr, range(0x1F3FB, 0x1F400)))
"""What may follow a picture: nothing, that it is one and no letter, or a tone of the skin."""
_SAID = (
    ("said", "ha detto"),
    ("wrote", "ha scritto"),
    ("answered", "ha risposto"),
    ("shouted", "ha gridato"),
)
_ADDRESSED = (
    ("My email address is {}.", "Il mio indirizzo email è {}."), ("Write to {}.", "Scrivi a {}."),
    ("Send it to {}, please.", "Invialo a {}, per favore."), ("It says so on {}.", "Lo dice su {}."),
    ("You can reach her at {}.", "Puoi contattarla a {}."), ("The website is {}.", "Il sito è {}."),
    ("For more information, see {}.", "Per maggiori informazioni vedi {}."), ("{}", "{}"),
    ("I found it on {}.", "L'ho trovato su {}."), ("Click here: {}", "Clicca qui: {}"),
)  # fmt: skip
_ASIDES = (
    ("really", "davvero"), ("I think", "credo"), ("of course", "certo"), ("maybe", "forse"),
    ("again", "di nuovo"), ("as always", "come sempre"), ("at last", "finalmente"),
    ("not today", "non oggi"), ("thank you", "grazie"), ("sorry", "scusa"),
    ("or so they say", "o così dicono"), ("just kidding", "scherzo"), ("for now", "per ora"),
    ("seriously", "sul serio"), ("unfortunately", "purtroppo"), ("see page 12", "vedi pagina 12"),
    ("see below", "vedi sotto"), ("in English", "in inglese"), ("at least for me", "almeno per me"),
    ("I know", "lo so"), ("or not", "o no"), ("finally", "finalmente"), ("I hope", "spero"), ("yes", "sì"),
    ("no joke", "non scherzo"), ("more or less", "più o meno"), ("for example", "per esempio"),
)  # fmt: skip
_WHO = (
    ("my brother", "mio fratello"), ("my sister", "mia sorella"), ("our teacher", "il nostro insegnante"),
    ("a friend of mine", "un mio amico"), ("my cousin", "mio cugino"), ("our neighbor", "la nostra vicina"),
    ("who lives next door", "che abita qui accanto"), ("as you know", "come sai"), ("like me", "come me"),
    ("the author", "l'autore"), ("my best friend", "la mia migliore amica"), ("you know who", "sai chi"),
    ("not the other one", "non l'altro"), ("a doctor", "un medico"), ("the youngest", "il più giovane"),
)  # fmt: skip
_APART = ((" (", ")"), (" – ", " –"), (" - ", " -"), ("—", "—"), (", ", ","))
"""Around what is said of a name; but for the first, the sentence has to go on after it."""
_NAME = re.compile(r"\b[A-Z]\w+\b")
_ENDS = (".", "?", "!")


def marked(pair: Pair, following: Pair, rng: Random) -> Pair | None:
    """Write a pair with signs that it did not have, the same on both sides.

    Returns None where the drawn ones do not fit.

    Args:
        pair: a sentence and its translation.
        following: another, for signs that stand between two.
        rng: chooses the signs.
    """
    return rng.choice(_WAYS)(pair, following, rng)


def _both(pair: Pair, change: Callable[[str], str]) -> Pair:
    return change(pair[0]), change(pair[1])


def _enclosed(pair: Pair, following: Pair, rng: Random) -> Pair:
    begin, end = rng.choice(_AROUND)
    return _both(pair, lambda side: f"{begin}{side}{end}")


def _listed(pair: Pair, following: Pair, rng: Random) -> Pair:
    bullet = rng.choice(_BULLETS).format(rng.choice([str(rng.randint(1, 30)), rng.choice("abcdeABC")]))
    return _both(pair, lambda side: bullet + side)


def _smiling(pair: Pair, following: Pair, rng: Random) -> Pair:
    if rng.random() < 0.3:
        smile = rng.choice(_SMILEYS)
    else:
        smile = (chr(rng.choice(_PICTURES)) + rng.choice(_DRAWN_AS)) * rng.choice([1, 1, 1, 2, 3])
    space = rng.choice([" ", " ", ""])
    smile = (" " if smile[0].isalpha() else space) + smile
    without_end = rng.random() < 0.3
    return _both(pair, lambda side: (side.rstrip(".") if without_end else side) + smile)


def _trailing_off(pair: Pair, following: Pair, rng: Random) -> Pair | None:
    if not all(side.endswith(".") for side in pair):
        return None
    end = rng.choice(["…", "…", "...", "!!!", " …"])
    return _both(pair, lambda side: side.rstrip(".") + end)


def _between(pair: Pair, following: Pair, rng: Random) -> Pair | None:
    sign = rng.choice(_BETWEEN)
    return conjoined(pair, following, (sign, sign))


def _with_an_aside(pair: Pair, following: Pair, rng: Random) -> Pair | None:
    """Another statement, or some words, in brackets at the end."""
    if not all(side.endswith(".") for side in pair):
        return None
    begin, end = rng.choice([("(", ")"), ("(", ")"), ("[", "]")])
    if rng.random() < 0.5:
        joined = conjoined(pair, following, (f" {begin}", f" {begin}"))
        return joined and _both(joined, lambda side: f"{side[:-1]}{end}.")
    said, detto = rng.choice(_ASIDES)
    return f"{pair[0][:-1]} {begin}{said}{end}.", f"{pair[1][:-1]} {begin}{detto}{end}."


def _said(pair: Pair, following: Pair, rng: Random) -> Pair | None:
    if not all(side.endswith(_ENDS) for side in pair):
        return None
    begin, end = rng.choice(_QUOTES)
    name = draw_first_name(rng).name
    said, detto = ("asked", "ha chiesto") if pair[0].endswith("?") else rng.choice(_SAID)
    if rng.random() < 0.5:
        comma = rng.choice([",", ":"])
        return f"{name} {said}{comma} {begin}{pair[0]}{end}", f"{name} {detto}: {begin}{pair[1]}{end}"
    source, target = (side.removesuffix(".") for side in pair)
    comma, virgola = ("", "") if source.endswith(_ENDS) else (",", ",")
    verb = f"{said} {name}" if rng.random() < 0.5 else f"{name} {said}"
    return f"{begin}{source}{comma}{end} {verb}.", f"{begin}{target}{end}{virgola} {detto} {name}."


def _around_a_name(pair: Pair, following: Pair, rng: Random) -> Pair | None:
    """A name that both sides have once, between signs, or with something beside it."""
    once = [
        name
        for name in _NAME.findall(pair[0])
        if name.lower() not in LOWERED and all(_words(side).count(name) == 1 for side in pair)
    ]
    if not once:
        return None
    name, other = rng.choice(once), draw_first_name(rng).name
    begin, end = rng.choice(_AROUND)
    same = f"{begin}{name}{end}"
    beside = rng.choice([f"@{name}", f"#{name}", f"{name} ({rng.randint(1, 2030)})", f"{name} ({other})"])
    who, chi = rng.choice(_WHO)
    is_inside = all(f"{name} " in side for side in pair)
    before, after = rng.choice(_APART if is_inside else _APART[:1])
    apart = f"{name}{before}{who}{after}", f"{name}{before}{chi}{after}"
    source, target = rng.choice([(same, same), (beside, beside), apart])
    pattern = rf"\b{name}\b"
    return re.sub(pattern, source, pair[0]), re.sub(pattern, target, pair[1])


def _words(sentence: str) -> list[str]:
    return re.findall(r"\w+", sentence)


def _addressed(pair: Pair, following: Pair, rng: Random) -> Pair:
    words = [word.lower() for word in tables.surnames() if re.fullmatch("[A-Za-z]+", word)]
    first, second, host = rng.sample(words, 3)
    place = f"{host}.{rng.choice(['com', 'it', 'org', 'net', 'edu', 'co.uk', 'eu'])}"
    path = rng.choice(["", f"/{second}", f"/{second}.html", f"/{first}/{rng.randint(1, 999)}"])
    mail = f"{first}{rng.choice(['.', '_', '', rng.randint(1, 99)])}{second}@{place}"
    page = f"{rng.choice(['https://', 'https://www.', 'www.', ''])}{place}{path}"
    address = rng.choice([mail, page])
    source, target = rng.choice(_ADDRESSED)
    return source.format(address), target.format(address)


def _sum(pair: Pair, following: Pair, rng: Random) -> Pair:
    one, other, result = (rng.choice([rng.randint(0, 20), rng.randint(0, 999), *"abxyAB"]) for _ in range(3))
    left = f"{one} {rng.choice('+-−*×/÷·')} {other}"
    if rng.random() < 0.3:
        return f"What is {left}?", f"Quanto fa {left}?"
    whole = f"{left} {rng.choice('=<>≈')} {result}"
    return whole, whole


_USUAL = (_enclosed, _said, _with_an_aside, _between, _smiling, _around_a_name)
_WAYS: tuple[Callable[[Pair, Pair, Random], Pair | None], ...] = (
    *_USUAL, *_USUAL, *_USUAL, _listed, _listed, _trailing_off, _addressed, _sum
)  # fmt: skip
"""Each as often as it is drawn."""
