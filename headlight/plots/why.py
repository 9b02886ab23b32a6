"""Why a word was written: effects of parts, heads kept, sums of a logit and a score, patches."""

from __future__ import annotations

import plotly.graph_objects as go

from headlight.explaining import Why
from headlight.runs import Run
from transformer.analysis.attention_maps import Attention
from transformer.analysis.interventions.heads import (
    HeadPlace,
    Switch,
    answers_with_k_heads,
    head_effects,
    head_places,
)
from transformer.analysis.interventions.patch_places import place_named, places
from transformer.analysis.interventions.patching import Direction, patch_grid, run_pair
from transformer.analysis.interventions.questions import NEXT_BEST, Question, asked_question
from transformer.analysis.ledgers.logit import logit_ledger, output_stack
from transformer.analysis.ledgers.score import score_ledger
from transformer.analysis.roles.definitions import Role
from transformer.analysis.roles.report import HeadReport
from viz.run_figures.interventions import effects_figure, kept_heads_figure, patch_figure
from viz.run_figures.ledgers import Division, logit_figure, logit_sums, score_figure, score_sums
from viz.run_figures.roles import roles_figure
from viz.theme import ThemeName, palette


def plot_effects(why: Why, *, theme: ThemeName = "light") -> go.Figure:
    """How much the answer falls without each part, from the one that costs most: of `headlight.why`."""
    return effects_figure(why.receipt, theme=palette(theme))


def plot_heads_kept(
    run: Run, word: str | int = "", *, rival: str = NEXT_BEST, theme: ThemeName = "light"
) -> go.Figure:
    """The answer with only the k heads on that cost most to set to zero; arguments as in `headlight.why`."""
    question = _question(run, word, rival)
    switch, every = Switch(run.model, "zero"), head_places(run.model.model.config)
    effects = head_effects(run.model, run.computed, [question], switch)[:, 0]
    order = [every[index] for index in effects.argsort(descending=True, stable=True).tolist()]
    answers = answers_with_k_heads(run.model, run.computed, question, switch, order).numpy()
    return kept_heads_figure(answers, order, theme=palette(theme), quantity=question.quantity)


def plot_logit_sum(
    run: Run,
    word: str | int = "",
    *,
    rival: str = NEXT_BEST,
    by: Division = "sublayer",
    theme: ThemeName = "light",
) -> go.Figure:
    """What a word's logit, or its difference to a rival's, is the sum of.

    Args:
        run, word, rival: as in `headlight.why`; without a rival, the logit of the word's first token.
        by: one bar per "sublayer", "head" or "word".
        theme: "light" or "dark".
    """
    question = _question(run, word, rival)
    ledger = logit_ledger(run.model, run.computed, question)
    stack = output_stack(run.model.model.config)
    labels, sums = logit_sums(ledger, run.computed, stack, question.rows[0], by)
    return logit_figure(labels, sums, by, theme=palette(theme))


def plot_score_sum(
    run: Run,
    attention: Attention,
    layer: int,
    head: int,
    query: int,
    key: int,
    *,
    by: Division = "sublayer",
    theme: ThemeName = "light",
) -> go.Figure:
    """What an attention score is the sum of: parts of the query times parts of the key.

    Raises:
        ValueError: the model has no such head.
    """
    run.check_head(attention, layer, head)
    ledger = score_ledger(run.model, run.computed, HeadPlace(attention, layer, head), query, key)
    sums = score_sums(ledger, run.computed, attention, (query, key), by)
    return score_figure(*sums, theme=palette(theme))


def plot_patches(
    run: Run,
    other: str,
    word: str | int = "",
    *,
    rival: str = "",
    place: str = "",
    direction: Direction = "noising",
    theme: ThemeName = "light",
) -> go.Figure:
    """How far each patch from another sentence moves a word's answer.

    Args:
        run, word: as in `headlight.why`.
        other: a sentence of as many tokens.
        rival: a word to compare with; by default the one that the other run prefers.
        place: what is patched, as in `headlight.why`; by default the first stack's residual stream.
        direction: "noising" or "denoising".
        theme: "light" or "dark".

    Raises:
        headlight.EditError: the two answers differ too little, or the model has no such place.
        headlight.SentenceError: the two sentences can't be patched.
    """
    config = run.model.model.config
    pair = run_pair(run.model, run.computed, other, _question(run, word, rival))
    patched = place_named(config, place) if place else places(config)[0]
    grid = patch_grid(run.model, pair, patched, direction)
    return patch_figure(pair, grid, config, theme=palette(theme))


def plot_roles(report: HeadReport, x: Role, y: Role, *, theme: ThemeName = "light") -> go.Figure:
    """The scores of every head in two roles, such as "previous" and "special".

    Args:
        report: from `headlight.analyze`.
        x, y: see `transformer.analysis.roles.definitions`.
        theme: "light" or "dark".
    """
    return roles_figure(report, x, y, theme=palette(theme))


def _question(run: Run, word: str | int, rival: str) -> Question:
    return asked_question(run.model, run.computed, word, rival)
