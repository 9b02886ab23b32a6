"""Questions that weights with grouped key/value heads, or with rotary positions, leave open."""

from __future__ import annotations

from transformer.checkpoints.importing.config_draft import LARGEST_SIZE, ConfigDraft, likely_heads
from transformer.errors import CheckpointError, shown


def ask_grouped_heads(
    draft: ConfigDraft, q_rows: int, k_rows: int, usual_width: int = 0, *, even: bool = True
) -> None:
    """Ask how the rows of queries and keys are divided into heads, and fill in what follows.

    Args:
        draft: to be filled in.
        q_rows: rows of layer 0's query matrix.
        k_rows: rows of its key matrix, which may have fewer heads.
        usual_width: the family's usual head width, if any: the likely answer.
        even: whether the width of a head must be even, as rotary positions need it.

    Raises:
        CheckpointError: when they can't be divided this way.
    """
    possible = _possible_heads(q_rows, k_rows, even=even)
    n_heads = draft.ask(
        "n_heads",
        "How many attention heads does each layer have?",
        f"All heads are stored as one matrix of {q_rows} rows for queries and one of {k_rows} for keys.",
        {n: f"{n} (each {q_rows // n} wide)" for n in possible},
        likely=next((n for n in possible if n * usual_width == q_rows), None),
    )
    put_grouped_heads(draft, n_heads, q_rows, k_rows, even=even)


def put_grouped_heads(
    draft: ConfigDraft, n_heads: int, q_rows: int, k_rows: int, *, even: bool = True
) -> None:
    """Fill in the head width and the number of key heads, from the rows and the number of query heads.

    Raises:
        CheckpointError: when the rows can't be divided this way.
    """
    d_head = q_rows // n_heads if n_heads > 0 else 0
    if d_head * n_heads != q_rows or (even and d_head % 2) or k_rows % d_head:
        possible = ", ".join(map(str, _possible_heads(q_rows, k_rows, even=even)))
        raise CheckpointError(
            f"{shown(n_heads)} heads are impossible: {q_rows} rows of queries and {k_rows} rows of keys must "
            f"be divided into heads of one {'even ' if even else ''}width. Choose n_heads from {possible}."
        )
    draft.put("d_head", d_head, "shapes", "rows of queries over heads")
    draft.put("n_kv_heads", k_rows // d_head, "shapes", "rows of keys over the width of a head")


def _possible_heads(q_rows: int, k_rows: int, *, even: bool) -> list[int]:
    """Possible numbers of query heads, likely ones first: their width divides the rows of keys.

    Raises:
        CheckpointError: when there is none.
    """

    def fits(d_head: int) -> bool:
        return not (even and d_head % 2) and k_rows % d_head == 0

    possible = likely_heads(q_rows, fits) if q_rows <= LARGEST_SIZE else []
    if not possible:
        width = "even width, which rotary positions need" if even else "width"
        raise CheckpointError(
            f"{q_rows} rows of queries and {k_rows} rows of keys can't be divided into heads of one {width}: "
            "export the whole model again, with its configuration."
        )
    return possible


def ask_length(draft: ConfigDraft, *likely: int) -> None:
    """Ask for the maximum length of a text, the likely answer first."""
    draft.ask(
        "max_len",
        "How many tokens can a text have?",
        "Rotary positions have no table whose length could be read.",
        {length: f"{length:,}" for length in likely},
    )
