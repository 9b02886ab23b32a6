"""Calibrates a model's confidence: how often its translations are right, given their probabilities.

A translation counts as right if its chrF against a reference is at least `LIKE`, a word if a reference
contains it. The reliability diagram uses 10-fold cross-validation over the sentences.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from transformer.analysis.confidence import log_probabilities, sentence_features, word_features
from transformer.data.corpus import Referenced
from transformer.experience import Calibration, Experience, ReliabilityBin
from transformer.loaded import LoadedModel
from transformer.model_input import copied_words, padded
from transformer.training.evaluation.translations import sentence_chrf, source_ids, translate_ids

LIKE = 75.0
"""Minimum chrF against the nearest reference."""
FOLDS = BINS = 10
_RIDGE = 1e-2

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Judged:
    """Sentences or words: features (n, k), whether each is right (n,), and the index of its sentence (n,)."""

    features: Numbers
    right: npt.NDArray[np.bool_]
    sentence: npt.NDArray[np.int64]


def calibrate(experience: Experience, loaded: LoadedModel, data: Sequence[Referenced]) -> Experience:
    """Add calibrations measured on pairs that the model was not trained on.

    Args:
        experience: the model's statistics, to which the calibrations are added.
        loaded: the model, in eval mode.
        data: sources with references, at least a few hundred for stable results.
    """
    sources = [source_ids(loaded, one.source) for one in data]
    targets = dict(translate_ids(loaded, sources))
    texts = [loaded.target.decode(targets[index].ids) for index in range(len(data))]
    chrf = sentence_chrf(texts, [one.references for one in data])
    sentences: list[tuple[list[float], bool, int]] = []
    words: list[tuple[list[float], bool, int]] = []
    for index, one in enumerate(data):
        target = targets[index]
        if not target.ids:
            continue
        ids = [*target.ids, *loaded.end_ids[:1]] if target.ending == "end" else target.ids
        copied = copied_words(loaded, sources[index])
        log_p = log_probabilities(loaded, _logits(loaded, sources[index], ids), ids, copied)
        written = loaded.target.describe_ids(target.ids)
        sentences.append((sentence_features(log_p), chrf[index] >= LIKE, index))
        known = {word for reference in one.references for word in _plain(reference).split()}
        by_word = word_features(experience, written, log_p, copied)
        for text, features in zip(written.words, by_word, strict=True):
            if parts := _plain(text).split():
                words.append((features, known.issuperset(parts), index))
    return replace(experience, calibrations=(_calibration(sentences), _calibration(words)))


@torch.inference_mode()
def _logits(loaded: LoadedModel, source: Sequence[int], ids: Sequence[int]) -> Tensor:
    """Logits (T, V); row i predicts token i of the target."""
    read = [*loaded.start_ids, *ids[:-1]]
    return loaded.model(padded(loaded, [source]), padded(loaded, [read]))[0, len(loaded.start_ids) - 1 :]


def _plain(text: str) -> str:
    """The text in lower case and without punctuation."""
    return " ".join(re.findall(r"\w+", text.lower()))


def _calibration(judged: Sequence[tuple[list[float], bool, int]]) -> Calibration:
    features, right, sentence = zip(*judged, strict=True)
    everything = _Judged(np.array(features), np.array(right), np.array(sentence))
    claimed = _cross_validated(everything)
    order = np.argsort(claimed, kind="stable")
    bins = [
        ReliabilityBin(float(claimed[part].mean()), float(everything.right[part].mean()), len(part))
        for part in np.array_split(order, BINS)
        if len(part)
    ]
    brier = float(((claimed - everything.right) ** 2).mean())
    weights = fit_logistic(everything.features, everything.right)
    return Calibration(tuple(map(float, weights)), tuple(bins), brier)


def _cross_validated(judged: _Judged) -> Numbers:
    """Probability of being right (n,), each predicted by a regression on the other folds."""
    claimed = np.empty(len(judged.right))
    for fold in range(FOLDS):
        own = judged.sentence % FOLDS == fold
        weights = fit_logistic(judged.features[~own], judged.right[~own])
        claimed[own] = _logistic(judged.features[own], weights)
    return claimed


def fit_logistic(features: Numbers, right: npt.NDArray[np.bool_]) -> Numbers:
    """Fit a logistic regression by Newton's method, with a small ridge so that it always converges.

    Args:
        features: (n, k).
        right: (n,).

    Returns:
        Weights (k + 1,), with the intercept last.
    """
    inputs = np.column_stack([features, np.ones(len(features))])
    ridge = _RIDGE * np.eye(inputs.shape[1])
    weights = np.zeros(inputs.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(inputs @ weights, -30, 30)))
        slope = inputs.T @ (right - p) - ridge @ weights
        step = np.linalg.solve(inputs.T @ (inputs * (p * (1 - p))[:, None]) + ridge, slope)
        weights = weights + step
        if np.abs(step).max() < 1e-9:
            break
    return weights


def _logistic(features: Numbers, weights: Numbers) -> Numbers:
    scores: Numbers = features @ weights[:-1] + weights[-1]
    return 1 / (1 + np.exp(-np.clip(scores, -30, 30)))
