"""The search: its tree, step by step, and what the model saw and weighed at the chosen node."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from transformer.decoding.beam_tree import BeamNode, BeamTree
from transformer.errors import SentenceError
from viz.address import remembered
from viz.components.beam_tree import Place, TreeSelection, beam_tree
from viz.decoding_session import (
    begin_anew,
    begin_behind,
    current_prefix,
    go_back,
    longest_prefix,
    run_of_ids,
    search_of,
)
from viz.figures.labels import visible
from viz.pages._decode_heads import heads_section
from viz.pages._decode_sampling import sampling_section
from viz.pages._decode_tree import draw_tree
from viz.session import (
    ModelChoice,
    current_choice,
    current_model,
    current_theme,
    set_choice,
    token_unit,
)
from viz.text_session import current_texts

BEAM_SIZES = (1, 2, 3, 4, 5, 6, 7, 8)


@dataclass(frozen=True)
class Search:
    """A search and what it is of.

    Attributes:
        prefix: ids that its targets begin with.
        limit: the most tokens that a search of this sentence can begin behind.
    """

    choice: ModelChoice
    text: str
    prefix: tuple[int, ...]
    beam_size: int
    alpha: float
    limit: int
    tree: BeamTree


@st.fragment
def search_section() -> None:
    """Draw the section; what is chosen in it draws only this section again."""
    st.header("The search")
    try:
        search = _search()
    except SentenceError as error:
        st.warning(str(error))
        return
    _prefix_line(search)
    node = _tree(search)
    if node.parent is None:
        return
    at_node = run_of_ids(search.choice, search.text, _ids_through(search.tree, node))
    heads_section(at_node, node)
    sampling_section(at_node, search.tree.path(node.index), search.prefix, search.limit)


def _search() -> Search:
    left, right = st.columns(2)
    beam_size = left.select_slider(
        "Beam size",
        BEAM_SIZES,
        4,
        key="beam_size",
        bind="query-params",
        help="How many sentences are followed side by side. 1 is greedy decoding.",
    )
    alpha = right.slider(
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
    choice, (text, _) = current_choice(), current_texts()
    limit = longest_prefix(choice, text)
    prefix = current_prefix(choice, text, limit)
    with st.spinner("Searching …", show_time=True):
        tree = search_of(choice, text, prefix, beam_size, alpha)
    return Search(choice, text, prefix, beam_size, alpha, limit, tree)


def _prefix_line(search: Search) -> None:
    unit = token_unit()
    st.markdown(
        f"At each step every sentence that is followed goes on with every {unit}; the {search.beam_size} "
        "best of all these continuations are followed on, the others are pruned. In the tree a column is a "
        f"step, and the percentage is the probability of that {unit} behind the ones before it. "
        f"Continuations are compared by their score: the sum of the log-probabilities of all {unit}s so far, "
        "over the length penalty. Below the line of a column stand those whose score was too low."
    )
    if not search.prefix:
        return
    begin = current_model().target.decode(search.prefix)
    with st.container(horizontal=True, vertical_alignment="center", border=True):
        st.text(f"The search began behind: {visible(begin, len(begin))}", width="stretch")
        st.button("Back", key="beam_back", on_click=go_back, help="To the search before this one")
        st.button("From the beginning", key="beam_anew", on_click=begin_anew)


def _tree(search: Search) -> BeamNode:
    """Draw the tree; returns the chosen node."""
    tree = search.tree
    drawn = draw_tree(tree, current_model().target, beam_size=search.beam_size, limit=search.limit)
    place = _place(search)

    def choose(selection: TreeSelection) -> None:
        if isinstance(selection, Place):
            set_choice("beam_node", str(selection.node))
            set_choice("beam_step", str(selection.step))
        elif drawn.nodes[selection.node].is_open:
            begin_behind([node.token_id for node in tree.path(selection.node)[1:]])

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
    return tree.nodes[place.node]


def _place(search: Search) -> Place:
    """Where the person is: at first at the first token of the best sentence, after the last step."""
    tree = search.tree
    subject = (search.choice, search.text, search.prefix, search.beam_size, search.alpha)
    last = tree.nodes[-1].position
    best = tree.path(tree.leaves[0])[min(tree.n_given, last)].index
    node = _position(remembered("beam_node", str(best), subject), len(tree.nodes), best)
    step = _position(remembered("beam_step", str(last), subject), last + 1, last)
    return Place(node, max(step, tree.nodes[node].position, min(tree.n_given, last)))


def _position(written: str, length: int, default: int) -> int:
    """A position below length as an address has it; the default for anything else."""
    known = written.isdecimal() and len(written) < 10 and int(written) < length
    return int(written) if known else default


def _ids_through(tree: BeamTree, node: BeamNode) -> tuple[int, ...]:
    """The ids from the beginning through a node to an end of a sentence behind it, without that end.

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
