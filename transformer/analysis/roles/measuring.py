"""Measures the heads of a model, and of models with random weights, on a part of the sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import torch
from torch import Tensor

from transformer.analysis.attention_maps import MODULES, Attention
from transformer.analysis.roles import copying
from transformer.analysis.roles.definitions import INDEX
from transformer.analysis.roles.probes import induction_cells, links, repeated
from transformer.analysis.roles.sentences import Sentence, batches, recorded
from transformer.analysis.roles.sums import Sums, binned, cell_sums, sums_of
from transformer.analysis.roles.targets import NO_LINKS, Links, cells, distance_bins, special_keys
from transformer.errors import SentenceError
from transformer.loaded import LoadedModel
from transformer.model.config import TransformerConfig

PART = 32
"""Sentences in a part."""
PROBE_EVERY = 4
"""One sentence in so many is probed: repeated sequences, source words knocked out."""
NOT_FINITE = (
    "The attention weights are not finite numbers, so nothing can be said of the heads: see what "
    "`headlight inspect` says of this checkpoint."
)
Measured = dict[Attention, Sums]
"""The sums of each attention."""


@dataclass(frozen=True)
class Probes:
    """What is known of a part's sentences before its heads are measured.

    Attributes:
        links: of each sentence.
        numbers: places of the probed sentences.
        seed: seed of the repeated sequences and of the tokens that copying is compared with.
    """

    links: Sequence[Links]
    numbers: Sequence[int]
    seed: int


def attentions_of(config: TransformerConfig) -> dict[Attention, int]:
    """The attentions of a model, with their numbers of layers."""
    found: dict[Attention, int] = {}
    if config.n_encoder_layers:
        found["encoder"] = config.n_encoder_layers
    if config.n_decoder_layers:
        found["decoder"] = config.n_decoder_layers
    if config.kind == "encoder-decoder":
        found["cross"] = config.n_decoder_layers
    return found


def probe(loaded: LoadedModel, sentences: Sequence[Sentence], seed: int) -> Probes:
    """Knock out source words in some sentences, in the model whose heads are asked about."""
    numbers = range(0, len(sentences), PROBE_EVERY)
    config = loaded.model.config
    known = [NO_LINKS] * len(sentences)
    if config.kind == "encoder-decoder" and config.has_generator:
        for number in numbers:
            known[number] = links(loaded, sentences[number])
    return Probes(known, numbers, seed)


def measure(loaded: LoadedModel, sentences: Sequence[Sentence], probes: Probes) -> Measured:
    """The sums of all sentences of a part.

    Raises:
        SentenceError: the model's numbers are not finite.
    """
    found: dict[Attention, list[Sums | None]] = {
        attention: [None] * len(sentences) for attention in attentions_of(loaded.model.config)
    }
    for group in batches(loaded, sentences):
        records = recorded(loaded, [sentences[number] for number in group], _is_map)
        for row, number in enumerate(group):
            for attention in found:
                weights, allowed = maps_of(loaded, records, attention, row, sentences[number])
                if not bool(weights.isfinite().all()):
                    raise SentenceError(NOT_FINITE)
                stack, name = MODULES[attention]
                queries, keys = sentences[number].sides(stack, name)
                coder = loaded.target if attention == "decoder" else loaded.source
                counted = cells(attention, queries, keys, allowed, coder, probes.links[number])
                found[attention][number] = sums_of(weights, allowed, counted)
    joined = {
        attention: Sums.joined([one for one in parts if one is not None])
        for attention, parts in found.items()
    }
    if "decoder" in joined:
        _add_induction(loaded, sentences, probes, joined["decoder"])
    if not copying.why_no_copying(loaded):
        _add_copying(loaded, sentences, probes, joined[copying.copying_stack(loaded)])
    return joined


def _is_map(path: str) -> bool:
    return path.endswith(("_attn.weights", "_attn.mask"))


def maps_of(
    loaded: LoadedModel, records: dict[str, Tensor], attention: Attention, row: int, sentence: Sentence
) -> tuple[Tensor, Tensor]:
    """One sentence's weights (heads of all layers, Q, K) and open cells (Q, K), without a batch's padding.

    A cell is open if a layer's mask leaves it open.
    """
    stack, name = MODULES[attention]
    n_queries, n_keys = (len(read.ids) for read in sentence.sides(stack, name))
    paths = [
        f"{stack}.layers.{layer}.{name}" for layer in range(attentions_of(loaded.model.config)[attention])
    ]
    weights = torch.cat([records[f"{path}.weights"][row, :, :n_queries, :n_keys] for path in paths])
    mask = reduce(torch.logical_or, (records[f"{path}.mask"] for path in paths))
    own = mask[row if len(mask) > 1 else 0, 0, :, :n_keys]
    return weights, own[:n_queries].expand(n_queries, n_keys)


def _add_induction(loaded: LoadedModel, sentences: Sequence[Sentence], probes: Probes, sums: Sums) -> None:
    number = INDEX["induction"]
    made = [repeated(loaded, sentences[one], probes.seed + one) for one in probes.numbers]
    for group in batches(loaded, made):
        records = recorded(loaded, [made[one] for one in group], _is_map)
        for row, one in enumerate(group):
            weights, _ = maps_of(loaded, records, "decoder", row, made[one])
            counted = torch.zeros(len(INDEX), *weights.shape[1:], dtype=torch.bool)
            counted[number] = induction_cells(made[one])
            place = probes.numbers[one]
            given, rows, _ = cell_sums(weights, counted)
            sums.given[place, number], sums.rows[place, number] = given[number], rows[number]
            sums.counted[place, number] = binned(counted, distance_bins(*weights.shape[1:]))[number]


def _add_copying(loaded: LoadedModel, sentences: Sequence[Sentence], probes: Probes, sums: Sums) -> None:
    number, stack = INDEX["copying"], copying.copying_stack(loaded)
    coder = loaded.target if stack == "decoder" else loaded.source
    ordinary = []  # of each sentence: positions and ids
    for sentence in sentences:
        read = sentence.read(stack)
        is_special = special_keys(read, coder).tolist()
        ordinary.append([(place, read.ids[place]) for place in range(len(read.ids)) if not is_special[place]])
    distinct = sorted({token for own in ordinary for _, token in own})
    if not distinct:
        return
    shares = copying.copying_shares(loaded, distinct, probes.seed)  # (ids, H)
    row_of = {token: row for row, token in enumerate(distinct)}
    for place, own in enumerate(ordinary):
        if own:
            positions = torch.tensor([position for position, _ in own])
            each = shares[[row_of[token] for _, token in own]]
            sums.given[place, number], sums.rows[place, number] = each.sum(dim=0), float(len(own))
            best = positions[each.argmax(dim=0)].to(torch.int32)
            sums.strongest[place, number] = torch.stack((best, best), dim=-1)
