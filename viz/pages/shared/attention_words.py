"""Descriptions of what each attention does, and what to look for in it."""

from transformer.analysis.attention_maps import Attention
from transformer.model.config import Kind
from transformer.text.coder import Unit
from viz.viewer.choice import Choice
from viz.viewer.viewer_run import ViewerRun

WHAT: dict[Attention, str] = {
    "encoder": "**Encoder self-attention.** Each source {unit} looks at all source {unit}s, itself included, "
    "and gathers a mix of their values. A row shows how one {unit} divides its attention: it sums to 1.",
    "decoder": "**Decoder self-attention.** Each target {unit} looks at itself and the target {unit}s before "
    "it. The causal mask closes what comes later: when the {unit} was written, it did not exist yet.",
    "cross": "**Cross-attention.** Each target position looks at the source {unit}s.",
}

ALONE: dict[Attention, str] = {
    "encoder": "**Self-attention.** Each {unit} looks at all {unit}s of the sentence, before it and after "
    "it, and gathers a mix of their values. A row shows how one {unit} divides its attention: it "
    "sums to 1.",
    "decoder": "**Self-attention.** Each {unit} looks at itself and the {unit}s before it, to choose the "
    "*next* one. The causal mask closes what comes later: when the {unit} was written, it did not exist yet.",
}
"""The same, for a model with a single stack."""

LOOK: dict[Attention, str] = {
    "encoder": "neighbours (stripes next to the diagonal), the same {unit} (the diagonal), a column that all "
    "rows share (an attention sink, often the full stop or a special token, where a head looks that has "
    "nothing to find), adjectives that look at their noun.",
    "decoder": "the stripe below the diagonal (a head that always looks one {unit} back), the first token "
    "as an attention sink, and articles or adjectives that look for the gender and number they must agree "
    "with.",
    "cross": "the path from the upper left to the lower right: {unit} by {unit}. Where it bends, the "
    "languages differ in order (noun before adjective); where two rows look at one source {unit}, the target "
    "needs two {unit}s for it.",
}
"""What to look for in a translator from English to Italian."""

LOOK_ANYWHERE: dict[Attention, str] = {
    "encoder": "neighbours (stripes next to the diagonal), the same {unit} (the diagonal), a column that all "
    "rows share (an attention sink, often the full stop or a special token, where a head looks that has "
    "nothing to find).",
    "decoder": "the stripe below the diagonal (a head that always looks one {unit} back), the first {unit} "
    "as an attention sink, and {unit}s that occurred before: a head may look for what followed them then.",
    "cross": "a path from the upper left to the lower right, where the target has the order of the source, "
    "{unit} by {unit}. Where it bends, the two differ in order; where two rows look at one source {unit}, "
    "the target may need two {unit}s for it; a column that all rows share is an attention sink.",
}
"""What to look for in any model."""

BY_WORD = (
    "The model itself works on sub-words: here the sub-words of a key are added up and those of a query are "
    "averaged, so each row still sums to 1."
)
"""Added when words stand for their sub-words."""
ROWS = {
    "written": "The row of a {unit} shows where the model looks while it chooses that {unit}: its query "
    "comes from the {unit} before.",
    "read": "The row of a {unit} shows where the model looks while it chooses the *next* {unit}; the top "
    "row, of the start token, chooses the first {unit}.",
}
"""Of a decoder that writes, by what names its rows: the token written there, or the one read."""
CROSS_BY_WORD = (
    "The row of a word with several sub-words shows where the model looks while it chooses the rest of the "
    "word and the beginning of the next one."
)


def what(choice: Choice, viewed: ViewerRun, unit: Unit, kind: Kind = "encoder-decoder") -> str:
    """Describe the chosen attention of a run, whose rows are `unit`s or the words that they are parts of."""
    attention = viewed.attentions[choice.attention]
    has_two_stacks = kind == "encoder-decoder"
    parts = [(WHAT if has_two_stacks else ALONE)[attention.name].format(unit=unit)]
    writes, is_by_word = bool(viewed.sides[attention.queries].written), choice.by == "word"
    if writes and not is_by_word and (has_two_stacks or choice.rows == "written"):
        parts.append(ROWS[choice.rows].format(unit=unit))
    if is_by_word:
        parts.append(BY_WORD)
        if attention.name == "cross":
            parts.append(CROSS_BY_WORD)
    return " ".join(parts)


def look_for(attention: Attention, unit: Unit, *, into_italian: bool = True) -> str:
    """Say what to look for in an attention of a translator from English to Italian, or of any other model."""
    return (LOOK if into_italian else LOOK_ANYWHERE)[attention].format(unit=unit)
