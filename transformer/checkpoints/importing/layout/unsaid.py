"""Settings that neither names nor shapes tell: what a layout doesn't say is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from transformer.checkpoints.importing.config_draft import ConfigDraft
from transformer.checkpoints.importing.layout import norm_places, questions
from transformer.checkpoints.importing.layout.file import Layout
from transformer.checkpoints.importing.layout.held import Held
from transformer.checkpoints.importing.layout.operations import Stored


class Unsaid:
    """Asks.

    Args:
        layout: the layout.
        draft: to be filled in.
        get: fetches another setting.
        held: which tensors become which weights.
    """

    def __init__(self, layout: Layout, draft: ConfigDraft, get: Callable[[str], Any], held: Held) -> None:
        self.layout, self.draft, self.get, self.held = layout, draft, get, held
        self.fields: Mapping[str, Callable[[], object]] = {
            "norm": self._norm,
            "activation": lambda: questions.ask_activation(draft),
            "norm_position": self._norm_position,
            "norm_eps": lambda: questions.ask_norm_eps(draft, 1e-5, 1e-6),
            "embedding_scale": lambda: questions.ask_embedding_scale(
                draft, likely=get("positions") == "sinusoidal"
            ),
            "attention_scale": self._attention_scale,
            "parallel_residual": self._parallel,
            "position_base": self._position_base,
            "pad_id": lambda: questions.ask_pad_id(draft, None, usual=0),
        }

    def _norm(self) -> None:
        if any(name.endswith(".beta") for name in self.held.patterns):
            labels = {"layer": "layer norm", "layer_unbiased": "layer norm by the unbiased deviation"}
        else:
            labels = {"rms": "RMS norm", "layer": "layer norm without beta"}
        self.draft.ask("norm", "Which norm is it?", "Its weights look the same for all of these.", labels)

    def _norm_position(self) -> None:
        fitting = norm_places.fitting(self.held.patterns)
        if len(fitting) == 1:
            self.draft.put("norm_position", fitting[0], "shapes", "which norms of sublayers there are")
            return
        why = f"{self.layout.what} does not say (norm_position)."
        labels = {position: questions.NORM_POSITIONS[position] for position in fitting}
        questions.ask_norm_position(self.draft, labels, why)

    @property
    def _is_new(self) -> bool:
        """True for an own layout that starts from none: what no tensor tells can't be left to a family."""
        return not (self.layout.trusted or self.layout.like)

    def _attention_scale(self) -> None:
        if self._is_new:
            self.draft.ask(
                "attention_scale",
                "Are scores divided by the square root of a head's width?",
                f"{self.layout.what} does not say (attention_scale: true, false, or the factor itself).",
                {True: "yes, as in the paper (section 3.2.1)", False: "no, as in T5 and GPT-Neo"},
            )

    def _parallel(self) -> None:
        if self._is_new and self.get("norm_position") == "pre" and not self.get("n_encoder_layers"):
            self.draft.ask(
                "parallel_residual",
                "Do attention and feed-forward read the same stream?",
                f"{self.layout.what} does not say (parallel_residual: true or false).",
                {False: "no, the feed-forward reads attention's result", True: "yes, as in GPT-J and PaLM"},
            )

    def _position_base(self) -> None:
        if self._is_new and self.get("positions") == "rotary":
            self.draft.ask(
                "position_base",
                "What is the base of the rotary positions?",
                f"{self.layout.what} does not say (position_base). The angles are computed and not stored.",
                {10_000.0: "10,000", 500_000.0: "500,000 (Llama 3)", 1_000_000.0: "1,000,000 (Qwen)"},
            )
            if not self._pairs_are_apart():
                self.draft.note(
                    "Neighbouring numbers of a head are rotated together. If your code rotates number i "
                    "with number i + d_head / 2, as Hugging Face's does, add `by: pairs_apart` to "
                    "queries and keys."
                )

    def _pairs_are_apart(self) -> bool:
        stack = "encoder" if self.get("n_encoder_layers") else "decoder"
        held = self.held.tensors.get(f"{stack}.layers.0.self_attn.w_q.weight")
        by = None if held is None else held[1].by
        return isinstance(by, Stored) and any(name == "pairs_apart" for name, _ in by.steps)
