"""What the files of a decoder with rotary positions and shared heads of keys and values do not tell."""

from __future__ import annotations

from transformer.checkpoints.importing.config_draft import LARGEST_SIZE, ConfigDraft, likely_heads
from transformer.errors import CheckpointError, shown

NORM_EPS = "What is added to the mean square in a norm?"
_STRETCHES = {1.0: "not at all", 8.0: "8 times (Llama 3.1)", 32.0: "32 times (Llama 3.2)"}
_TRAINED, _RARE, _OFTEN = 8_192, 1, 4
_BASES = {10_000.0: "10,000 (Llama 2)", 500_000.0: "500,000 (Llama 3)", 1_000_000.0: "1,000,000 (Qwen 3)"}
_LENGTHS = (2048, 4096, 8192)


def ask_grouped_heads(draft: ConfigDraft, queries: str, keys: str) -> None:
    """Ask how the rows of queries and keys are cut into heads of d_model / n_heads; d_model must be there.

    Args:
        draft: to be filled in.
        queries: name of layer 0's matrix of queries.
        keys: the same of keys, which may have fewer heads.

    Raises:
        CheckpointError: when they can't be cut so.
    """
    q_rows, k_rows = draft.length(queries, 0), draft.length(keys, 0)
    possible = (
        likely_heads(q_rows, lambda d_head: d_head % 2 == 0 and k_rows % d_head == 0)
        if q_rows <= LARGEST_SIZE
        else []
    )
    if not possible:
        raise CheckpointError(
            f"{q_rows} rows of queries and {k_rows} rows of keys can't be cut into heads of one even width: "
            "rotary positions need that. Export the whole model again."
        )
    n_heads = draft.ask(
        "n_heads",
        "How many attention heads has each layer?",
        f"All heads are stored as one matrix of {q_rows} rows for queries and one of {k_rows} for keys.",
        {n: f"{n} (each {q_rows // n} wide)" for n in possible},
    )
    put_grouped_heads(draft, n_heads, queries, keys)


def put_grouped_heads(draft: ConfigDraft, n_heads: int, queries: str, keys: str) -> None:
    """Fill in the width of a head and the heads of keys, from the rows of both and the heads of queries.

    Raises:
        CheckpointError: when the rows can't be cut so.
    """
    q_rows, k_rows = draft.length(queries, 0), draft.length(keys, 0)
    d_head = q_rows // n_heads if n_heads > 0 else 0
    if d_head * n_heads != q_rows or d_head % 2 or k_rows % d_head:
        raise CheckpointError(
            f"{shown(n_heads)} heads can't be: {q_rows} rows of queries and {k_rows} rows of keys must be "
            "cut into heads of one even width."
        )
    draft.put("d_head", d_head, "shapes", "rows of queries over heads")
    draft.put("n_kv_heads", k_rows // d_head, "shapes", "rows of keys over the width of a head")


def ask_base(draft: ConfigDraft, likely: float) -> None:
    """Ask for the base of the rotation."""
    draft.ask(
        "position_base",
        "What is the base of the rotary positions (rope_theta, theta_base)?",
        "The angles are computed and not stored.",
        _BASES,
        likely=likely,
    )


def ask_length(draft: ConfigDraft) -> None:
    """Ask for the longest text."""
    draft.ask(
        "max_len",
        "How many tokens may a text have?",
        "Rotary positions have no table whose length could be read.",
        {length: f"{length:,}" for length in _LENGTHS},
    )


def ask_stretch(draft: ConfigDraft) -> None:
    """Ask how much Llama 3 stretches its long wavelengths, which differs from version to version."""
    likely = {2048: 32.0, 3072: 32.0, 4096: 8.0}.get(draft["d_model"], 1.0)
    draft.ask(
        "rotary_stretch",
        "How many times are the long wavelengths of the rotary positions stretched?",
        "It is computed and not stored; versions of Llama 3 differ in it.",
        _STRETCHES,
        likely=likely,
    )
    put_stretched_range(draft)


def put_stretched_range(draft: ConfigDraft) -> None:
    """Fill in which wavelengths are stretched, the same in every version of Llama 3."""
    if draft["rotary_stretch"] != 1:
        draft.layout(
            "every Llama 3.1 and 3.2", stretch_start=_TRAINED / _OFTEN, stretch_full=_TRAINED / _RARE
        )
