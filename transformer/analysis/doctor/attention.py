"""Finds heads with collapsed or uniform attention, and attention sinks.

Trained heads that find nothing to attend to in a sentence rest on a token without meaning: in BERT on [SEP]
(Clark et al. 2019, arXiv:1906.04341), in decoders on the first token, the "attention sink" (Xiao et al. 2023,
arXiv:2309.17453), where GPT-2 and Llama put more than half of their attention. So a sink is only a note, with
its size, unless it gets almost all of an attention's weight.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from transformer.analysis.doctor.findings import Finding, fine, head_places, places, share
from transformer.analysis.doctor.inputs import Probe, Side
from transformer.analysis.head_ranking import MOSTLY_RESTS, resting_share
from transformer.model.trace import Recorder
from transformer.model.transformer import Transformer

UNIFORM = 0.9998
"""A head is uniform if its mean entropy exceeds this fraction of the maximum, log(number of open keys).

The most uniform head of the shipped models has 0.94, of small random models with Xavier initialisation
0.9988. An untrained model with smaller weights (standard deviation 0.02, as in BERT) can exceed it
everywhere: there the finding is right.
"""
COLLAPSED = 0.95
"""A head has collapsed if in each sentence one key gets more than this share of all queries' attention."""
ONLY_SINK = 0.95
"""Share above which the attention as a whole moves almost nothing but the sink's value."""


@dataclass
class HeadView:
    """Summary of one head's attention over all probes.

    Attributes:
        entropies: mean relative entropy for each sentence.
        favourites: for each sentence the key with the most attention, its share, and whether it frames the
            sentence or is its first or last token.
        resting: by the names of the tokens where it may rest, its `resting_share` of each sentence.
    """

    entropies: list[float] = field(default_factory=list)
    favourites: list[tuple[str, float, bool]] = field(default_factory=list)
    resting: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    @property
    def entropy(self) -> float:
        """The mean relative entropy over all sentences."""
        return sum(self.entropies) / len(self.entropies)

    @property
    def collapse(self) -> float:
        """The smallest share of a sentence's favourite key."""
        return min(amount for _, amount, _ in self.favourites)

    @property
    def rests(self) -> bool:
        """True if each sentence's favourite is its first or last token, or one that frames it."""
        return all(resting for *_, resting in self.favourites)


@dataclass(frozen=True)
class AttentionView:
    """Summary over all probes: heads by path and index."""

    heads: dict[tuple[str, int], HeadView]


@torch.inference_mode()
def view_attention(model: Transformer, probes: Iterable[Probe]) -> AttentionView:
    """Run the probes one by one and summarise every head; only weights and masks are recorded."""
    heads: dict[tuple[str, int], HeadView] = defaultdict(HeadView)
    for probe in probes:
        recorder = Recorder(keep=lambda path: path.endswith((".weights", ".mask")))
        probe.run(model, recorder)
        for name, weights in recorder.records.items():
            path, _, last = name.rpartition(".")
            if last != "weights":
                continue
            keys = probe.src if path.startswith("encoder") or path.endswith("cross_attn") else probe.tgt
            assert keys is not None
            allowed = _allowed(recorder.records.get(f"{path}.mask"), weights)
            _view(path, weights[0].float().cpu(), allowed, keys, heads)
    return AttentionView(dict(heads))


def uniform_findings(view: AttentionView) -> list[Finding]:
    """Check whether any head always attends uniformly to all open keys."""
    entropies = {head: seen.entropy for head, seen in view.heads.items() if seen.entropies}
    even = [head for head, entropy in entropies.items() if entropy > UNIFORM]
    highest = max(entropies.values(), default=0.0)
    number = f"entropy {highest:.4f} of the highest possible at most, uniform from {UNIFORM} on"
    if not even:
        return fine("No head has uniform attention", number)
    return [
        Finding(
            "warning",
            "Heads with uniform attention",
            f"{len(even):,} of {len(entropies):,} heads; {number}",
            "They give every token the same weight: their output is the mean of the sentence.",
            "If all heads are uniform, the model has hardly been trained, or its queries or keys were not "
            "loaded. If only a few are, their queries or keys have died: compare their weights in earlier "
            "checkpoints.",
            head_places(even) if len(even) < len(entropies) else "all heads",
        )
    ]


def collapsed_findings(view: AttentionView) -> list[Finding]:
    """Check whether any head attends to the same single word from every query."""
    seen = {head: found for head, found in view.heads.items() if found.favourites}
    fixed = {head: found for head, found in seen.items() if found.collapse > COLLAPSED}
    bad = {head: found for head, found in fixed.items() if not found.rests}
    highest = max((found.collapse for found in seen.values() if not found.rests), default=0.0)
    number = (
        f"one word gets {share(highest)} of a head's attention at most, collapsed from {share(COLLAPSED)} on"
    )
    if not bad:
        return fine("No head looks at one word only", number)
    words = sorted({name for found in bad.values() for name, *_ in found.favourites})
    return [
        Finding(
            "warning",
            "Heads that look at one word only",
            f"{len(bad):,} of {len(seen):,} heads; {number}",
            f"Whatever asks, they answer with the same word of the sentence ({places(words)}): the "
            "sentence's other words don't reach them.",
            "Look at the scores of these heads: one key whose numbers have grown without limit does this. "
            "A smaller learning rate, warmup or weight decay prevents it.",
            head_places(list(bad)),
        )
    ]


def sink_findings(view: AttentionView) -> list[Finding]:
    """Find the heads that rest on tokens that frame a sentence or, where there are none, on its ends."""
    by_kind: dict[tuple[str, str], dict[tuple[str, int], float]] = defaultdict(dict)
    for head, seen in view.heads.items():
        for name, shares in seen.resting.items():
            by_kind[_kind(head[0]), name][head] = sum(shares) / len(shares)
    sinks = [
        _sink(kind, name, shares)
        for (kind, name), shares in by_kind.items()
        if max(shares.values()) > MOSTLY_RESTS
    ]
    highest = max((amount for shares in by_kind.values() for amount in shares.values()), default=0.0)
    return sinks or fine(
        "No head mostly rests on tokens that frame a sentence",
        f"{share(highest)} of a head's attention at most",
    )


def _sink(kind: str, name: str, shares: dict[tuple[str, int], float]) -> Finding:
    title = f"Attention that rests on {name}"
    resting = [head for head, amount in shares.items() if amount > MOSTLY_RESTS]
    mean = sum(shares.values()) / len(shares)
    number = (
        f"{len(resting):,} of {len(shares):,} heads of the {kind} give it more than {share(MOSTLY_RESTS)}; "
        f"the mean is {share(mean)}"
    )
    where = head_places(resting) if len(resting) < len(shares) else "all heads"
    if mean > ONLY_SINK:
        return Finding(
            "warning",
            title,
            number,
            "Almost nothing but what stands in this place is passed on: the sentence is hardly read.",
            "Compare with a checkpoint that works: keys that have grown without limit, or queries that are "
            "all the same, do this.",
            where,
        )
    return Finding(
        "note",
        title,
        number,
        "Heads that find nothing to look for rest there. Trained models do so: the token carries little.",
        "Nothing, if the model works. Leave this place out when you read its attention.",
        where,
    )


def _allowed(mask: Tensor | None, weights: Tensor) -> Tensor:
    """The open cells of one sentence's attention: (Q, K) bool."""
    if mask is None:
        return torch.ones(weights.shape[-2:], dtype=torch.bool)
    return mask[0, 0].expand(weights.shape[-2:]).cpu()


def _view(
    path: str,
    weights: Tensor,
    allowed: Tensor,
    keys: Side,
    heads: dict[tuple[str, int], HeadView],
) -> None:
    """Add one attention (H, Q, K) of one probe, leaving out queries with only one open key."""
    n_open = allowed.sum(dim=-1)
    choosing = n_open > 1
    if not bool(choosing.any()):
        return
    weights, allowed, n_open = weights[:, choosing], allowed[choosing], n_open[choosing]
    entropy = torch.special.entr(weights).sum(dim=-1) / n_open.log()  # (H, Q)
    seen_by = allowed.sum(dim=0)  # (K,): number of queries that may attend to each key
    asked = seen_by * 2 >= len(allowed)
    shares = weights.sum(dim=1) / seen_by.clamp(min=1)  # (H, K)
    best, favourite = shares.masked_fill(~asked, 0.0).max(dim=-1)
    for head in range(len(weights)):
        place = int(favourite[head])
        ends = place in (0, len(keys.ids) - 1) or keys.special[place]
        found = heads[path, head]
        found.entropies.append(float(entropy[head].mean()))
        found.favourites.append((keys.names[place], float(best[head]), ends))
    for name, where in _resting_places(keys).items():
        for head, amount in enumerate(resting_share(weights.numpy(), where, allowed.numpy()).tolist()):
            heads[path, head].resting[name].append(amount)


def _resting_places(keys: Side) -> dict[str, list[int]]:
    """Where heads may rest, with the positions in this sentence: framing tokens, else the sentence's ends."""
    framing = [place for place, special in enumerate(keys.special) if special]
    if framing:
        return {places(dict.fromkeys(keys.names[place] for place in framing)): framing}
    return {"the first word": [0], "the last word": [len(keys.ids) - 1]}


def _kind(path: str) -> str:
    if path.endswith("cross_attn"):
        return "cross-attention"
    return f"{path.partition('.')[0]}'s self-attention"
