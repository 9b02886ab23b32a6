"""Texts and formulas for the three kinds of norm."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NormWords:
    """The texts about one kind of norm.

    Attributes:
        name: its name in formulas.
        introduction: what it does to a token.
        what: which statistics of a token's own numbers it uses.
        formula: LaTeX for one dimension d.
        look: what to notice in the normalized numbers, with placeholders for their `mean` and `spread`.
        made: the effect of gamma and beta, with the same placeholders for the numbers after them.
        learned: caption of the picture of gamma and beta.
        initial: says that gamma and beta have the values that training starts from.
    """

    name: str
    introduction: str
    what: str
    formula: str
    look: str
    made: str
    learned: str
    initial: str


LAYER_NORM = (
    "Layer norm treats each token separately: it brings its numbers to mean 0 and deviation 1, then scales "
    "and shifts each dimension by learned γ and β (Ba et al. 2016; section 3.1 of the paper)."
)
MADE = "The learned γ and β turn these into a mean of {mean} and a deviation of {spread}"
GAMMA_BETA = (
    "The learned scale γ and shift β of each dimension; the dashed lines mark their values before training."
)
INITIAL = "γ is 1 and β is 0 in every dimension, as at initialisation"
WITHOUT_NORMS = "This model has no norms, as if its weights had been compiled from a program."
NORMS = {
    "layer": NormWords(
        name="LayerNorm",
        introduction=LAYER_NORM,
        what="uses the mean μ and the deviation σ of a token's own numbers",
        formula=r"\gamma_d \, \frac{x_d - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta_d",
        look="whatever came in, the normalized numbers of every token have mean {mean} and deviation "
        "{spread}",
        made=MADE,
        learned=GAMMA_BETA,
        initial=INITIAL,
    ),
    "layer_unbiased": NormWords(
        name="LayerNorm",
        introduction=f"{LAYER_NORM} This model computes it as the Annotated Transformer does: with the "
        "unbiased deviation (the sum of squares is divided by the number of dimensions less one), and with ε "
        "outside the root.",
        what="uses the mean μ and the unbiased deviation s of a token's own numbers",
        formula=r"\gamma_d \, \frac{x_d - \mu}{s + \epsilon} + \beta_d",
        look="whatever came in, the normalized numbers of every token have mean {mean} and deviation "
        "{spread}: near 1, because the unbiased deviation is slightly larger than the one drawn",
        made=MADE,
        learned=GAMMA_BETA,
        initial=INITIAL,
    ),
    "rms": NormWords(
        name="RMSNorm",
        introduction="RMS norm treats each token separately: it divides its numbers by their root mean "
        "square, then scales each dimension by a learned γ. It is a layer norm without the mean and without "
        "β (Zhang and Sennrich 2019).",
        what="uses the root mean square r of a token's own numbers, and no mean",
        formula=r"\gamma_d \, \frac{x_d}{\sqrt{\overline{x^2} + \epsilon}}",
        look="whatever came in, the normalized numbers of every token have a root mean square of {spread}; "
        "their mean is not subtracted ({mean})",
        made="The learned γ turns these into a mean of {mean} and a root mean square of {spread}",
        learned="The learned scale γ of each dimension; the dashed line marks its value before training.",
        initial="γ is 1 in every dimension, as at initialisation",
    ),
}
"""By `TransformerConfig.norm`."""
