"""Usual values of Llama in layouts other than Hugging Face's: bases, lengths, stretched wavelengths."""

from __future__ import annotations

from transformer.checkpoints.importing.config_draft import ConfigDraft

NORM_EPS = "What is added to the mean square in a norm?"
_STRETCHES = {1.0: "not at all", 8.0: "8 times (Llama 3.1)", 32.0: "32 times (Llama 3.2)"}
_TRAINED, _RARE, _OFTEN = 8_192, 1, 4
BASES = {10_000.0: "10,000 (Llama 2)", 500_000.0: "500,000 (Llama 3)", 1_000_000.0: "1,000,000 (Qwen 3)"}
LENGTHS = (2048, 4096, 8192)


def ask_stretch(draft: ConfigDraft) -> None:
    """Ask how much Llama 3 stretches its long wavelengths, which depends on its version."""
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
    """Fill in which wavelengths are stretched: the same in every version of Llama 3."""
    if draft["rotary_stretch"] != 1:
        draft.layout(
            "every Llama 3.1 and 3.2", stretch_start=_TRAINED / _OFTEN, stretch_full=_TRAINED / _RARE
        )
