"""The search: its tree, step by step, and the attention and probabilities at the chosen node."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from transformer.decoding.beam_tree import BeamNode, BeamTree
from transformer.decoding.beam_tree import beam_tree as search_step_by_step
from transformer.loaded import GenerationSettings
from transformer.model_input import no_repeat_ngram_size
from viz.address import remembered, whole_numbers
from viz.components.beam_tree import Place, TreeSelection, beam_tree
from viz.figures.labels import visible_in_full
from viz.pages.decode.heads import heads_section
from viz.pages.decode.sampling import sampling_section
from viz.pages.decode.session import (
    Search,
    current_prefix,
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
from viz.widgets import follow_default, pick, set_choice

BEAM_SIZES = (1, 2, 3, 4, 5, 6, 7, 8)
NO_REPEAT_SIZES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
_NODE, _STEP, _NO_REPEAT = "beam_node", "beam_step", "beam_no_repeat"
_OWN, _YOURS = "The model's own", "Yours"


@st.fragment
def search_section(sentence: SentenceRun) -> None:
    """Draw the section; a choice in it redraws only this section."""
    st.header("The search")
    limit = longest_prefix(sentence.choice, sentence.text)
    search = _search(sentence, limit)
    tree = run_or_warn(lambda: tree_of(search), "Searching …")
    if tree is None:
        return
    _prefix_line(sentence, search)
    node = _tree(sentence, search, tree, limit)
    if node.parent is None:
        return
    at_node = run_of_ids(search.choice, search.text, _ids_through(tree, node))
    heads_section(sentence, at_node, node)
    sampling_section(sentence, at_node, tree.path(node.index), search.prefix, limit)


def _search(sentence: SentenceRun, limit: int) -> Search:
    """The search for the sentence with the chosen settings, from the user's prefix of at most `limit` ids."""
    choice, text = sentence.choice, sentence.text
    prefix = current_prefix(choice, text, limit)
    own = sentence.loaded.settings
    if not own.are_greedy and _by_own_settings(own):
        return Search(choice, text, prefix, own.beam_size, own.length_penalty, settings=own)
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
        value=4,
        key="beam_size",
        help="How many hypotheses are kept at each step. 1 is greedy decoding.",
    )
    alpha = middle.slider(
        "Length penalty α",
        0.0,
        2.0,
        1.0,
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


def _prefix_line(sentence: SentenceRun, search: Search) -> None:
    unit = sentence.unit
    prose(
        f"At each step every kept hypothesis is continued with every {unit}; the {search.beam_size} "
        "best of all these continuations are kept, the others are pruned. In the tree a column is a "
        f"step, and the percentage is the probability of that {unit} given the ones before it. "
        f"Continuations are compared by score: the sum of the log-probabilities of all {unit}s so far, "
        "divided by the length penalty. Those below the line in a column scored too low."
    )
    if not search.prefix:
        return
    begin = sentence.loaded.target.decode(search.prefix)
    with st.container(horizontal=True, vertical_alignment="center", border=True):
        st.text(f"The search starts after: {visible_in_full(begin)}", width="stretch")
        st.button("Back", key="beam_back", on_click=go_back, help="To the previous search")
        st.button("From the beginning", key="beam_anew", on_click=search_from_the_beginning)


def _tree(sentence: SentenceRun, search: Search, tree: BeamTree, limit: int) -> BeamNode:
    """Draw the tree and return the chosen node."""
    drawn = draw_tree(tree, sentence.loaded.target, beam_size=search.beam_size, limit=limit)
    place = _place(search, tree)

    def choose(selection: TreeSelection) -> None:
        if isinstance(selection, Place):
            set_choice(_NODE, str(selection.node))
            set_choice(_STEP, str(selection.step))
        elif drawn.nodes[selection.node].is_open:
            search_after([node.token_id for node in tree.path(selection.node)[1:]])

    beam_tree(
        drawn.nodes,
        drawn.hypotheses,
        given=tree.n_given,
        cuts=drawn.cuts,
        more=drawn.more,
        place=place,
        colors=sentence.theme,
        key="beam_tree",
        title="The beam search",
        on_select=choose,
    )
    computed_by(search_step_by_step)
    return tree.nodes[place.node]


def _place(search: Search, tree: BeamTree) -> Place:
    """The user's place in the tree; initially the best sentence's first token, after the last step."""
    last = tree.nodes[-1].position
    best = tree.path(tree.leaves[0])[min(tree.n_given, last)].index
    node = _position(_NODE, search, len(tree.nodes), best)
    step = _position(_STEP, search, last + 1, last)
    return Place(node, max(step, tree.nodes[node].position, min(tree.n_given, last)))


def _position(name: str, search: Search, length: int, default: int) -> int:
    """Read an index below `length` from the address; the default for anything else."""
    match whole_numbers(remembered(name, str(default), search)):
        case [position] if position < length:
            return position
    return default


def _ids_through(tree: BeamTree, node: BeamNode) -> tuple[int, ...]:
    """The ids of a sentence that passes through a node, without its end token.

    Later tokens don't affect earlier ones, so one run of the model serves all nodes of a sentence.
    """
    returned = (leaf for leaf in tree.leaves if node in tree.path(leaf))
    end = next(returned, None)
    if end is None:
        end = node.index
        for child in tree.nodes[node.index + 1 :]:
            continues = child.parent == end and child.fate != "pruned"
            end = child.index if continues else end
    return tuple(step.token_id for step in tree.path(end)[1:] if not step.ends)
