"""How likely a model's output is to be right: token probabilities, calibrated on other translations.

A network's own probabilities say how likely it was to generate an output, not how often it is right (Guo et
al. 2017, arXiv:1706.04599). The calibration measured after training converts one into the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import torch
from torch import Tensor

from transformer.decoding.request import suppress
from transformer.experience import Calibration, Experience
from transformer.loaded import LoadedModel
from transformer.model_input import copied_words
from transformer.run import Run
from transformer.text.coder import EncodedSentence
from transformer.text.copied import CopiedWords

USUALLY_WRONG = 0.5
"""Probability of being right below which the user is warned."""
STANDS_OUT = 0.1
"""How far below the median a word's probability must be to be unusual."""
FEWEST_WORDS = 3
"""Shorter sources get no claim: calibration needs sentences, and hardly any of a corpus is that short.

For single words of a dictionary the claims of en-it are too high: where they exceed 50 %, 42 % were right.
"""


@dataclass(frozen=True)
class WordConfidence:
    """The confidence in a word of a translation.

    Attributes:
        text: the word.
        probability: probability that it is right.
        is_new: true if two of its pieces were never adjacent inside a word of the training data.
    """

    text: str
    probability: float
    is_new: bool


@dataclass(frozen=True)
class Confidence:
    """The confidence in a translation.

    Attributes:
        probability: probability that the whole translation is right.
        words: its words.
    """

    probability: float
    words: tuple[WordConfidence, ...]

    @property
    def is_usually_wrong(self) -> bool:
        """True if most translations with this confidence were wrong."""
        return self.probability < USUALLY_WRONG

    @property
    def unusual(self) -> tuple[int, ...]:
        """The words that stand out, the least probable first.

        They are probably wrong, invented, or less probable than the median word by more than `STANDS_OUT`.
        """
        if not self.words:
            return ()
        typical = median(word.probability for word in self.words)
        least = max(USUALLY_WRONG, typical - STANDS_OUT)
        found = [i for i, word in enumerate(self.words) if word.is_new or word.probability < least]
        return tuple(sorted(found, key=lambda index: self.words[index].probability))

    @property
    def warning(self) -> str:
        """The warning for a translation that is probably wrong; empty otherwise."""
        if not self.is_usually_wrong:
            return ""
        share = round(10 * self.probability)
        often = f"right in about {share} of 10 cases" if share else "almost never right"
        return f"Probably wrong: when the model was this unsure, it was {often}."


def confidence(
    experience: Experience,
    written: EncodedSentence,
    log_probabilities: Sequence[float],
    copied: CopiedWords | None = None,
) -> Confidence | None:
    """Estimate the confidence in a translation; None without calibration or output.

    Args:
        experience: statistics of the model that generated it.
        written: its pieces, without the end token.
        log_probabilities: log-probability of each piece given those before it, and of the end token if any.
        copied: the words copied from the source.
    """
    measured = experience.calibrations
    if measured is None or not written.ids:
        return None
    sentences, words = measured
    return Confidence(
        calibrated(sentences, sentence_features(log_probabilities)),
        tuple(
            WordConfidence(text, calibrated(words, features), is_new=bool(features[-1]))
            for text, features in zip(
                written.words, word_features(experience, written, log_probabilities, copied), strict=True
            )
        ),
    )


def run_confidence(loaded: LoadedModel, run: Run) -> Confidence | None:
    """The confidence in a run's output; None if its source is too short, or without calibration.

    Also None for a given target, which the model did not choose.
    """
    if loaded.experience is None or not run.generated or not run.steps or is_short(run.source):
        return None
    ids = [step.token_id for step in run.steps]
    written = loaded.target.describe_ids([index for index in ids if index not in loaded.end_ids])
    copied = copied_words(loaded, run.encoder_input.ids) if run.encoder_input else None
    log_p = log_probabilities(loaded, run.target_logits[: len(ids)], ids, copied)
    return confidence(loaded.experience, written, log_p, copied)


def is_short(source: EncodedSentence) -> bool:
    """True if a source has fewer than `FEWEST_WORDS` words, punctuation aside."""
    return sum(any(map(str.isalnum, word)) for word in source.words) < FEWEST_WORDS


def log_probabilities(
    loaded: LoadedModel, logits: Tensor, ids: Sequence[int], copied: CopiedWords | None
) -> list[float]:
    """Log-probability of each target token given those before it, among the tokens that may follow.

    Once a copied word has begun, it is spelled as in the source, with whichever pieces: these cost nothing,
    because their probabilities say nothing about whether the word is right. The same holds where a word
    begins only because the model had no likely continuation: such translations are right as often as others.

    Args:
        logits: (T, V).
        ids: T tokens, one per row.
        copied: the words copied from the source.
    """
    rows = suppress(logits.double(), loaded.target.special_tokens.suppressed)
    most = rows.softmax(-1).amax(-1).tolist()
    if copied is not None:
        for place, row in enumerate(rows):
            row[list(copied.closed(ids[:place]) | copied.invented_letters(ids[:place]))] = -torch.inf
    chosen = torch.tensor(ids, device=rows.device)[:, None]
    found = rows.log_softmax(-1).gather(-1, chosen)[:, 0].tolist()
    is_spelled = [
        copied is not None and copied.is_spelling(ids[:place], surest) for place, surest in enumerate(most)
    ]
    return [0.0 if spelled else own for own, spelled in zip(found, is_spelled, strict=True)]


def calibrated(calibration: Calibration, features: Sequence[float]) -> float:
    """The calibrated probability of being right."""
    *slopes, constant = calibration.weights
    score = constant + sum(slope * feature for slope, feature in zip(slopes, features, strict=True))
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))


def sentence_features(log_probabilities: Sequence[float]) -> list[float]:
    """Features of a translation: mean, minimum and sum of its tokens' log-probabilities."""
    total = float(sum(log_probabilities))
    return [total / len(log_probabilities), float(min(log_probabilities)), total]


def word_features(
    experience: Experience,
    written: EncodedSentence,
    log_probabilities: Sequence[float],
    copied: CopiedWords | None = None,
) -> list[list[float]]:
    """Features of each word: sum of its pieces' log-probabilities, and whether two were never adjacent.

    A copied word is never new, since the source has it.
    """
    found = [[0.0, 0.0] for _ in written.words]
    theirs = copied.words if copied else ()
    for place, (index, word) in enumerate(zip(written.ids, written.word_of, strict=True)):
        found[word][0] += float(log_probabilities[place])
        is_inside = place > 0 and written.word_of[place - 1] == word and written.words[word] not in theirs
        if is_inside and not experience.has_joined(written.ids[place - 1], index):
            found[word][1] = 1.0
    return found
