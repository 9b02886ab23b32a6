"""How the chosen model knows the places of its tokens, in words."""

from __future__ import annotations

SENTENCES = {
    "sinusoidal": "",
    "learned": " The chosen model has learned its vectors, one a position, and has no use for the formula.",
    "relative": " The chosen model adds nothing to its embeddings: it adds a learned number to each score of "
    "self-attention, by how far the key is from the query.",
    "rotary": " The chosen model adds nothing to its embeddings: it turns the queries and keys of "
    "self-attention by angles in proportion to their positions.",
    "none": " The chosen model does nothing of the kind: its attention is told no positions, and only a "
    "causal mask, where there is one, lets it tell earlier from later.",
}
"""By `TransformerConfig.positions`, each behind what the paper does."""
