"""What each attention does, and what to look for in it. All words here are ours."""

from transformer.analysis.attention_maps import Attention
from transformer.model.config import Kind
from transformer.text.coder import Unit

WHAT: dict[Attention, str] = {
    "encoder": "**Encoder self-attention.** Each source {unit} looks at all source {unit}s, itself included, "
    "and takes up a mix of what they carry. A row says how one {unit} divides its attention: it sums to 1.",
    "decoder": "**Decoder self-attention.** Each target {unit} looks at itself and the target {unit}s before "
    "it. What comes later is closed by the causal mask: when the {unit} was written, it did not exist.",
    "cross": "**Cross-attention.** Each target position looks at the source {unit}s. The row of a {unit} "
    "shows where the model looks while it chooses the *next* {unit}; the top row, of what each target begins "
    "with, belongs to the first.",
}

ALONE: dict[Attention, str] = {
    "encoder": "**Self-attention.** Each {unit} looks at all {unit}s of the sentence, before it and after "
    "it, and takes up a mix of what they carry. A row says how one {unit} divides its attention: it "
    "sums to 1.",
    "decoder": "**Self-attention.** Each {unit} looks at itself and the {unit}s before it, to find the "
    "*next* one. What comes later is closed by the causal mask: when the {unit} was written, it did not "
    "exist.",
}
"""What the attention of a model of one stack is."""

LOOK: dict[Attention, str] = {
    "encoder": "neighbours (stripes beside the diagonal), the same {unit} (the diagonal), a column that all "
    "rows share (an attention sink, often the full stop or a special token: there a head rests that has "
    "nothing to find), "
    "adjectives that look at their noun.",
    "decoder": "the stripe under the diagonal (a head that always looks one {unit} back), the first token "
    "as a resting place, and articles or adjectives that look for the gender and number they must agree "
    "with.",
    "cross": "the path from the upper left to the lower right: {unit} by {unit}. Where it bends, the "
    "languages differ in order (noun before adjective); where two rows look at one source {unit}, the target "
    "needs two {unit}s for it.",
}
"""What there is to find where English becomes Italian."""

LOOK_ANYWHERE: dict[Attention, str] = {
    "encoder": "neighbours (stripes beside the diagonal), the same {unit} (the diagonal), a column that all "
    "rows share (an attention sink, often the full stop or a special token: there a head rests that has "
    "nothing to find).",
    "decoder": "the stripe under the diagonal (a head that always looks one {unit} back), the first {unit} "
    "as a resting place, and {unit}s that came before: a head may look for what followed them then.",
    "cross": "a path from the upper left to the lower right, where the target has the order of the source, "
    "{unit} by {unit}. Where it bends, the two differ in order; where two rows look at one source {unit}, "
    "the target may need two {unit}s for it; a column that all rows share is a resting place.",
}
"""What there is to find whatever the model reads and writes."""

BY_WORD = (
    "The model itself works on sub-words: here those of a key add up and those of a query are averaged, so "
    "each row still sums to 1."
)
"""What is to be said besides where words stand for their sub-words."""
CROSS_BY_WORD = (
    "The row of a word of several sub-words is where the model looks while it chooses the rest of the word "
    "and the beginning of the next one."
)


def what(attention: Attention, unit: Unit, *, by_words: bool, kind: Kind = "encoder-decoder") -> str:
    """Say what an attention is of which a row is a unit; `by_words`: words stand for their sub-words."""
    texts = WHAT if kind == "encoder-decoder" else ALONE
    parts = [texts[attention].format(unit=unit)]
    if by_words:
        parts += [BY_WORD, CROSS_BY_WORD] if attention == "cross" else [BY_WORD]
    return " ".join(parts)


def look_for(attention: Attention, unit: Unit, *, into_italian: bool = True) -> str:
    """Say what is to be found in it, in a model that goes from English to Italian or in any other."""
    return (LOOK if into_italian else LOOK_ANYWHERE)[attention].format(unit=unit)
