"""The tap: one mechanism to look at every number of a run, and to change it.

Every forward takes a tap, hands it each tensor by name, and continues with the tensor that it returns.
`NO_TAP` hands the tensor back untouched; a `Recorder` keeps it, after an edit if there is one for its path.
`tap.at(scope)` goes one module down, so that the path of a record is the path of the module in the model and
the prefix of its parameters.
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
    """What a forward calls with each tensor."""

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        """See the tensor; returns the one to continue with."""
        ...

    def at(self, scope: str | int) -> Tap:
        """The tap for a submodule."""
        ...


class _NoTap:
    """Looks at nothing and costs nothing."""

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        return tensor

    def at(self, scope: str | int) -> _NoTap:
        return self


NO_TAP: Tap = _NoTap()


class Recorder:
    """Keeps every tensor by its path, each after the edit for that path.

    Args:
        edits: path -> function of the tensor that returns one to continue with, of the same shape. It is
            given a copy: written into, the tensor itself would change what was recorded of it before, and
            positions would change the model.
        keep: whether a path is kept; all are when left out. Keep less to hold a long sentence in less memory.
    """

    def __init__(
        self, edits: Mapping[str, Edit] | None = None, keep: Callable[[str], bool] | None = None
    ) -> None:
        self.records: dict[str, Tensor] = {}
        self._edits = dict(edits or {})
        self._keep = keep
        self._scope = ""

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        """Edit the tensor if its path has an edit, keep it, and hand it back."""
        path = self._scope + name
        if path in self._edits:
            edited = self._edits[path](tensor.clone())
            if edited.shape != tensor.shape:
                shapes = f"{tuple(tensor.shape)} into {tuple(edited.shape)}"
                raise ValueError(f"The edit of {path} turned {shapes}: it must keep the shape.")
            tensor = edited
        if self._keep is None or self._keep(path):
            self.records[path] = tensor.detach()
        return tensor

    def at(self, scope: str | int) -> Recorder:
        """The same recorder, one module further down."""
        inner = Recorder.__new__(Recorder)
        inner.records, inner._edits, inner._keep = self.records, self._edits, self._keep
        inner._scope = f"{self._scope}{scope}."
        return inner


@dataclass(frozen=True)
class AttentionRecord:
    """One attention of one run, its tensors with all their heads.

    Attributes:
        path: of the module, such as "decoder.layers.0.cross_attn".
        q, z: (B, H, Q, d_head).
        k, v: (B, H, K, d_head), or of fewer heads that neighbouring heads of q share.
        scores: (B, H, Q, K), what enters the softmax: scaled, biased by position and capped where the model
            does so, before the mask.
        mask: (B, 1, Q, K) bool, True = may attend.
        weights: (B, H, Q, K), rows sum to 1.
        query_tokens, key_tokens: for each sentence, its Q and its K tokens.
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
    """One norm of one run: (B, T, D), mean and scale (B, T, 1); (B, H, T, ...) in each head by itself.

    `scale` is what was divided by: sqrt(variance + eps); of norm "rms", which has no `mean`, sqrt(mean square
    + eps); of norm "layer_unbiased" the unbiased deviation + eps.
    """

    path: str
    input: Tensor
    mean: Tensor | None
    scale: Tensor
    normalized: Tensor
    result: Tensor

    def of_head(self, head: int) -> NormRecord:
        """What a norm inside of heads did in one of them: (B, H, T, ...) -> (B, T, ...)."""
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
    """The residual stream (B, T, D) at one point: resid_pre, resid_mid, resid_mid_cross or resid_post."""

    path: str
    layer: int
    name: str
    value: Tensor


class Trace(Mapping[str, Tensor]):
    """Every recorded tensor of one run by its path, in the order of the forward, with typed views. Immutable.

    Args:
        records: path -> tensor, as a Recorder kept them.
        src_tokens: for each sentence of the batch, the source tokens as shown, padding included.
        tgt_tokens: the same for the decoder's input (it begins with <bos>).

    Raises:
        KeyError: from the views, for a module that the run did not have.
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

    __eq__ = object.__eq__  # a Mapping's own would ask tensors whether they are true
    __hash__ = object.__hash__

    def n_layers(self, stack: Stack) -> int:
        """How many layers of a stack were recorded."""
        prefix = f"{stack}.layers."
        return len({path.removeprefix(prefix).split(".")[0] for path in self if path.startswith(prefix)})

    def tokens(self, stack: Stack) -> tuple[tuple[str, ...], ...]:
        """The tokens at a stack's positions, one tuple per sentence."""
        return self.src_tokens if stack == "encoder" else self.tgt_tokens

    def attention(self, stack: Stack, layer: int, name: AttentionName) -> AttentionRecord:
        """One attention: ("encoder", 0, "self_attn"), ("decoder", 1, "cross_attn"), ..."""
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
        """One norm by the path of its module, such as "encoder.layers.0.self_attn_norm"."""
        return NormRecord(
            path=path,
            input=self[f"{path}.input"],
            mean=self.get(f"{path}.mean"),
            scale=self[f"{path}.scale"],
            normalized=self[f"{path}.normalized"],
            result=self[f"{path}.result"],
        )

    def norms(self) -> list[NormRecord]:
        """All norms in the order of the forward."""
        return [self.norm(path.removesuffix(".normalized")) for path in self if path.endswith(".normalized")]

    def residual(self, stack: Stack) -> list[ResidualRecord]:
        """The residual stream of a stack from its input to its end, in the order of the forward."""
        points = []
        for path, value in self.items():
            prefix, _, name = path.rpartition(".")
            if path.startswith(f"{stack}.layers.") and name.startswith("resid_"):
                points.append(ResidualRecord(path, int(prefix.rsplit(".", 1)[1]), name, value))
        return points
