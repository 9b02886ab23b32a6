"""What each attention does, and what to look for in it. All words here are ours."""

from viz.arrays import Attention

WHAT: dict[Attention, str] = {
    "encoder": "**Encoder self-attention.** Each source word looks at all source words, itself included, and "
    "takes up a mix of what they carry. A row says how one word divides its attention: it sums to 1.",
    "decoder": "**Decoder self-attention.** Each target word looks at itself and the target words before it. "
    "What comes later is closed by the causal mask: when the word was written, it did not exist.",
    "cross": "**Cross-attention.** Each target position looks at the source words. The row of a word shows "
    "where the model looks while it chooses the *next* word; the row of `<bos>` belongs to the first.",
}

LOOK: dict[Attention, str] = {
    "encoder": "neighbours (stripes beside the diagonal), the same word (the diagonal), a column that all "
    "rows share (often the full stop or `<eos>`, where a head rests that has nothing to find), adjectives "
    "that look at their noun.",
    "decoder": "the stripe under the diagonal (a head that always looks one word back), `<bos>` as a resting "
    "place, and articles or adjectives that look for the gender and number they must agree with.",
    "cross": "the path from the upper left to the lower right: word by word. Where it bends, the languages "
    "differ in order (noun before adjective); where two rows look at one source word, the target needs two "
    "words for it.",
}
