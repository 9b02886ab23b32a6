"""Runs of a model as labelled tables; most plots are drawn from one of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pandas as pd

from transformer import run as running
from transformer.analysis.attention_maps import (
    ATTENTION_LABELS,
    Attention,
    AttentionMaps,
    Measure,
    attention_maps,
    attention_words,
    attentions,
    by_word,
    n_layers,
    stacks,
)
from transformer.analysis.confidence import Confidence, run_confidence
from transformer.analysis.interventions.edited_model import edited_run
from transformer.analysis.interventions.edits import AnyEdit
from transformer.analysis.norms import norm_tokens
from transformer.decoding.request import Ending
from transformer.loaded import LoadedModel
from transformer.model.trace import Stack, Trace
from transformer.tracing import trace_batch

TOP_K = 8
"""Number of best next tokens stored for each step."""


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """Sentences that a model has run as one padded batch.

    Attributes:
        model: a model from `headlight.open`.
        trace: every tensor of a forward pass by path, such as ``trace["encoder.layers.0.self_attn.q"]``, on
            the CPU. The first axis is the batch.
    """

    model: LoadedModel
    trace: Trace

    def __repr__(self) -> str:
        n = max(len(self.trace.src_tokens), len(self.trace.tgt_tokens))
        return f"<{type(self).__name__} of {n} sentences in {self.model.name}>"

    @property
    def attentions(self) -> list[Attention]:
        """The model's attentions: "encoder" and "decoder" self-attention, "cross"-attention."""
        return attentions(self.trace)

    def attention(
        self, attention: Attention, layer: int, head: int, *, measure: Measure = "weights", sentence: int = 0
    ) -> pd.DataFrame:
        """One head: rows look (queries), columns are looked at (keys).

        Args:
            attention: "encoder", "decoder" or "cross".
            layer: from 0.
            head: from 0.
            measure: "weights", whose rows sum to 1; "scores" before the mask; "masked" scores, with -inf
                where the mask closes a cell.
            sentence: index in the batch, from 0.

        Raises:
            ValueError: the model has no such attention, layer or head, or the batch no such sentence.
        """
        self.check_head(attention, layer, head)
        return _table(self.maps(attention, measure, sentence, layer=layer), head)

    def maps(
        self,
        attention: Attention,
        measure: Measure = "weights",
        sentence: int = 0,
        *,
        layer: int | None = None,
    ) -> AttentionMaps:
        """All heads of all layers as one array, (L, H, Q, K), or of one layer, (1, H, Q, K).

        Other arguments and errors as for `attention`.
        """
        self.check_head(attention, layer or 0, 0)
        self.check_sentence(sentence)
        return attention_maps(self.trace, attention, measure, sentence, layer=layer)

    def check_stack(self, stack: Stack) -> Stack:
        """Return a stack that the model has.

        Raises:
            ValueError: there is no such stack; the message lists those that exist.
        """
        if stack not in stacks(self.trace):
            has = " and ".join(map(repr, stacks(self.trace)))
            raise ValueError(f"{self.model.name} has no stack {stack!r}: it has {has}.")
        return stack

    def check_sentence(self, sentence: int) -> None:
        """Check that the batch has a sentence with this index.

        Raises:
            ValueError: it has none; the message gives the range.
        """
        n = max(len(self.trace.src_tokens), len(self.trace.tgt_tokens))
        check_index("sentence", sentence, n, "the batch")

    def check_head(self, attention: Attention, layer: int, head: int) -> None:
        """Check that the model has this head.

        Raises:
            ValueError: it hasn't; the message lists what it has.
        """
        if attention not in self.attentions:
            has = ", ".join(map(repr, self.attentions))
            raise ValueError(f"{self.model.name} has no attention {attention!r}: choose one of {has}.")
        where = f"the {ATTENTION_LABELS[attention].lower()} of {self.model.name}"
        check_index("layer", layer, n_layers(self.trace, attention), where)
        check_index("head", head, self.model.model.config.n_heads, where)


@dataclass(frozen=True, eq=False, repr=False)
class Run(Batch):
    """One sentence that a model has run: a batch of one, with its output.

    Attributes:
        computed: the run as used in the app.
        text: the sentence, as typed.
        target: the target, as typed; empty if the model generated it.
        edits: the edits that it was run with.
    """

    computed: running.Run
    text: str
    target: str = ""
    edits: Mapping[str, AnyEdit] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<Run of {self.text!r} in {self.model.name}: {self.translation!r}>"

    @property
    def typed(self) -> tuple[str, str] | None:
        """Source and target as typed, from which the run can be computed again; None if it has edits."""
        return None if self.edits else (self.text, self.target)

    @property
    def translation(self) -> str:
        """The target; for a model without an encoder, the prompt and its continuation."""
        return self.computed.translation

    @property
    def ending(self) -> Ending | None:
        """Why the target ended: at its "end", at its "limit", or at the last of the model's "positions".

        The limit is the most tokens that are generated for a source of that length. None if the target was
        given without an end, or if the model has no decoder.
        """
        return self.computed.ending

    @property
    def confidence(self) -> Confidence | None:
        """The probability that the output, and each word of it, is right.

        None for a given target, and without a calibration, which models trained with validation pairs have.
        See `transformer.analysis.confidence`.
        """
        return run_confidence(self.model, self.computed)

    @property
    def steps(self) -> pd.DataFrame:
        """The best next tokens of each step: one row per step and rank, with the probability of each.

        `chosen` marks the token that was taken; if the target was given, it may not be among the best.
        """
        token = self.model.target.token
        rows = [
            (number, rank, token(index), probability, index == step.token_id)
            for number, step in enumerate(self.computed.steps)
            for rank, (index, probability) in enumerate(
                zip(step.top_ids, step.top_probabilities, strict=True), start=1
            )
        ]
        columns = ["step", "rank", "token", "probability", "chosen"]
        return pd.DataFrame(rows, columns=columns).set_index(["step", "rank"])

    @property
    def norms(self) -> dict[str, tuple[str, ...]]:
        """The paths of all norms in the order of the forward pass, each with its tokens."""
        return {record.path: norm_tokens(self.trace, record.path) for record in self.trace.norms()}

    def attention_by_word(self, attention: Attention, layer: int, head: int) -> pd.DataFrame:
        """The weights of one head between words: a key's sub-words add up, a query's are averaged.

        Arguments and errors as for `attention`.
        """
        self.check_head(attention, layer, head)
        maps = self.maps(attention, layer=layer)
        return _table(by_word(maps, *attention_words(self.computed, attention)), head)

    def to_html(
        self,
        path: str | Path,
        *,
        attention: Attention | None = None,
        layer: int | None = None,
        head: int | None = None,
        view: Literal["head", "layer", "map", "token"] = "head",
        cell: tuple[int, int] | None = None,
        everything: bool = False,
    ) -> None:
        """Write the run as one HTML file that needs no server: ``run.to_html("cat.html")``.

        It contains the app's viewer and the run's numbers: the selected head's exactly and, to keep the file
        below 1 MB if possible, less of the rest; the page says what it contains.

        Args:
            path: path of the file; an existing one is replaced.
            attention, layer, head: the selection; by default the last layer, of the cross-attention if there
                is one.
            view: one head, all heads of the layer, their lines as a map, or every head from one token.
            cell: positions of a query and a key; by default the head's strongest cell.
            everything: store all numbers exactly, whatever the size.

        Raises:
            ValueError: the run has no such part.
            OSError: the file can't be written; the message says why.
        """
        # This imports plotly for its colours, which takes half a second.
        from headlight.pages import write_page
        from viz.viewer.choice import VIEWS

        chosen = attention or ("cross" if "cross" in self.attentions else self.attentions[0])
        self.check_head(chosen, layer or 0, head or 0)
        if view not in VIEWS:
            raise ValueError(f"There is no view {view!r}: choose one of {', '.join(map(repr, VIEWS))}.")
        if cell is not None:
            for name, position, tokens in zip(("query", "key"), cell, self._tokens(chosen), strict=True):
                check_index(name, position, len(tokens), f"the {ATTENTION_LABELS[chosen].lower()}")
        write_page(
            self.model,
            self.computed,
            self.text,
            Path(path),
            typed=self.typed,
            everything=everything,
            attention=attention,
            layer=layer,
            head=head,
            view=view,
            cell=cell,
        )

    def _tokens(self, attention: Attention) -> tuple[tuple[str, ...], tuple[str, ...]]:
        maps = self.maps(attention, layer=0)
        return maps.query_tokens, maps.key_tokens


def run(
    model: LoadedModel, text: str, target: str = "", *, edits: Mapping[str, AnyEdit] | None = None
) -> Run:
    """Run a sentence: ``headlight.run(model, "I saw a cat.")``.

    With edits, the model also generates with them:
    ``headlight.run(model, text, edits={"decoder.layers.2.self_attn.z": headlight.edits.zero(head=3)})``.

    Args:
        model: a model from `headlight.open`.
        text: the source sentence, or the prompt of a model without an encoder.
        target: given to the decoder (teacher forcing); if blank, the model generates one.
        edits: path -> an edit of `headlight.edits`, or a function that maps the tensor, with its first axis
            the batch, to one of the same shape. Paths are those of `Run.trace`.

    Raises:
        headlight.EditError: no tensor has this path, or the edit doesn't fit it.
        headlight.SentenceError: the sentence has no words, or is too long.
    """
    computed = edited_run(model, text, edits or {}, target, top_k=TOP_K)
    return Run(model, computed.trace, computed, text, target, edits or {})


def run_batch(model: LoadedModel, texts: Sequence[str]) -> Batch:
    """Run several sentences as one padded batch, each with the target that the model generates for it.

    Raises:
        headlight.SentenceError: a sentence can't be run; the message names it.
        ValueError: there is no sentence.
    """
    if not texts:
        raise ValueError("There are no sentences: give at least one.")
    sources = [
        running.encode_sentence(model, "source", text, f"sentence {number}")
        for number, text in enumerate(texts, start=1)
    ]
    return Batch(model, trace_batch(model, sources))


def check_index(name: str, value: int, count: int, where: str) -> None:
    """Check an index, which counts from 0.

    Raises:
        ValueError: it is out of range; the message gives the range.
    """
    if not 0 <= value < count:
        there = "0 only" if count == 1 else f"0 to {count - 1}"
        raise ValueError(f"There is no {name} {value}: {where} has {there}.")


def _table(maps: AttentionMaps, head: int) -> pd.DataFrame:
    return pd.DataFrame(
        maps.values[0, head],
        index=pd.Index(maps.query_tokens, name="query"),
        columns=pd.Index(maps.key_tokens, name="key"),
    )
