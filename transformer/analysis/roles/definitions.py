"""The roles of heads: what each is, and where its definition is from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Role = Literal[
    "previous",
    "next",
    "same",
    "offset",
    "position",
    "special",
    "duplicate",
    "induction",
    "alignment",
    "copying",
]
ROLES: tuple[Role, ...] = get_args(Role)
VERSION = 1
"""Version of the definitions: scores of different versions can't be compared."""


@dataclass(frozen=True)
class Definition:
    """What a role is.

    Attributes:
        label: its name on pages.
        measures: what its score is, from 0 to 1.
        source: where the definition is from.
        floor: the least strength (`verdicts.strength`) of a head that has the role.
        goes_beyond: True if what position alone explains is subtracted before the score is judged.
    """

    label: str
    measures: str
    source: str
    floor: float = 0.2
    goes_beyond: bool = False


DEFINITIONS: dict[Role, Definition] = {
    "previous": Definition(
        "previous token",
        "the mean weight on the token before the query, over rows with a choice of keys",
        "Voita et al. 2019, section 5.1 (arXiv:1905.09418); Clark et al. 2019, section 3.1 "
        "(arXiv:1906.04341)",
    ),
    "next": Definition(
        "next token",
        "the mean weight on the token after the query",
        "Voita et al. 2019, section 5.1 (arXiv:1905.09418)",
    ),
    "same": Definition(
        "same token",
        "the mean weight on the query's own position",
        "Clark et al. 2019, section 3.1 (arXiv:1906.04341)",
    ),
    "offset": Definition(
        "fixed offset",
        "the mean weight at the distance from the query that gets most; in cross-attention, from the "
        "straight line between the first and the last pair of tokens",
        "Raganato et al. 2020, section 3 (arXiv:2002.10260)",
    ),
    "position": Definition(
        "position only",
        "the share of the weights' variance around uniform attention that their means at each distance "
        "explain; the means leave out the sentence itself",
        "Coefficient of determination; the fixed patterns of Raganato et al. 2020 (arXiv:2002.10260) "
        "generalised",
        floor=0.5,
    ),
    "special": Definition(
        "special tokens",
        "the mean weight on the tokens that frame the text and on punctuation: an attention sink",
        "Clark et al. 2019, section 3.2 (arXiv:1906.04341); Xiao et al. 2023 (arXiv:2309.17453)",
        goes_beyond=True,
    ),
    "duplicate": Definition(
        "duplicate token",
        "the mean weight on other occurrences of the query's token, over rows that have any",
        "Wang et al. 2022, section 3 (arXiv:2211.00593)",
        goes_beyond=True,
    ),
    "induction": Definition(
        "induction",
        "the mean weight on the token after the previous occurrence of the query's token, in the second half "
        "of random sequences of 5 to 20 tokens that are read twice",
        "Olsson et al. 2022, “In-context Learning and Induction Heads” (arXiv:2209.11895)",
        goes_beyond=True,
    ),
    "alignment": Definition(
        "alignment",
        "the mean weight on the source word without which the output word loses most log-probability (at "
        "least 1 nat), from the position that writes the word or from the one that reads it: whichever gives "
        "the head more",
        "Li et al. 2019 (arXiv:1906.10282) for alignment by knocking out source words; Kobayashi et al. "
        "2020, section 5 (arXiv:2004.10102) for the two positions",
        goes_beyond=True,
    ),
    "copying": Definition(
        "copying",
        "the mean share of the vocabulary whose logits the head's values and outputs (W_U W_O W_V W_E) raise "
        "less than the logit of the token that is attended to; 0.5 is chance",
        "Elhage et al. 2021, “A Mathematical Framework for Transformer Circuits”, “copying heads”",
        floor=0.5,
    ),
}

MEASURES = (
    "previous",
    "next",
    "same",
    "special",
    "duplicate",
    "induction",
    "writing",
    "reading",
    "copying",
    "repeat",
)
"""Sums kept for each sentence: a role's own, or a part of it.

"writing" and "reading" are the two positions of alignment, "repeat" is induction in the sentence itself, used
to find examples.
"""
INDEX = {name: number for number, name in enumerate(MEASURES)}
EXAMPLES_FROM: dict[Role, str] = {"induction": "repeat"}
"""The measure that ranks a role's example sentences, where it isn't the role's own."""
