"""Numbers, times, dates and prices, said in both languages: digits are copied, with each language's marks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_UNITÀ = (
    "zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici "
    "sedici diciassette diciotto diciannove"
).split()
_DECINE = "venti trenta quaranta cinquanta sessanta settanta ottanta novanta".split()
_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
).split()
_ORDINALI = (
    "primo secondo terzo quarto quinto sesto settimo ottavo nono decimo undicesimo dodicesimo tredicesimo "
    "quattordicesimo quindicesimo sedicesimo diciassettesimo diciottesimo diciannovesimo ventesimo"
).split()
_MONTHS = (
    "January February March April May June July August September October November December".split(),
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre".split(),
)
_WEEKDAYS = (
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
    "lunedì martedì mercoledì giovedì venerdì sabato domenica".split(),
)
_CURRENCIES = (
    ("$", "dollars", "dollari"),
    ("€", "euros", "euro"),
    ("£", "pounds", "sterline"),
    ("¥", "yen", "yen"),
)


@dataclass(frozen=True)
class Quantity:
    """One value in the forms that a slot can ask for, by their names; the plain one is called ""."""

    english: Mapping[str, str]
    italian: Mapping[str, str]


def number_word(number: int) -> str:
    """Say 0 to 99 in English: forty-seven."""
    if number < 20:
        return _UNITS[number]
    tens, unit = divmod(number, 10)
    return _TENS[tens - 2] + (f"-{_UNITS[unit]}" if unit else "")


def numerale(number: int) -> str:
    """Say 0 to 99 in Italian: quarantasette, ventuno, ventitré."""
    if number < 20:
        return _UNITÀ[number]
    tens, unit = divmod(number, 10)
    word = _DECINE[tens - 2]
    if unit in (1, 8):
        word = word[:-1]
    return word + ("tré" if unit == 3 else _UNITÀ[unit] if unit else "")


def before_noun(numeral: str) -> str:
    """Say a numeral before what is counted: ventun anni, trentuno."""
    return numeral[:-1] if numeral.endswith("tuno") else numeral


def ordinal_word(number: int) -> str:
    """Write 1st, 2nd, 3rd, 4th, 11th, 21st."""
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def preposed(preposition: str, following: str) -> str:
    """Join a preposition and the article il before a number: il 14, l'8, dell'11, nel 1987."""
    vowel = bool(re.match("[aeiou]|8|11(?!\\d)", following))
    joined = {"": ("il ", "l'"), "in": ("nel ", "nell'"), "di": ("del ", "dell'"), "a": ("al ", "all'")}
    return joined[preposition][vowel] + following


def grouped(number: int, mark: str) -> str:
    """Write a whole number with a mark between thousands; four digits often have none."""
    return f"{number:,}".replace(",", mark)


def _plain(english: str, italian: str) -> Quantity:
    return Quantity({"": english}, {"": italian})


def _number(rng: Random, least: int, most: int) -> Quantity:
    scale = rng.choice([20, 100, 100, 1000, 10_000])
    number = rng.randint(least, max(least, min(most, scale)))
    if number < 100 and rng.random() < 0.5:
        return _plain(number_word(number), numerale(number))
    if number >= 1000 and rng.random() < 0.6:
        return _plain(grouped(number, ","), grouped(number, "."))
    return _plain(str(number), str(number))


def number(rng: Random) -> Quantity:
    """From 2 to 9,999."""
    return _number(rng, 2, 9999)


def small(rng: Random) -> Quantity:
    """From 2 to 20."""
    return _number(rng, 2, 20)


def decimal(rng: Random) -> Quantity:
    """A number with one or two decimals: 3.5, 3,5."""
    digits = rng.choice([1, 1, 2])
    said = f"{rng.uniform(0.1, rng.choice([10, 100])):.{digits}f}"
    return _plain(said, said.replace(".", ","))


def time(rng: Random) -> Quantity:
    """A time of day: 7:30, half past seven, noon, 5 p.m."""
    hour, minute = rng.randint(1, 12), rng.choice([0, 0, 10, 15, 20, 30, 30, 40, 45, rng.randint(1, 59)])
    kind = rng.random()
    if kind < 0.04:
        return _time(*rng.choice([("noon", "mezzogiorno"), ("midnight", "mezzanotte")]))
    if kind < 0.5:
        long = hour if rng.random() < 0.7 else rng.randint(13, 23)
        return _clock(f"{long}:{minute:02}", f"{long}:{minute:02}")
    if kind < 0.6:
        half, metà = rng.choice(
            [("a.m.", "di mattina"), ("p.m.", "del pomeriggio" if 1 <= hour < 6 else "di sera")]
        )
        digits = f"{hour}:{minute:02}" if minute and rng.random() < 0.5 else str(hour)
        return _clock(f"{digits} {half}", f"{digits} {metà}")
    words = _in_words(hour, minute - minute % 5)
    return _time(*words)


def _in_words(hour: int, minute: int) -> tuple[str, str]:
    following = hour % 12 + 1
    if minute == 0:
        return f"{number_word(hour)} o'clock", _ora(hour)
    if minute == 15:
        return f"quarter past {number_word(hour)}", f"{_ora(hour)} e un quarto"
    if minute == 30:
        return f"half past {number_word(hour)}", f"{_ora(hour)} e mezza"
    if minute == 45:
        return f"quarter to {number_word(following)}", f"{_ora(following)} meno un quarto"
    if minute < 30:
        return f"{number_word(minute)} past {number_word(hour)}", f"{_ora(hour)} e {numerale(minute)}"
    left = 60 - minute
    return f"{number_word(left)} to {number_word(following)}", f"{_ora(following)} meno {numerale(left)}"


def _ora(hour: int) -> str:
    return "l'una" if hour == 1 else f"le {numerale(hour)}"


def _clock(english: str, digits: str) -> Quantity:
    return _time(english, f"l'{digits}" if digits.split(":")[0].split()[0] == "1" else f"le {digits}")


def _time(english: str, italian: str) -> Quantity:
    """Forms of a time that is given in Italian with its article, if it has one."""
    at, being = f"a {italian}", f"è {italian}"
    if italian.startswith("le "):
        at, being = f"al{italian}", f"sono {italian}"
    elif italian.startswith("l'"):
        at = f"al{italian}"
    return Quantity(
        {"": english, "at": f"at {english}"},
        {"": italian, "alle": at, "sono": being},
    )


def date(rng: Random) -> Quantity:
    """A day of a month, in half of the cases of a year: May 14, 1987; the 3rd of June."""
    month, day = rng.randrange(12), rng.randint(1, 28)
    name, nome = _MONTHS[0][month], _MONTHS[1][month]
    written = rng.choice(
        [
            f"{name} {day}",
            f"{name} {ordinal_word(day)}",
            f"the {ordinal_word(day)} of {name}",
            f"{day} {name}",
        ]
    )
    giorno = "1º" if day == 1 and rng.random() < 0.3 else "primo" if day == 1 else str(day)
    data = f"{giorno} {nome}"
    if rng.random() < 0.4:
        year = rng.randint(1800, 2030)
        written += f", {year}" if written.startswith(name) else f" {year}"
        data += f" {year}"
    return Quantity(
        {"": written, "on": f"on {written}"},
        {
            "": data,
            "il": preposed("", data),
            "di+il": preposed("di", data),
            "a+il": preposed("a", data),
        },
    )


def year(rng: Random) -> Quantity:
    """A year of the last nine centuries."""
    said = str(rng.choice([rng.randint(1100, 2035), rng.randint(1900, 2030)]))
    return Quantity(
        {"": said},
        {
            "": said,
            "nel": preposed("in", said),
            "il": preposed("", said),
            "di+il": preposed("di", said),
        },
    )


def price(rng: Random) -> Quantity:
    """A price in dollars, euros, pounds or yen: $45, 45 dollari; €12.50, 12,50 euro."""
    sign, english, italian = rng.choice(_CURRENCIES)
    if sign != "¥" and rng.random() < 0.35:
        cents = f"{rng.randint(1, 99)}.{rng.choice([10, 20, 25, 49, 50, 75, 80, 95, 99])}"
        return _plain(f"{sign}{cents}", f"{cents.replace('.', ',')} {italian}")
    value = rng.choice([rng.randint(2, 99), rng.randrange(100, 1000, 5), rng.randrange(1000, 100_000, 50)])
    if rng.random() < 0.5:
        return _plain(
            f"{sign}{grouped(value, ',')}", f"{grouped(value, '.') if value >= 1000 else value} {italian}"
        )
    if value < 100 and rng.random() < 0.4:
        return _plain(f"{number_word(value)} {english}", f"{numerale(value)} {italian}")
    return _plain(f"{grouped(value, ',')} {english}", f"{grouped(value, '.')} {italian}")


def age(rng: Random) -> Quantity:
    """An age from 2 to 99."""
    years = rng.randint(2, 99)
    if rng.random() < 0.5:
        return _plain(number_word(years), before_noun(numerale(years)))
    return _plain(str(years), str(years))


def percent(rng: Random) -> Quantity:
    """A percentage: 20%, il 20%; twenty percent, il venti per cento."""
    share = rng.randint(1, 100)
    if rng.random() < 0.3 and share < 100:
        english, italian = f"{number_word(share)} percent", f"{numerale(share)} per cento"
    else:
        english = italian = f"{share}%" if rng.random() < 0.8 else f"{share}.5%"
        italian = italian.replace(".", ",")
    return Quantity(
        {"": english},
        {
            "": italian,
            "il": preposed("", italian),
            "di+il": preposed("di", italian),
            "a+il": preposed("a", italian),
        },
    )


def code(rng: Random) -> Quantity:
    """A number that names something: of a room, a flight, a telephone."""
    ways = [
        str(rng.randint(1, 999)),
        f"{rng.choice('ABCDEFGHKMRTX')}{rng.randint(1, 99)}",
        f"{rng.randint(100, 999)}-{rng.randint(1000, 9999)}",
        f"{rng.randint(100, 999)} {rng.randint(1000000, 9999999)}",
    ]
    said = rng.choice(ways)
    return _plain(said, said)


def ordinal(rng: Random) -> Quantity:
    """From the second to the twentieth, mostly up to the tenth; Italian in the masculine."""
    place = rng.randint(1, rng.choice([9, 9, 9, 19]))
    return _plain(_ORDINALS[place], _ORDINALI[place])


def weekday(rng: Random) -> Quantity:
    """A day of the week."""
    place = rng.randrange(7)
    return _plain(_WEEKDAYS[0][place], _WEEKDAYS[1][place])


def month(rng: Random) -> Quantity:
    """A month."""
    place = rng.randrange(12)
    return _plain(_MONTHS[0][place], _MONTHS[1][place])


QUANTITIES: Mapping[str, Callable[[Random], Quantity]] = {
    "num": number, "small": small, "decimal": decimal, "time": time, "date": date, "year": year,
    "price": price, "age": age, "percent": percent, "code": code, "ordinal": ordinal, "weekday": weekday,
    "month": month,
}  # fmt: skip
"""What makes a value, by the name of a slot."""
