"""Initial weights from another model: its layers, and its embeddings per sub-word."""

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

WHOLE_WORDS = "--start-from needs a model with sub-words: this one has a vocabulary of whole words."

_OF_THE_VOCABULARIES = {"src_vocab_size", "tgt_vocab_size", "share_embeddings", "tie_generator"}
_FREE = {*_OF_THE_VOCABULARIES, "dropout", "max_len"}
_DEPTHS = ("n_encoder_layers", "n_decoder_layers")
_LAST_OF_A_SUBLAYER = (".w_o.weight", ".w_o.bias", ".w_2.weight", ".w_2.bias")
_PER_PIECE = ("src_embedding.weight", "tgt_embedding.weight", "generator.weight", "generator.bias")


@dataclass(frozen=True)
class _Rows:
    """How a vocabulary's rows are computed from those of another vocabulary.

    Attributes:
        ids: new row i is the mean of the old rows ids[i].
        is_known: (V, 1) bool, True for pieces that the other vocabulary has.
    """

    ids: Sequence[Sequence[int]]
    is_known: Tensor

    def compute(self, table: Tensor) -> Tensor:
        """Compute the new rows: (V_other, ...) -> (V, ...)."""
        return torch.stack([table[list(found)].mean(dim=0) for found in self.ids])


def take_weights(loaded: LoadedModel, other: LoadedModel) -> None:
    """Initialise a new model with the weights of another model, whose vocabularies may differ.

    A piece that the other model lacks starts as the mean of the pieces that spell it there. If both sides
    share one matrix now but did not before, a piece known to both starts as the sum of its two rows: they are
    nearly orthogonal, so the layers of either side can still read their own.

    A deeper model starts as the same function (Chen et al. 2016, section 2.3): the output weights of each
    additional layer's sublayers are 0, so the layer adds nothing to the residual stream.

    Args:
        loaded: the new model, whose parameters are replaced.
        other: a model with the same configuration, except for vocabularies, dropout, max_len and fewer
            layers.

    Raises:
        PlanError: for another kind or size of model, or one with whole words; only a pre-norm model may be
            deeper.
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
                parameter.copy_(_joined(src, tgt, theirs) if is_shared else tgt.compute(theirs[name]))
            else:
                parameter.copy_(sides.get(name, tgt).compute(theirs[name]))


def _joined(src: _Rows, tgt: _Rows, theirs: Mapping[str, Tensor]) -> Tensor:
    """The sum of both sides' rows; a piece that only one side knows gets only that side's row."""
    source = src.compute(theirs["src_embedding.weight"])
    target = tgt.compute(theirs["tgt_embedding.weight"])
    return source * (src.is_known | ~tgt.is_known) + target * (tgt.is_known | ~src.is_known)


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
        is_known=torch.tensor([[piece in known] for piece in pieces]),
    )


def _check(loaded: LoadedModel, other: LoadedModel) -> None:
    new, old = _choices(loaded), _choices(other)
    may_be_deeper = new["norm_position"] == "pre"
    differing = [
        f"{name} is {new[name]}, not {old[name]}"
        for name in new
        if new[name] != old[name] and not (may_be_deeper and name in _DEPTHS and 0 < old[name] < new[name])
    ]
    if differing:
        raise PlanError(
            f"--start-from {other.name}: its weights only fit a model of the same sizes "
            f"({'; '.join(differing)})."
        )


def _choices(loaded: LoadedModel) -> dict[str, Any]:
    return {name: value for name, value in loaded.model.config.to_dict().items() if name not in _FREE}
