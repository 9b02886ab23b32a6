"""The search: its tree, and the attention and the probabilities at the step that is chosen in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer.decoding.beam_tree import BeamNode, BeamTree
from transformer.decoding.beam_tree import beam_tree as search_step_by_step
from transformer.loaded import GenerationSettings
from transformer.model_input import no_repeat_ngram_size
from transformer.run import Run
from viz.address import remembered, whole_numbers
from viz.components.beam_tree import AskWhy, Chosen, TreeSelection, beam_tree
from viz.figures.labels import visible, visible_in_full
from viz.pages.decode.heads import draw_heads, word_of
from viz.pages.decode.sampling import draw_sampling
from viz.pages.decode.session import (
    ALPHA,
    BEAM_SIZE,
    Search,
    current_prefix,
    first_search,
    go_back,
    longest_prefix,
    run_of_ids,
    search_after,
    search_from_the_beginning,
    tree_of,
)
from viz.pages.decode.tree import draw_tree
from viz.pages.shared.explain import computed_by, prose
from viz.pages.shared.sentence import SentenceRun, run_or_warn
from viz.pages.shared.why_button import leave_if_asked, why_button
from viz.widgets import follow_default, pick, set_choice

BEAM_SIZES = (1, 2, 3, 4, 5, 6, 7, 8)
NO_REPEAT_SIZES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
_NODE, _PATH, _NO_REPEAT = "beam_node", "beam_path", "beam_no_repeat"
_OWN, _YOURS = "The model's own", "Yours"


@dataclass(frozen=True)
class Found:
    """A search and its tree.

    Attributes:
        search: what was searched for, and how.
        tree: what was found.
        limit: length of the longest prefix that a search can start from.
    """

    search: Search
    tree: BeamTree
    limit: int


@st.fragment
def search_section(sentence: SentenceRun) -> None:
    """Draw the settings and the tree; a choice in the section redraws only this section."""
    st.header("The search")
    found = _found(sentence)
    if found is not None:
        _words_on_search(sentence, found.search)
        _prefix_line(sentence, found.search)
        _tree(sentence, found)


@st.fragment
def attention_section(sentence: SentenceRun) -> None:
    """Draw where the heads look at the chosen step; a choice in the section redraws only this section."""
    st.header("Attention at this step")
    _at_step(sentence, lambda found, node: draw_heads(sentence, _run_through(found, node), node))


@st.fragment
def next_token_section(sentence: SentenceRun) -> None:
    """Draw the distribution of the chosen step; a choice in the section redraws only this section."""
    st.header("The next token")

    def draw(found: Found, node: BeamNode) -> None:
        path = found.tree.path(node.index)
        run = _run_through(found, node)
        why_button(*word_of(sentence, run, node), key="why_next_token")
        draw_sampling(sentence, run, path, found.search.prefix, found.limit)

    _at_step(sentence, draw)


def _at_step(sentence: SentenceRun, draw: Callable[[Found, BeamNode], None]) -> None:
    """Let the user choose a step, and draw what there is at its node above the folded settings."""
    body = st.container()
    found = _found_by_folded_settings(sentence)
    if found is None:
        return
    with body:
        node = _step(sentence, found)
        if node.parent is not None:
            draw(found, node)


def _found(sentence: SentenceRun) -> Found | None:
    """Draw the settings, and search; None if that fails, and the page then says why."""
    limit = longest_prefix(sentence.choice, sentence.text)
    search = _search(sentence, limit)
    tree = run_or_warn(lambda: tree_of(search), "Searching …")
    return None if tree is None else Found(search, tree, limit)


def _found_by_folded_settings(sentence: SentenceRun) -> Found | None:
    with st.expander("Settings of the search"):
        return _found(sentence)


def _step(sentence: SentenceRun, found: Found) -> BeamNode:
    """Draw the tokens of the hypothesis through the chosen node, to choose another step."""
    _prefix_line(sentence, found.search)
    tree, node = found.tree, _chosen_node(found)
    path = {step.index: step for step in _hypothesis(tree, node)[1:]}
    if not path:
        return node

    def name(index: int) -> str:
        step = path[index]
        return f"{step.position - 1}: {visible(sentence.loaded.target.token(step.token_id))}"

    def choose() -> None:
        set_choice(_NODE, str(st.session_state[_PATH]))

    st.session_state[_PATH] = node.index
    st.segmented_control("Step", list(path), key=_PATH, format_func=name, required=True, on_change=choose)
    return node


def _search(sentence: SentenceRun, limit: int) -> Search:
    """The search for the sentence with the chosen settings, from the user's prefix of at most `limit` ids."""
    choice, text = sentence.choice, sentence.text
    prefix = current_prefix(choice, text, limit)
    own = sentence.loaded.settings
    if not own.are_greedy and _by_own_settings(own):
        return replace(first_search(choice, text), prefix=prefix)
    return Search(choice, text, prefix, *_chosen_settings(sentence))


def _by_own_settings(own: GenerationSettings) -> bool:
    """Draw the choice of settings; True for those saved with the model."""
    whose = st.radio(
        "Settings",
        (_OWN, _YOURS),
        key="beam_settings",
        bind="query-params",
        horizontal=True,
        help="This model was published with settings of its own. Choose yours to change the beam, the "
        "length penalty and the blocked repeats; no end is then forced.",
    )
    if whose == _OWN:
        st.text(f"{str(own)[0].upper()}{str(own)[1:]}.")
    return whose == _OWN


def _chosen_settings(sentence: SentenceRun) -> tuple[int, float, int]:
    """Draw the settings; returns beam size, alpha, and the length of n-grams that may not repeat."""
    left, middle, right = st.columns(3)
    beam_size = pick(
        left.select_slider,
        "Beam size",
        BEAM_SIZES,
        value=BEAM_SIZE,
        key="beam_size",
        help="How many hypotheses are kept at each step. 1 is greedy decoding.",
    )
    alpha = middle.slider(
        "Length penalty α",
        0.0,
        2.0,
        ALPHA,
        0.1,
        key="beam_alpha",
        bind="query-params",
        help="A score is the sum of the log-probabilities divided by ((5 + length) / 6)^α: the larger α, the "
        "less a long sentence loses by its length. 0 compares the sums themselves.",
    )
    return beam_size, alpha, _chosen_no_repeat(right, sentence)


def _chosen_no_repeat(column: DeltaGenerator, sentence: SentenceRun) -> int:
    """Draw the choice of which repeats are blocked, initially the model's default."""
    unit, usual = sentence.unit, no_repeat_ngram_size(sentence.loaded)
    follow_default(_NO_REPEAT, usual)
    chosen: int = pick(
        column.select_slider,
        "No repeats from",
        sorted({*NO_REPEAT_SIZES, usual}),
        value=usual,
        key=_NO_REPEAT,
        format_func=lambda n: str(n) if n else "off",
        help=f"A sequence of this many {unit}s never occurs twice, and a shorter one never three times in a "
        "row: that breaks loops. Small numbers block correct translations too. This model starts with "
        f"{usual or 'off'}.",
    )
    return chosen


def _words_on_search(sentence: SentenceRun, search: Search) -> None:
    unit = sentence.unit
    prose(
        f"At each step every kept hypothesis is continued with every {unit}; the {search.beam_size} "
        "best of all these continuations are kept, the others are pruned. In the tree a column is a "
        f"step, and the percentage is the probability of that {unit} given the ones before it. "
        f"Continuations are compared by score: the sum of the log-probabilities of all {unit}s so far, "
        "divided by the length penalty. Those below the line in a column scored too low."
    )


def _prefix_line(sentence: SentenceRun, search: Search) -> None:
    """Say after which tokens the search starts, if the user chose some, and offer the way back."""
    if not search.prefix:
        return
    begin = sentence.loaded.target.decode(search.prefix)
    with st.container(horizontal=True, vertical_alignment="center", border=True):
        st.text(f"The search starts after: {visible_in_full(begin)}", width="stretch")
        st.button("Back", key="beam_back", on_click=go_back, help="To the previous search")
        st.button("From the beginning", key="beam_anew", on_click=search_from_the_beginning)


def _tree(sentence: SentenceRun, found: Found) -> None:
    tree, chosen = found.tree, _chosen_node(found)
    drawn = draw_tree(tree, sentence.loaded.target, beam_size=found.search.beam_size, limit=found.limit)
    word, ask = word_of(sentence, _run_through(found, chosen), chosen)

    def choose(selection: TreeSelection) -> None:
        if isinstance(selection, AskWhy):
            if selection.node == chosen.index:
                ask()
        elif isinstance(selection, Chosen):
            set_choice(_NODE, str(selection.node))
        elif drawn.nodes[selection.node].is_open:
            search_after([node.token_id for node in tree.path(selection.node)[1:]])

    beam_tree(
        drawn.nodes,
        drawn.hypotheses,
        given=tree.n_given,
        cuts=drawn.cuts,
        more=drawn.more,
        selected=chosen.index,
        word=word,
        colors=sentence.theme,
        key="beam_tree",
        title="The beam search",
        on_select=choose,
    )
    leave_if_asked()
    computed_by(search_step_by_step)


def _chosen_node(found: Found) -> BeamNode:
    """The user's node: initially the first token that the search chose for the best hypothesis."""
    tree = found.tree
    default = tree.path(tree.leaves[0])[min(tree.n_given, tree.nodes[-1].position)]
    match whole_numbers(remembered(_NODE, str(default.index), found.search)):
        case [index] if 0 < index < len(tree.nodes):
            return tree.nodes[index]
    return default


def _run_through(found: Found, node: BeamNode) -> Run:
    """The run of a hypothesis through a node.

    Later tokens don't affect earlier ones, so one run of the model serves all nodes of a hypothesis.
    """
    ids = tuple(step.token_id for step in _hypothesis(found.tree, node)[1:] if not step.ends)
    return run_of_ids(found.search.choice, found.search.text, ids)


def _hypothesis(tree: BeamTree, node: BeamNode) -> tuple[BeamNode, ...]:
    """The nodes of a hypothesis through a node: a returned one, or else the best continuation."""
    returned = (leaf for leaf in tree.leaves if node in tree.path(leaf))
    end = next(returned, None)
    if end is None:
        end = node.index
        for child in tree.nodes[node.index + 1 :]:
            continues = child.parent == end and child.fate != "pruned"
            end = child.index if continues else end
    return tree.path(end)
