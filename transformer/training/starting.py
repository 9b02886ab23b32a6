"""The first weights of a run that continues another model's: its layers, and embeddings piece by piece."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from transformer.loaded import LoadedModel
from transformer.text.coder import Coder
from transformer.text.subwords import MARK, SubwordCoder
from transformer.training.plan import PlanError

WHOLE_WORDS = "--start-from takes a model of sub-words: this one's vocabulary is of whole words."

_OF_THE_VOCABULARIES = {"src_vocab_size", "tgt_vocab_size", "share_embeddings", "tie_generator"}
_FREE = {*_OF_THE_VOCABULARIES, "dropout", "max_len"}
_DEPTHS = ("n_encoder_layers", "n_decoder_layers")
_LAST_OF_A_SUBLAYER = (".w_o.weight", ".w_o.bias", ".w_2.weight", ".w_2.bias")
_PER_PIECE = ("src_embedding.weight", "tgt_embedding.weight", "generator.weight", "generator.bias")


@dataclass(frozen=True)
class _Rows:
    """Where the rows of a vocabulary come from in another one.

    Attributes:
        ids: row i is the mean of these rows.
        whole: (V, 1), which pieces the other vocabulary has, too.
    """

    ids: Sequence[Sequence[int]]
    whole: Tensor

    def of(self, table: Tensor) -> Tensor:
        """(V_other, ...) -> (V, ...)."""
        return torch.stack([table[list(found)].mean(dim=0) for found in self.ids])


def take_weights(loaded: LoadedModel, other: LoadedModel) -> None:
    """Give a new model the weights of another one, whatever the vocabularies of the two are.

    A piece that the other model does not have begins as the mean of the pieces that spell it there. Where
    both sides share one matrix now and did not before, a piece that both knew begins as the sum of its two
    rows: they are nearly orthogonal, so the layers of each side find theirs.

    A deeper model begins as the same function (Chen et al. 2016, section 2.3): each layer beyond the other
    model's adds nothing to the residual stream yet, for what its sub-layers end with is 0.

    Args:
        loaded: its parameters are replaced.
        other: of the same sizes and choices, but for vocabularies, dropout, positions and fewer layers.

    Raises:
        PlanError: for a model of another kind or size, or of whole words; a deeper one has to be pre-norm.
    """
    _check(loaded, other)
    theirs = dict(other.model.named_parameters(remove_duplicate=False))
    src, tgt = _rows(loaded.source, other.source), _rows(loaded.target, other.target)
    sides = {"src_embedding.weight": src}
    with torch.no_grad():
        for name, parameter in loaded.model.named_parameters():
            if name not in _PER_PIECE:
                if name in theirs:
                    parameter.copy_(theirs[name])
                elif name.endswith(_LAST_OF_A_SUBLAYER):
                    parameter.zero_()
            elif loaded.model.config.share_embeddings and not other.model.config.share_embeddings:
                is_shared = name == "src_embedding.weight"
                parameter.copy_(_joined(src, tgt, theirs) if is_shared else tgt.of(theirs[name]))
            else:
                parameter.copy_(sides.get(name, tgt).of(theirs[name]))


def _joined(src: _Rows, tgt: _Rows, theirs: Mapping[str, Tensor]) -> Tensor:
    """One matrix of two: each side's rows, but for pieces that only the other side knows."""
    source, target = src.of(theirs["src_embedding.weight"]), tgt.of(theirs["tgt_embedding.weight"])
    return source * (src.whole | ~tgt.whole) + target * (tgt.whole | ~src.whole)


def _rows(new: Coder, old: Coder) -> _Rows:
    if not (isinstance(new, SubwordCoder) and isinstance(old, SubwordCoder)):
        raise PlanError(WHOLE_WORDS)
    known = {piece: index for index, piece in enumerate(old.vocabulary.to_lists()[0])}
    pieces = new.vocabulary.to_lists()[0]
    return _Rows(
        ids=[
            [known[piece]]
            if piece in known
            else old.vocabulary.encode(piece.removeprefix(MARK), spaced=piece.startswith(MARK))
            for piece in pieces
        ],
        whole=torch.tensor([[piece in known] for piece in pieces]),
    )


def _check(loaded: LoadedModel, other: LoadedModel) -> None:
    new, old = _choices(loaded), _choices(other)
    may_be_deeper = new["norm_position"] == "pre"
    differing = [
        f"{name} is {new[name]}, there {old[name]}"
        for name in new
        if new[name] != old[name] and not (may_be_deeper and name in _DEPTHS and 0 < old[name] < new[name])
    ]
    if differing:
        raise PlanError(
            f"--start-from {other.name}: its weights fit a model of its own sizes only "
            f"({'; '.join(differing)})."
        )


def _choices(loaded: LoadedModel) -> dict[str, Any]:
    return {name: value for name, value in loaded.model.config.to_dict().items() if name not in _FREE}
