"""The fate of each token in a beam search, in one sentence with the numbers that decided it."""

from __future__ import annotations

from collections.abc import Sequence

from transformer.decoding.beam_tree import BeamNode, BeamTree
from transformer.text.coder import Coder
from viz.figures.labels import visible
from viz.figures.numbers import number

_MOST_LISTED = 5
"""Most blocked tokens that are named."""


def percent(probability: float) -> str:
    """Format a probability in percent."""
    if probability >= 0.0001:
        return f"{100 * probability:.2f} %"
    return f"{100 * probability:.4f} %" if probability >= 0.000001 else "< 0.0001 %"


class Verdicts:
    """Explains why each node of a tree was kept, pruned or finished.

    Attributes:
        cuts: by position, the lowest score kept; no entry if none was kept.
    """

    def __init__(self, tree: BeamTree, coder: Coder, beam_size: int) -> None:
        self._tree, self._coder, self._beam_size = tree, coder, beam_size
        self._children: dict[int, list[BeamNode]] = {}
        self._returned: dict[int, list[int]] = {}
        self.cuts: dict[int, float] = {}
        for node in tree.nodes:
            if node.parent is not None:
                self._children.setdefault(node.parent, []).append(node)
            if node.fate == "kept":
                self.cuts[node.position] = min(node.score, self.cuts.get(node.position, node.score))
        for place, leaf in enumerate(tree.leaves, start=1):
            for node in tree.path(leaf):
                self._returned.setdefault(node.index, []).append(place)

    def token(self, node: BeamNode) -> str:
        """The node's token, with invisible characters made visible."""
        return visible(self._coder.token(node.token_id))

    def n_candidates(self, node: BeamNode) -> int:
        """The number of continuations at the node's step."""
        return self._tree.n_candidates[node.position - self._tree.n_given]

    def why(self, node: BeamNode) -> str:
        """Explain a node's fate in a sentence."""
        says = {"given": self._given, "pruned": self._pruned, "finished": self._finished, "kept": self._kept}
        return says[node.fate](node) + self._closed(node)

    def _closed(self, node: BeamNode) -> str:
        """Say which tokens were blocked after a node, or that nothing else was allowed."""
        if node.position == self._tree.forced_at:
            return " Nothing else was allowed: at the limit the end is forced, at no cost."
        if node.index in self._tree.misspelling:
            return " After it only tokens that spell a name or number as the source does were allowed."
        closed = self._tree.repeating.get(node.index, ())
        if not closed:
            return ""
        listed = ", ".join(f"“{visible(self._coder.token(index))}”" for index in closed[:_MOST_LISTED])
        more = f" and {len(closed) - _MOST_LISTED} more" if len(closed) > _MOST_LISTED else ""
        return f" After it {listed}{more} were blocked: they would have repeated a sequence of tokens."

    def _given(self, node: BeamNode) -> str:
        if node.parent is None:
            return "The search starts after this token."
        return f"You chose this token. The model itself ranked it {node.rank:,} here."

    def _pruned(self, node: BeamNode) -> str:
        rank = f"number {node.rank} of {self.n_candidates(node):,} continuations"
        if node.ends:
            last = self._rank(node.position, self._beam_size)
            return (
                f"Pruned: a sentence ends only if its end is among the {self._beam_size} best "
                f"continuations. This was {rank}: its score {number(node.score)} lost to "
                f"{number(last.score)}, “{self.token(last)}”."
            )
        cut = self.cuts[node.position]
        return (
            f"Pruned: {rank}. Its score {number(node.score)} lost to {number(cut)}, the lowest that was kept."
        )

    def _rank(self, position: int, rank: int) -> BeamNode:
        return next(n for n in self._tree.nodes if n.position == position and n.rank == rank)

    def _finished(self, node: BeamNode) -> str:
        if returned := self._returned.get(node.index):
            return f"It ended the sentence, which was returned as number {returned[0]}."
        worst = self._tree.hypotheses[-1].score
        return (
            f"It ended the sentence, but with a score of {number(node.score)} it lost to "
            f"{number(worst)}, the lowest of the {len(self._tree.hypotheses)} that were returned."
        )

    def _kept(self, node: BeamNode) -> str:
        rank = f"Kept: number {node.rank} of {self.n_candidates(node):,} continuations"
        if returned := self._returned.get(node.index):
            stopped = " The search reached its limit there." if node.index in self._tree.leaves else ""
            return f"{rank}. {_sentences(returned)} through it.{stopped}"
        last = max(n.position for n in self._descendants(node))
        if last == self._tree.nodes[-1].position:
            return f"{rank}. {self._left_over(node, last)}"
        if last > node.position:
            return f"{rank}, as were some of its continuations, but the last of them was lost at step {last}."
        return f"{rank}, but lost at the next step: {self._best_continuation(node)}"

    def _descendants(self, node: BeamNode) -> list[BeamNode]:
        """The node and all its descendants that were kept."""
        found = [node]
        for at in found:
            found += [child for child in self._children.get(at.index, []) if child.fate == "kept"]
        return found

    def _left_over(self, node: BeamNode, last: int) -> str:
        score = max(n.score for n in self._descendants(node) if n.position == last)
        worst = self._tree.hypotheses[-1].score
        if score > worst:
            return f"It had not ended when the search reached its limit of {last} tokens."
        return (
            f"It was still active when the search ended: its score was {number(score)} then, no better "
            f"than {number(worst)}, the lowest of the {len(self._tree.hypotheses)} that were returned."
        )

    def _best_continuation(self, node: BeamNode) -> str:
        cut = number(self.cuts[node.position + 1])
        children = self._children.get(node.index)
        if not children:
            return (
                f"none of its continuations was among the {self._tree.n_listed} best; a score of {cut} was "
                "needed."
            )
        best = max(children, key=lambda child: child.score)
        if best.fate == "finished":
            return (
                f"its best continuation ended with a score of {number(best.score)}, too low to be returned."
            )
        return f"its best continuation, “{self.token(best)}”, scored {number(best.score)}; {cut} was needed."


def _sentences(places: Sequence[int]) -> str:
    """Name the returned sentences that pass through a node, with their verb."""
    if len(places) == 1:
        return f"Returned sentence {places[0]} goes"
    return f"Returned sentences {', '.join(map(str, places[:-1]))} and {places[-1]} go"
