"""Ready edits of a run's tensors: switch off, average, exchange, set by hand.

An edit is given for a path: `zero(head=3)` at "decoder.layers.2.cross_attn.z" switches a head off,
`replace(run)` at "encoder.layers.4.resid_post" continues with the residual stream of another run. While a
target is being generated, the decoder's tensors grow: positions that don't exist yet are left alone until
they do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from transformer.errors import EditError
from transformer.loaded import LoadedModel
from transformer.model.trace import Edit
from transformer.run import Run, run_sentence

_BY_HEAD = ("q", "k", "v", "z", "scores", "weights", "q_unrotated", "k_unrotated", "scores_uncapped")
"""Tensors (B, H, T, ...); others are (B, T, ...)."""
_BY_KEY = ("scores", "weights", "mask", "scores_uncapped", "position_bias")
"""Tensors whose last axis is the keys; others end with a vector."""
_OF_SOURCE = re.compile(r"^(src_embedding|encoder)\.|\.cross_attn\.[kv](_|\.|$)")
"""Paths of tensors whose positions are those of an encoder's input."""


class ReadyEdit:
    """An edit that needs to know its path and model."""

    def at(self, path: str, loaded: LoadedModel) -> dict[str, Edit]:
        """The functions to apply, by path; usually for this path alone.

        Raises:
            EditError: this edit makes no sense there.
        """
        raise NotImplementedError

    def check(self, path: str, tensor: Tensor) -> None:
        """Check that the edit had something to change in the whole tensor, at the end of a run.

        Raises:
            EditError: a position or head doesn't exist.
        """


AnyEdit = Edit | ReadyEdit


def zero(*, head: int | None = None, positions: Sequence[int] | None = None) -> ReadyEdit:
    """Set a tensor to zero: all of it, one head, some positions."""
    return _Place(head, positions, lambda tensor, path: torch.zeros_like(tensor))


def replace(run: Run, *, head: int | None = None, positions: Sequence[int] | None = None) -> ReadyEdit:
    """Continue with another run's tensor: activation patching (Meng et al. 2022, arXiv:2202.05262).

    Args:
        run: the other run, of the same model.
        head: only this head; by default all.
        positions: only these positions, which both runs must have; by default all, and both runs must have
            the same number of tokens.
    """
    return _Place(head, positions, lambda tensor, path: _with_places_of(run, path, tensor, positions))


def resample(run: Run, *, head: int | None = None, seed: int = 0) -> ReadyEdit:
    """Give each position the vector at a random position of another run (resample ablation).

    Unlike zeros, these are vectors that the model produces. The seed decides which.
    """

    def drawn(path: str, loaded: LoadedModel) -> Callable[[Tensor], Tensor]:
        vectors = _vectors(run, path)

        def draw(tensor: Tensor) -> Tensor:
            n = tensor.shape[-2]
            generator = torch.Generator().manual_seed(seed)
            # A longer target begins with the same draws, so that generating it is consistent.
            drawn = [int(torch.randint(vectors.shape[-2], (), generator=generator)) for _ in range(n)]
            return vectors[..., drawn, :]

        return draw

    return _Vectors(head, drawn)


def mean(over: Sequence[str | Run], *, head: int | None = None) -> ReadyEdit:
    """Give all positions the mean vector over all positions of some sentences or runs (mean ablation)."""

    def averaged(path: str, loaded: LoadedModel) -> Callable[[Tensor], Tensor]:
        runs = [run_sentence(loaded, one) if isinstance(one, str) else one for one in over]
        if not runs:
            raise EditError("A mean needs at least one sentence.")
        average = torch.cat([_vectors(run, path) for run in runs], dim=-2).mean(dim=-2, keepdim=True)
        return lambda tensor: average

    return _Vectors(head, averaged)


def uniform(*, head: int | None = None) -> ReadyEdit:
    """Attend uniformly to all unmasked keys; for the weights of an attention."""
    return _Uniform(head)


def row(query: int, weights: Sequence[float], *, head: int | None = None) -> ReadyEdit:
    """Set the attention of one query by hand; for the weights of an attention.

    Args:
        query: position of the query.
        weights: one per key, from the first; missing ones are 0.
        head: only this head; by default all.
    """
    return _Row(head, query, tuple(weights))


def held(tensor: Tensor) -> Edit:
    """Continue with this recorded tensor, of the same shape."""
    return lambda own: tensor.to(own.device, own.dtype)


def bound(edits: Mapping[str, AnyEdit], loaded: LoadedModel) -> dict[str, Edit]:
    """The functions to apply, by path.

    Raises:
        EditError: an edit makes no sense at its path, or two edits change one tensor.
    """
    functions: dict[str, Edit] = {}
    for path, edit in edits.items():
        own = edit.at(path, loaded) if isinstance(edit, ReadyEdit) else {path: edit}
        for name in own.keys() & functions.keys():
            raise EditError(f"Two edits change {name}: make them one.")
        functions |= own
    return functions


def in_head(tensor: Tensor, head: int | None, path: str) -> Tensor:
    """A view of one head of a tensor (B, H, ...); the tensor itself for None.

    Raises:
        EditError: the tensor has no such head, or no heads.
    """
    if head is None:
        return tensor
    if _name(path) not in _BY_HEAD:
        raise EditError(f"{path} is not divided into heads: leave out head=, or edit the attention's z.")
    if not 0 <= head < tensor.shape[1]:
        raise EditError(f"{path} has heads 0 to {tensor.shape[1] - 1}, not {head}.")
    return tensor[:, head : head + 1]


@dataclass(frozen=True)
class _Place(ReadyEdit):
    """Sets a tensor, a head or some positions to `values(tensor, path)`."""

    head: int | None
    positions: Sequence[int] | None
    values: Callable[[Tensor, str], Tensor]

    def at(self, path: str, loaded: LoadedModel) -> dict[str, Edit]:
        def edit(tensor: Tensor) -> Tensor:
            own = in_head(tensor, self.head, path)
            new = in_head(self.values(tensor, path).to(tensor.device, tensor.dtype), self.head, path)
            here = [place for place in self.positions or () if place < own.shape[-2]]
            if self.positions is None:
                own[:] = new
            else:
                own[..., here, :] = new[..., here, :]
            return tensor

        return {path: edit}

    def check(self, path: str, tensor: Tensor) -> None:
        for position in self.positions or ():
            _check_position(path, tensor, position)


@dataclass(frozen=True)
class _Vectors(ReadyEdit):
    """Replaces the vectors of a tensor; `made` gets path and model and gives a function of the tensor."""

    head: int | None
    made: Callable[[str, LoadedModel], Callable[[Tensor], Tensor]]

    def at(self, path: str, loaded: LoadedModel) -> dict[str, Edit]:
        make = self.made(path, loaded)

        def edit(tensor: Tensor) -> Tensor:
            own = in_head(tensor, self.head, path)
            own[:] = in_head(make(tensor).to(tensor.device, tensor.dtype), self.head, path)
            return tensor

        return {path: edit}


@dataclass(frozen=True)
class _Uniform(ReadyEdit):
    head: int | None

    def at(self, path: str, loaded: LoadedModel) -> dict[str, Edit]:
        attention = _attention(path, "uniform()")

        def edit(scores: Tensor) -> Tensor:
            in_head(scores, self.head, path)[:] = 0
            return scores

        # Equal scores: the mask then decides which keys are open.
        return {f"{attention}.scores": edit}


@dataclass(frozen=True)
class _Row(ReadyEdit):
    head: int | None
    query: int
    weights: tuple[float, ...]

    def at(self, path: str, loaded: LoadedModel) -> dict[str, Edit]:
        _attention(path, "row()")
        given = torch.tensor(self.weights)
        if not given.isfinite().all():
            raise EditError(f"The weights for {path} are not all finite.")

        def edit(tensor: Tensor) -> Tensor:
            if self.query < tensor.shape[-2]:
                n_keys = tensor.shape[-1]
                if given[n_keys:].any():
                    raise EditError(
                        f"There are {len(given)} weights for {path}, which has {n_keys} keys there."
                    )
                filled = torch.zeros(n_keys)
                filled[: len(given)] = given[:n_keys]
                in_head(tensor, self.head, path)[..., self.query, :] = filled.to(tensor.device, tensor.dtype)
            return tensor

        return {path: edit}

    def check(self, path: str, tensor: Tensor) -> None:
        _check_position(path, tensor, self.query)


def _name(path: str) -> str:
    return path.rpartition(".")[2]


def _attention(path: str, edit: str) -> str:
    module, _, name = path.rpartition(".")
    if name != "weights":
        raise EditError(f"{edit} changes attention weights: give it for a path that ends with .weights.")
    return module


def _check_position(path: str, tensor: Tensor, position: int) -> None:
    if not 0 <= position < tensor.shape[-2]:
        raise EditError(f"{path} has positions 0 to {tensor.shape[-2] - 1}, not {position}.")


def _recorded(run: Run, path: str) -> Tensor:
    if path not in run.trace:
        raise EditError(f"The other run has no {path}.")
    return run.trace[path]


def _vectors(run: Run, path: str) -> Tensor:
    if _name(path) in _BY_KEY:
        raise EditError(
            f"{path} has one number per key, and other sentences have other keys: use replace() or "
            "uniform(), or edit the attention's z."
        )
    return _recorded(run, path)


def _with_places_of(run: Run, path: str, tensor: Tensor, positions: Sequence[int] | None) -> Tensor:
    """A copy of a tensor with another run's numbers at some or all positions, as far as they exist yet."""
    other = _recorded(run, path)
    (n, n_keys), (n_other, n_other_keys) = tensor.shape[-2:], other.shape[-2:]
    grows = run.decoder_input is not None and not _OF_SOURCE.search(path)
    if grows and _name(path) in _BY_KEY and ".self_attn." in path:
        # The keys that one of the two lacks come after the query, so they are masked.
        n_keys = n_other_keys = min(n_keys, n_other_keys)
    places = [place for place in (range(n) if positions is None else positions) if place < n]
    differs = positions is None and (n > n_other if grows else n != n_other)
    if differs or n_keys != n_other_keys:
        raise EditError(
            f"{path} is {tuple(tensor.shape)} here and {tuple(other.shape)} in the other run: both texts "
            "need the same number of tokens."
        )
    for place in places:
        if place >= n_other:
            raise EditError(
                f"{path} has {n} positions here and {n_other} in the other run, which has no position "
                f"{place}: give positions that both have."
            )
    new = tensor.clone()
    new[..., places, :n_keys] = other[..., places, :n_keys].to(new.device, new.dtype)
    return new
