"""Models compiled by Tracr, as `compile_programs.py` stored them, in our own Transformer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from tests.support.planting import random_model
from transformer.analysis.interventions.questions import Question
from transformer.loaded import LoadedModel, freeze
from transformer.model.attention import MultiHeadAttention
from transformer.model.transformer import Transformer
from transformer.run import Run, force, read
from transformer.text.coder import SpecialTokens
from transformer.text.ids import IdCoder

STORED = Path(__file__).with_name("programs.npz")
N_DECOYS = 2
"""Heads added to each layer: they attend and write, but into dimensions of their own that nothing reads."""
N_UNREAD = 3
"""Number of those dimensions."""


@cache
def _archive() -> dict[str, NDArray[Any]]:
    with np.load(STORED) as stored:
        return dict(stored)


def names() -> list[str]:
    """The programs."""
    return [key.removesuffix("/facts") for key in _archive() if key.endswith("/facts")]


@dataclass(frozen=True)
class Compiled:
    """A compiled program.

    Attributes:
        loaded: the model; row `nothing` of its generator is 0, so that logits can be compared with it.
        runs: runs of its inputs.
        expected: (inputs, T) the right output's id, or the number itself; NaN where there is none.
        output: (inputs, T, outputs) of Tracr's own forward pass; NaN after the end.
        circuit: (layer, head) of the compiled heads -> whether they depend on the tokens read, and not only
            on how many there are.
    """

    loaded: LoadedModel
    runs: list[Run]
    expected: NDArray[np.float32]
    output: NDArray[np.float32]
    circuit: dict[tuple[int, int], bool]

    @property
    def nothing(self) -> int:
        """An id that is never an output."""
        return self.loaded.model.generator.out_features - 1

    @property
    def is_number(self) -> bool:
        """True if the output is a number, the first logit."""
        return self.output.shape[-1] == 1

    def question(self, i: int, row: int) -> Question:
        """Asks for the logit of the right output."""
        index = 0 if self.is_number else int(self.expected[i, row])
        return Question(str(index), (row,), (index,), self.nothing, "nothing")

    def questions(self, i: int) -> list[Question]:
        """One per defined output of an input."""
        return [self.question(i, int(row)) for row in np.flatnonzero(~np.isnan(self.expected[i]))]


def compiled(name: str) -> Compiled:
    """A program by its name."""
    prefix = f"{name}/"
    stored = {key.removeprefix(prefix): array for key, array in _archive().items() if key.startswith(prefix)}
    facts = json.loads(stored["facts"].tobytes())
    weights = _unpacked(facts["names"], stored["places"], stored["weights"])
    size = max(len(weights["embedding"]), len(weights["unembedding"]) + 1)
    side = "tgt" if facts["causal"] else "src"
    model = random_model(
        src_vocab_size=0 if facts["causal"] else size,
        tgt_vocab_size=size if facts["causal"] else 0,
        n_encoder_layers=0 if facts["causal"] else facts["n_layers"],
        n_decoder_layers=facts["n_layers"] if facts["causal"] else 0,
        n_heads=facts["n_heads"] + N_DECOYS,
        d_model=facts["d_model"] + N_UNREAD,
        d_head=facts["d_head"],
        d_ff=facts["d_ff"],
        max_len=len(weights["positions"]),
        tie_generator=False,
        pad_id=-1,
    )
    _load(model, side, facts["n_heads"], weights)
    coder = IdCoder(rows=size, special_tokens=SpecialTokens(None, None, None, None))
    loaded = LoadedModel(name, freeze(model), coder, coder)
    runs = [_run(loaded, [int(index) for index in ids if index >= 0]) for ids in stored["ids"]]
    circuit = {(layer, head): depends for layer, head, _, depends in facts["circuit"]}
    return Compiled(loaded, runs, stored["expected"], stored["output"], circuit)


def _unpacked(
    shapes: dict[str, list[int]], places: NDArray[Any], values: NDArray[np.float32]
) -> dict[str, Tensor]:
    sizes = [int(np.prod(shape)) for shape in shapes.values()]
    flat = torch.zeros(sum(sizes))
    flat[torch.from_numpy(places.astype(np.int64))] = torch.from_numpy(values)
    parts = flat.split(sizes)
    return {name: part.view(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}


@torch.no_grad()
def _load(model: Transformer, side: str, n_heads: int, weights: dict[str, Tensor]) -> None:
    """Write the compiled weights over those of a random model; what remains random are the decoys."""
    width = weights["embedding"].shape[1]
    embedding = model.get_submodule(f"{side}_embedding")
    embedding.get_parameter("weight")[: len(weights["embedding"]), :width] = weights["embedding"]
    embedding.get_parameter("positions.weight")[:, :width] = weights["positions"]
    model.generator.weight.zero_()
    model.generator.weight[: len(weights["unembedding"]), :width] = weights["unembedding"]
    stack = model.get_submodule("decoder" if side == "tgt" else "encoder")
    for name, matrix in weights.items():
        layer, _, path = name.partition(".")
        if not layer.isdecimal():
            continue
        own = stack.get_parameter(f"layers.{layer}.{path}.weight")
        if "feed_forward" in name:
            own.zero_()
        elif path.endswith("w_o"):
            own[:width] = 0  # no decoy writes where something reads
            own[:, : matrix.shape[1]] = 0
        else:
            own[: len(matrix)] = 0
        own[: matrix.shape[0], : matrix.shape[1]] = matrix


def _run(loaded: LoadedModel, ids: list[int]) -> Run:
    source = loaded.source.describe_ids(ids)
    if loaded.model.config.n_encoder_layers:
        return read(loaded, source)
    return force(loaded, source, loaded.source.describe_ids([]), ends=False)


def attention_paths(loaded: LoadedModel) -> list[str]:
    """The paths of a model's self-attentions."""
    modules = loaded.model.named_modules()
    return [path for path, module in modules if isinstance(module, MultiHeadAttention)]
