"""The search: its tree, step by step, and what the model saw and weighed at the chosen node."""

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
from viz.pages.shared.sentence import run_or_warn
from viz.session import current_choice, current_model, current_theme, token_unit
from viz.text_session import current_texts
from viz.widgets import follow_default, pick, set_choice

BEAM_SIZES = (1, 2, 3, 4, 5, 6, 7, 8)
NO_REPEAT_SIZES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
_NODE, _STEP, _NO_REPEAT = "beam_node", "beam_step", "beam_no_repeat"
_OWN, _YOURS = "The model's own", "Yours"


@st.fragment
def search_section() -> None:
    """Draw the section; what is chosen in it draws only this section again."""
    st.header("The search")
    own = current_model().settings
    if not own.are_greedy and _by_own_settings(own):
        searched = run_or_warn(lambda: _search(own.beam_size, own.length_penalty, 0, own), "Searching …")
    else:
        beam_size, alpha, no_repeat = _chosen_settings()
        searched = run_or_warn(lambda: _search(beam_size, alpha, no_repeat), "Searching …")
    if searched is None:
        return
    search, limit, tree = searched
    _prefix_line(search)
    node = _tree(search, tree, limit)
    if node.parent is None:
        return
    at_node = run_of_ids(search.choice, search.text, _ids_through(tree, node))
    heads_section(at_node, node)
    sampling_section(at_node, tree.path(node.index), search.prefix, limit)


def _by_own_settings(own: GenerationSettings) -> bool:
    """Whether the search is made as the model's makers make it."""
    whose = st.radio(
        "Settings",
        (_OWN, _YOURS),
        key="beam_settings",
        bind="query-params",
        horizontal=True,
        help="The makers of this model saved how they write with it. Choose yours to change the beam, the "
        "length penalty and which repeats are blocked; no end is then forced.",
    )
    if whose == _OWN:
        st.text(f"{str(own)[0].upper()}{str(own)[1:]}.")
    return whose == _OWN


def _chosen_settings() -> tuple[int, float, int]:
    """Beam size, alpha, and how many tokens in a row do not come twice, by the user."""
    left, middle, right = st.columns(3)
    beam_size = pick(
        left.select_slider,
        "Beam size",
        BEAM_SIZES,
        value=4,
        key="beam_size",
        help="How many sentences are followed side by side. 1 is greedy decoding.",
    )
    alpha = middle.slider(
        "Length penalty α",
        0.0,
        2.0,
        1.0,
        0.1,
        key="beam_alpha",
        bind="query-params",
        help="A score is the sum of the log-probabilities over ((5 + length) / 6)^α: the larger α, the less "
        "a long sentence loses by its length. 0 compares the sums themselves.",
    )
    return beam_size, alpha, _chosen_no_repeat(right)


def _chosen_no_repeat(column: DeltaGenerator) -> int:
    """How many tokens in a row do not come twice, by the user; at first what the app has for the model."""
    unit, usual = token_unit(), no_repeat_ngram_size(current_model())
    follow_default(_NO_REPEAT, usual)
    chosen: int = pick(
        column.select_slider,
        "No repeats from",
        sorted({*NO_REPEAT_SIZES, usual}),
        value=usual,
        key=_NO_REPEAT,
        format_func=lambda n: str(n) if n else "off",
        help=f"So many {unit}s in a row never come a second time, and fewer never a third time in a row: "
        "that ends loops. With few of them right translations are blocked too. The app begins with "
        f"{usual or 'off'} for this model.",
    )
    return chosen


def _search(
    beam_size: int, alpha: float, no_repeat: int, settings: GenerationSettings | None = None
) -> tuple[Search, int, BeamTree]:
    """The search of the typed sentence, the most tokens that one can start after, and its tree."""
    choice, (text, _) = current_choice(), current_texts()
    limit = longest_prefix(choice, text)
    search = Search(choice, text, current_prefix(choice, text, limit), beam_size, alpha, no_repeat, settings)
    return search, limit, tree_of(search)


def _prefix_line(search: Search) -> None:
    unit = token_unit()
    prose(
        f"At each step every sentence that was kept is continued with every {unit}; the {search.beam_size} "
        "best of all these continuations are kept, the others are pruned. In the tree a column is a "
        f"step, and the percentage is the probability of that {unit} given the ones before it. "
        f"Continuations are compared by their score: the sum of the log-probabilities of all {unit}s so far, "
        "over the length penalty. Below the line of a column stand those whose score was too low."
    )
    if not search.prefix:
        return
    begin = current_model().target.decode(search.prefix)
    with st.container(horizontal=True, vertical_alignment="center", border=True):
        st.text(f"The search began after: {visible_in_full(begin)}", width="stretch")
        st.button("Back", key="beam_back", on_click=go_back, help="To the search before this one")
        st.button("From the beginning", key="beam_anew", on_click=search_from_the_beginning)


def _tree(search: Search, tree: BeamTree, limit: int) -> BeamNode:
    """Draw the tree; returns the chosen node."""
    drawn = draw_tree(tree, current_model().target, beam_size=search.beam_size, limit=limit)
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
        colors=current_theme(),
        key="beam_tree",
        title="The beam search",
        on_select=choose,
    )
    computed_by(search_step_by_step)
    return tree.nodes[place.node]


def _place(search: Search, tree: BeamTree) -> Place:
    """Where the user is: at first at the first token of the best sentence, after the last step."""
    last = tree.nodes[-1].position
    best = tree.path(tree.leaves[0])[min(tree.n_given, last)].index
    node = _position(_NODE, search, len(tree.nodes), best)
    step = _position(_STEP, search, last + 1, last)
    return Place(node, max(step, tree.nodes[node].position, min(tree.n_given, last)))


def _position(name: str, search: Search, length: int, default: int) -> int:
    """A position below length, as the address has it; the default for anything else."""
    match whole_numbers(remembered(name, str(default), search)):
        case [position] if position < length:
            return position
    return default


def _ids_through(tree: BeamTree, node: BeamNode) -> tuple[int, ...]:
    """The ids from the beginning through a node to an end of a sentence that follows, without that end.

    What comes later changes nothing before it: so the model is run once for all nodes of a sentence.
    """
    returned = (leaf for leaf in tree.leaves if node in tree.path(leaf))
    end = next(returned, None)
    if end is None:
        end = node.index
        for child in tree.nodes[node.index + 1 :]:
            goes_on = child.parent == end and child.fate != "pruned"
            end = child.index if goes_on else end
    return tuple(step.token_id for step in tree.path(end)[1:] if not step.ends)
