"""The tap: one mechanism to record and change every tensor of a run.

Every forward takes a tap, calls it with each tensor and its name, and continues with the tensor that it
returns. `NO_TAP` returns the tensor itself, a `Recorder` stores it, an `Editor` changes it. `tap.at(scope)`
is the tap of a submodule, so that the path of a recorded tensor begins with its module's path, as parameter
names do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, Protocol

from torch import Tensor

Stack = Literal["encoder", "decoder"]
AttentionName = Literal["self_attn", "cross_attn"]
Edit = Callable[[Tensor], Tensor]


class Tap(Protocol):
    """Called with each tensor of a forward pass."""

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        """Returns the tensor to continue with."""
        ...

    def at(self, scope: str | int) -> Tap:
        """The tap for a submodule."""
        ...


class _NoTap:
    """Returns every tensor unchanged."""

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        return tensor

    def at(self, scope: str | int) -> _NoTap:
        return self


NO_TAP: Tap = _NoTap()


class Recorder:
    """Stores every tensor by its path.

    Args:
        keep: decides by path what is stored; by default everything. Storing less saves memory.
    """

    def __init__(self, keep: Callable[[str], bool] | None = None) -> None:
        self.records: dict[str, Tensor] = {}
        self._keep = keep
        self._scope = ""

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        """Store the tensor and return it."""
        path = self._scope + name
        if self._keep is None or self._keep(path):
            self.records[path] = tensor.detach()
        return tensor

    def at(self, scope: str | int) -> Recorder:
        """The same recorder for a submodule."""
        inner = Recorder.__new__(Recorder)
        inner.records, inner._keep = self.records, self._keep
        inner._scope = f"{self._scope}{scope}."
        return inner


class Editor:
    """Edits tensors by their path and passes them to an inner tap; modules without edits get that alone.

    Args:
        edits: path -> function that maps the tensor to one of the same shape. It gets a copy that it may
            change in place: the tensor itself may be shared with earlier records or the model. Only a tensor
            that is shared by the batch, such as positions (1, T, D), may become one per sentence.
        tap: the inner tap.

    Attributes:
        reached: paths of the edits that were applied.
    """

    def __init__(self, edits: Mapping[str, Edit], tap: Tap = NO_TAP) -> None:
        self.reached: set[str] = set()
        self._edits = dict(edits)
        self._tap = tap
        self._scope = ""

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        """Apply any edit and pass the tensor on."""
        path = self._scope + name
        if path in self._edits:
            edited = self._edits[path](tensor.clone())
            if edited.shape[1:] != tensor.shape[1:] or len(tensor) not in (1, len(edited)):
                shapes = f"from {tuple(tensor.shape)} to {tuple(edited.shape)}"
                raise ValueError(f"The edit of {path} changed its shape {shapes}: it must keep it.")
            self.reached.add(path)
            tensor = edited
        return self._tap(name, tensor)

    def at(self, scope: str | int) -> Tap:
        """The same editor for a submodule, or the inner tap for one without edits."""
        scope_path = f"{self._scope}{scope}."
        inner_tap = self._tap.at(scope)
        if not any(path.startswith(scope_path) for path in self._edits):
            return inner_tap
        inner = Editor.__new__(Editor)
        inner.reached, inner._edits = self.reached, self._edits
        inner._tap, inner._scope = inner_tap, scope_path
        return inner


@dataclass(frozen=True)
class AttentionRecord:
    """One attention of one run, with all heads.

    Attributes:
        path: path of the module, such as "decoder.layers.0.cross_attn".
        q, z: (B, H, Q, d_head).
        k, v: (B, H, K, d_head); with fewer heads, each is shared by consecutive heads of q.
        scores: (B, H, Q, K) before the mask; scaled, biased and capped as in the model.
        mask: (B, 1, Q, K) bool, True = may attend.
        weights: (B, H, Q, K); rows sum to 1.
        query_tokens, key_tokens: Q and K tokens of each sentence.
    """

    path: str
    q: Tensor
    k: Tensor
    v: Tensor
    z: Tensor
    scores: Tensor
    mask: Tensor
    weights: Tensor
    query_tokens: tuple[tuple[str, ...], ...]
    key_tokens: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class NormRecord:
    """One norm of one run: (B, T, D), mean and scale (B, T, 1); for a norm inside heads (B, H, T, ...).

    `scale` is the divisor: sqrt(variance + eps); for "rms", which has no `mean`, sqrt(mean square + eps); for
    "layer_unbiased", unbiased standard deviation + eps.
    """

    path: str
    input: Tensor
    mean: Tensor | None
    scale: Tensor
    normalized: Tensor
    result: Tensor

    def for_head(self, head: int) -> NormRecord:
        """One head of a norm inside heads: (B, H, T, ...) -> (B, T, ...)."""
        return NormRecord(
            self.path,
            self.input[:, head],
            None if self.mean is None else self.mean[:, head],
            self.scale[:, head],
            self.normalized[:, head],
            self.result[:, head],
        )


@dataclass(frozen=True)
class ResidualRecord:
    """The residual stream (B, T, D) at one point; its name begins with resid_."""

    path: str
    layer: int
    name: str
    value: Tensor


class Trace(Mapping[str, Tensor]):
    """Every recorded tensor of one run by path, in forward order, with typed views. Immutable.

    The views raise KeyError for a module missing from the run.

    Args:
        records: path -> tensor, from a Recorder.
        src_tokens: source tokens of each sentence as shown, including padding.
        tgt_tokens: the same for the decoder's input (it begins with <bos>).
    """

    def __init__(
        self,
        records: Mapping[str, Tensor],
        src_tokens: Sequence[Sequence[str]] = (),
        tgt_tokens: Sequence[Sequence[str]] = (),
    ) -> None:
        self._records = MappingProxyType(dict(records))
        self.src_tokens = tuple(tuple(tokens) for tokens in src_tokens)
        self.tgt_tokens = tuple(tuple(tokens) for tokens in tgt_tokens)

    def __getitem__(self, path: str) -> Tensor:
        return self._records[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    __eq__ = object.__eq__  # Mapping.__eq__ would need the truth value of tensors
    __hash__ = object.__hash__

    def n_layers(self, stack: Stack) -> int:
        """Number of recorded layers of a stack."""
        prefix = f"{stack}.layers."
        return len({path.removeprefix(prefix).split(".")[0] for path in self if path.startswith(prefix)})

    def tokens(self, stack: Stack) -> tuple[tuple[str, ...], ...]:
        """The tokens at a stack's positions, one tuple per sentence."""
        return self.src_tokens if stack == "encoder" else self.tgt_tokens

    def attention(self, stack: Stack, layer: int, name: AttentionName) -> AttentionRecord:
        """One attention, such as ("decoder", 1, "cross_attn")."""
        path = f"{stack}.layers.{layer}.{name}"
        weights = self[f"{path}.weights"]
        return AttentionRecord(
            path=path,
            q=self[f"{path}.q"],
            k=self[f"{path}.k"],
            v=self[f"{path}.v"],
            z=self[f"{path}.z"],
            scores=self[f"{path}.scores"],
            mask=self[f"{path}.mask"].expand(weights.shape[0], 1, *weights.shape[-2:]),
            weights=weights,
            query_tokens=self.tokens(stack),
            key_tokens=self.src_tokens if name == "cross_attn" else self.tokens(stack),
        )

    def norm(self, path: str) -> NormRecord:
        """One norm by its module's path, such as "encoder.layers.0.self_attn_norm"."""
        return NormRecord(
            path=path,
            input=self[f"{path}.input"],
            mean=self.get(f"{path}.mean"),
            scale=self[f"{path}.scale"],
            normalized=self[f"{path}.normalized"],
            result=self[f"{path}.result"],
        )

    def norms(self) -> list[NormRecord]:
        """All norms in forward order."""
        return [self.norm(path.removesuffix(".normalized")) for path in self if path.endswith(".normalized")]

    def residual(self, stack: Stack) -> list[ResidualRecord]:
        """The residual stream of a stack, from first to last point."""
        points = []
        for path, value in self.items():
            prefix, _, name = path.rpartition(".")
            if path.startswith(f"{stack}.layers.") and name.startswith("resid_"):
                points.append(ResidualRecord(path, int(prefix.rsplit(".", 1)[1]), name, value))
        return points
