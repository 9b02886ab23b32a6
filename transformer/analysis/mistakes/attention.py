"""Mistakes in attention itself: heads, softmax and scale."""

from __future__ import annotations

from torch import Tensor

from transformer.analysis.mistakes.mistake import Broken, Case, Mistake, Seen, Symptom
from transformer.analysis.mistakes.tapping import reweighed
from transformer.analysis.mistakes.variants import broken_by
from transformer.model.attention import masked_softmax
from transformer.model.config import TransformerConfig
from transformer.run import Run


def fits_all(config: TransformerConfig) -> str:
    """Nothing is missing in any model."""
    return ""


def _softmax_over_queries(scores: Tensor, mask: Tensor) -> Tensor:
    mask = mask.expand(scores.shape)
    return masked_softmax(scores.transpose(-2, -1), mask.transpose(-2, -1)).transpose(-2, -1)


def _farthest_row_sum(run: Run) -> float:
    trace = run.trace
    sums = [trace[path].sum(dim=-1) - 1 for path in trace if path.endswith("attn.weights")]
    return max(float(one.abs().max()) for one in sums)


def _row_sums(case: Case, broken: Broken) -> Symptom:
    return Symptom(
        what="Sum of a row of weights: farthest from 1",
        sound=_farthest_row_sum(broken.sound),
        broken=_farthest_row_sum(broken.run),
        limit=0.01,
    )


SOFTMAX_OVER_QUERIES = Mistake(
    name="softmax-over-queries",
    title="Softmax over the queries",
    group="attention",
    level=1,
    what=(
        "Softmax is taken down the columns instead of along the rows. Each key then deals out one unit of "
        "attention among the queries, and a query gets whatever is left for it: more than one unit, or "
        "hardly any. What it gathers is no longer an average of the values."
    ),
    wrong="weights = scores.softmax(dim=-2)",
    right="weights = scores.softmax(dim=-1)  # over the keys: each row sums to 1",
    seen=(
        Seen(
            "labmlai/annotated_deep_learning_paper_implementations",
            "146",
            "https://github.com/labmlai/annotated_deep_learning_paper_implementations/issues/146",
        ),
    ),
    find="assert torch.allclose(weights.sum(dim=-1), torch.ones(()))",
    broken=broken_by(reweighed(_softmax_over_queries)),
    symptom=_row_sums,
    unfit=fits_all,
)

ATTENTION_MISTAKES = (SOFTMAX_OVER_QUERIES,)
