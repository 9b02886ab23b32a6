"""The three kinds of norm in words and formulas. All are ours."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NormWords:
    """What there is to say of a kind of norm.

    Attributes:
        name: as formulas call it.
        introduction: what it does to a token.
        what: what it takes of a token's own numbers.
        formula: in LaTeX, of one dimension d.
        look: what to look at in the normalized numbers; their `mean` and `spread` are to be filled in.
        made: what gamma and beta do, with the same two of the numbers after them.
        learned: what is drawn of them.
    """

    name: str
    introduction: str
    what: str
    formula: str
    look: str
    made: str
    learned: str


LAYER_NORM = (
    "Layer norm takes each token by itself, brings its numbers to mean 0 and deviation 1, and then scales "
    "and shifts each dimension by learned γ and β (Ba et al. 2016; section 3.1 of the paper)."
)
MADE = "The learned γ and β make of them a mean of {mean} and a deviation of {spread}"
GAMMA_BETA = "The learned scale γ and shift β of each dimension; the dashed lines are where training starts."
NORMS = {
    "layer": NormWords(
        name="LayerNorm",
        introduction=LAYER_NORM,
        what="takes the mean μ and the deviation σ over a token's own numbers",
        formula=r"\gamma_d \, \frac{x_d - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta_d",
        look="whatever came in, the normalized numbers of every token have mean {mean} and deviation "
        "{spread}",
        made=MADE,
        learned=GAMMA_BETA,
    ),
    "layer_unbiased": NormWords(
        name="LayerNorm",
        introduction=f"{LAYER_NORM} This model does it as the Annotated Transformer wrote it: by the "
        "unbiased deviation (its squares are divided by one less than there are numbers), and with ε "
        "outside of the root.",
        what="takes the mean μ and the unbiased deviation s over a token's own numbers",
        formula=r"\gamma_d \, \frac{x_d - \mu}{s + \epsilon} + \beta_d",
        look="whatever came in, the normalized numbers of every token have mean {mean} and deviation "
        "{spread}, near 1 because the unbiased deviation is slightly larger than the one drawn",
        made=MADE,
        learned=GAMMA_BETA,
    ),
    "rms": NormWords(
        name="RMSNorm",
        introduction="RMS norm takes each token by itself, divides its numbers by their root mean square, "
        "and then scales each dimension by a learned γ: a layer norm without the mean and without β "
        "(Zhang and Sennrich 2019).",
        what="takes the root mean square r over a token's own numbers, and no mean",
        formula=r"\gamma_d \, \frac{x_d}{\sqrt{\overline{x^2} + \epsilon}}",
        look="whatever came in, the normalized numbers of every token have a root mean square of {spread}; "
        "their mean is not taken away ({mean})",
        made="The learned γ makes of them a mean of {mean} and a root mean square of {spread}",
        learned="The learned scale γ of each dimension; the dashed line is where training starts.",
    ),
}
"""By `TransformerConfig.norm`."""
