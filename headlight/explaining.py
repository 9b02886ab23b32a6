"""Why a word was written, from notebooks and scripts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from headlight.runs import Run
from transformer.analysis.interventions.questions import NEXT_BEST
from transformer.analysis.receipts.answering import explain
from transformer.analysis.receipts.receipt import HOW, Inquiry, Part, Receipt
from transformer.errors import EditError
from transformer.files import write_text


@dataclass(frozen=True, eq=False, repr=False)
class Why:
    """A number for each part of a run: how much an answer falls without it, or its share.

    Attributes:
        receipt: the numbers, and everything that determines them.
    """

    receipt: Receipt

    def __repr__(self) -> str:
        return f"<Why: {self.receipt.metric}>"

    @property
    def effects(self) -> pd.Series[float]:
        """The effect of each part, the largest first; positive where it spoke for the word."""
        receipt = self.receipt
        series = pd.Series(receipt.effects, index=pd.Index(receipt.names), name=receipt.metric)
        return series.sort_values(ascending=False, kind="stable")

    def save(self, path: str | Path) -> None:
        """Write the receipt, which ``headlight why --receipt`` computes again.

        Raises:
            OSError: the file can't be written.
        """
        write_text(Path(path), self.receipt.to_json())


def why(
    run: Run,
    word: str | int = "",
    *,
    rival: str = NEXT_BEST,
    parts: Part = "heads",
    how: str | None = None,
    reference: Sequence[str] = (),
    other: str = "",
    place: str = "",
    seed: int = 0,
) -> Why:
    """Ask what a word depends on: ``headlight.why(run, "stanco", rival="stanca").effects``.

    Args:
        run: a run from `headlight.run`.
        word: the output word, or its index if it occurs more than once; by default the last one.
        rival: a word to compare with; by default the next best one; "" for the word's own log-probability
            or, for patches, to compare with the word that the other run prefers.
        parts: "heads", or "words" of the input, taken away one by one; "direct" for heads through the
            residual stream alone; "pictures", "sums" or "patches".
        how: what replaces a head ("zero", "mean", "resample") or a word ("unknown", "mean", "resampled",
            "masked"), which picture ("norms", "alti", "gradients", "rollout"), or the direction of patches
            ("noising", "denoising"); by default the first.
        reference: sentences from which "mean" and "resample" take outputs of heads.
        other, place: for patches, the other sentence and what is patched: "decoder resid", or
            "decoder cross_attn z" for heads at all positions together, with a layer's number after it for the
            heads of that layer position by position.
        seed: seed of all draws.

    Raises:
        headlight.EditError: the question makes no sense for this model, or the run has edits.
        headlight.SentenceError: the output has no such word, or the two words can't be compared.
    """
    if run.typed is None:
        raise EditError(
            "This run has edits, and the answer would be that of the model without them: ask about a run "
            "without edits."
        )
    inquiry = Inquiry(
        parts=parts,
        how=how or HOW[parts][0],
        text=run.text,
        target=run.target,
        word=word,
        rival=rival,
        reference=tuple(reference),
        other=other,
        place=place,
        seed=seed,
    )
    return Why(explain(run.model, run.computed, inquiry))
