"""What names and shapes tell about a configuration, once it is known which tensor is which weight."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from transformer.checkpoints.importing.config_draft import ConfigDraft, checked_size
from transformer.checkpoints.importing.layout import questions, rotary_questions
from transformer.checkpoints.importing.layout.file import Layout
from transformer.checkpoints.importing.layout.held import Held
from transformer.checkpoints.importing.layout.operations import Stored
from transformer.checkpoints.importing.layout.our_names import pattern_of
from transformer.checkpoints.importing.layout.unsaid import Unsaid
from transformer.errors import CheckpointError, shown

_SIDES = {"src": "encoder", "tgt": "decoder"}
_POSITION_TABLES = ("src_embedding.positions.weight", "tgt_embedding.positions.weight")
_TOLD_BY = "which tensors there are"


class Derived:
    """Fills in settings from names and shapes, and asks where these leave a choice.

    Args:
        layout: with the names.
        draft: to be filled in.
        get: fetches another setting.
    """

    def __init__(self, layout: Layout, draft: ConfigDraft, get: Callable[[str], Any]) -> None:
        self.layout, self.draft, self.get = layout, draft, get
        self.held = Held(layout.names, draft.raw)
        self.fields: Mapping[str, Callable[[], object]] = {
            "n_encoder_layers": lambda: self._depth("n_encoder_layers"),
            "n_decoder_layers": lambda: self._depth("n_decoder_layers"),
            "src_vocab_size": lambda: self._vocabulary("src"),
            "tgt_vocab_size": lambda: self._vocabulary("tgt"),
            "d_ff": lambda: self._size("d_ff", f"{self.feed_forward}.w_1.weight", 0),
            "d_model": lambda: self._size("d_model", f"{self.feed_forward}.w_1.weight", 1),
            "n_heads": self._heads,
            "d_head": self._head_width,
            "n_kv_heads": self._key_heads,
            "final_norm": self._final_norm,
            "bias": lambda: self._has("bias", f"{self.feed_forward}.w_1.bias"),
            "attention_bias": self._attention_bias,
            "gated": lambda: self._has("gated", f"{self.feed_forward}.w_3.weight"),
            "n_experts": self._experts,
            "query_key_norm": lambda: self._has("query_key_norm", "self_attn.q_norm.gamma"),
            "embedding_norm": self._embedding_norm,
            "n_segments": self._segments,
            "d_embedding": self._embedding_width,
            "generator_transform": lambda: self._has(
                "generator_transform", "generator_transform.dense.weight"
            ),
            "generator_bias": lambda: self._has("generator_bias", "generator.bias"),
            "share_embeddings": self._share_embeddings,
            "tie_generator": self._generator,
            "has_generator": self._generator,
            "positions": self._positions,
            "max_len": self._max_len,
            **Unsaid(layout, draft, get, self.held).fields,
        }

    def fill_in(self, name: str) -> None:
        """Fill in a setting, if names and shapes or an answer tell it."""
        if name in self.fields:
            self.fields[name]()

    def depth(self, name: str) -> int:
        """The number of layers by the names: of `n_encoder_layers` or `n_decoder_layers`."""
        stack = name.removeprefix("n_").removesuffix("_layers")
        numbers = [
            int(ours.split(".")[2]) for ours in self.held.tensors if ours.startswith(f"{stack}.layers.")
        ]
        return max(numbers, default=-1) + 1

    def stored(self, ours: str) -> str:
        """The name in the files of the tensor that becomes a weight of ours; empty if there is none."""
        held = self.held.tensors.get(ours)
        return next((name for name, one in self.draft.raw.tensors.items() if held and one is held[0]), "")

    def embedding(self) -> str:
        """The name of the table of words, in the files; empty if there is none."""
        return self.stored("src_embedding.weight") or self.stored("tgt_embedding.weight")

    @property
    def layer(self) -> str:
        """The first layer of the first stack that the files have."""
        stacks = [stack for stack in _SIDES.values() if self.get(f"n_{stack}_layers")] or ["decoder"]
        return f"{next((stack for stack in stacks if self.depth(f'n_{stack}_layers')), stacks[0])}.layers.0"

    @property
    def feed_forward(self) -> str:
        """The feed-forward of the first layer, or its first expert."""
        expert = f"{self.layer}.feed_forward.experts.0"
        return expert if f"{expert}.w_1.weight" in self.held.tensors else f"{self.layer}.feed_forward"

    def _experts(self) -> None:
        experts = f"{self.layer}.feed_forward.experts."
        n_experts = sum(
            name.startswith(experts) and name.endswith(".w_1.weight") for name in self.held.tensors
        )
        if n_experts:
            self._put("n_experts", n_experts, "experts of the first layer")

    def _put(self, name: str, value: Any, why: str = _TOLD_BY) -> None:
        if name not in self.draft.settings:
            self.draft.put(name, value, "shapes", why)

    def _depth(self, name: str) -> None:
        stack = name.removeprefix("n_").removesuffix("_layers")
        self._put(name, self.depth(name), f"names of {stack}.layers")

    def _has(self, name: str, ours: str) -> None:
        full = ours if ours.startswith(("generator", self.layer)) else f"{self.layer}.{ours}"
        self._put(name, pattern_of(full) in self.held.patterns)

    def _size(self, name: str, ours: str, axis: int) -> None:
        if ours not in self.held.tensors:
            raise CheckpointError(
                f"{self.layout.what} has no {name}, and no tensor is mapped to {ours}, whose shape would "
                "give it: add one of them."
            )
        shape, stored = self.held.shape(ours), self.held.tensors[ours][0]
        if axis >= len(shape):
            raise CheckpointError(
                f"{shown(stored.name)} can't be {ours}: it has the shape {shown(stored.shape)}, but a matrix "
                f"is needed. Name another tensor in {self.layout.what.lower()}."
            )
        self._put(name, checked_size(name, shape[axis] or 0), f"shape of {stored.name}")

    def _vocabulary(self, side: str) -> None:
        name, embedding = f"{side}_vocab_size", f"{side}_embedding.weight"
        if not self.get(f"n_{_SIDES[side]}_layers"):
            self._put(name, 0, "there is no such stack")
            return
        if embedding not in self.held.tensors and side == "tgt":  # shared with the source
            embedding = next(
                (one for one in ("generator.weight", "src_embedding.weight") if one in self.held.tensors),
                embedding,
            )
        self._size(name, embedding, 0)

    def rows(self) -> tuple[int | None, int | None]:
        """Rows of all heads of queries, and of keys; None if the names don't tell."""
        attention = f"{self.layer}.self_attn"
        output, queries, keys = (self.held.shape(f"{attention}.w_{part}.weight") for part in "oqk")
        q_rows = queries[0] if queries and queries[0] is not None else output[1] if len(output) > 1 else None
        if keys and keys[0]:
            return q_rows, keys[0]
        fused = self.held.tensors.get(f"{attention}.w_k.weight")
        if fused is None or q_rows is None or not isinstance(fused[1].by, Stored):
            return q_rows, None
        all_rows = (*Stored(fused[1].by.steps, ("",)).shape(fused[0].shape, ""), 0)[0] or 0
        return q_rows, (all_rows - q_rows) // 2 if len(fused[1].names) == 3 else all_rows // 2

    @property
    def _is_rotary(self) -> bool:
        """True if the layout says so: no tensor tells it."""
        return "positions" in self.layout.config and self.get("positions") == "rotary"

    def _heads(self) -> None:
        draft, (q_rows, k_rows) = self.draft, self.rows()
        spec = self.layout.config.get("n_heads")
        width, usual = (
            (spec[0].get("width", 0), spec[0].get("likely", 0)) if isinstance(spec, list) else (0, 0)
        )
        norm = self.held.shape(f"{self.layer}.self_attn.q_norm.gamma")
        norm = norm if self.get("query_key_norm") is True else ()
        shown_heads = self._heads_by_shape()
        if shown_heads:
            self._put("n_heads", shown_heads, "shape of the queries' matrix")
        elif q_rows and norm:
            n_heads = q_rows // max(1, norm[0] or 0)
            self._put("n_heads", n_heads, "width of all heads over the length of q_norm")
            rotary_questions.put_grouped_heads(draft, n_heads, q_rows, k_rows or q_rows)
        elif q_rows == 0 or (q_rows and k_rows and (q_rows != k_rows or self._is_rotary)):
            rotary_questions.ask_grouped_heads(draft, q_rows, k_rows or 0, width, even=self._is_rotary)
        else:
            self.get("d_model")
            draft.ask_heads(usual, q_rows or 0)

    def _heads_by_shape(self) -> int:
        queries, into = self.held.tensors.get(f"{self.layer}.self_attn.w_q.weight", (None, None))
        if queries is None or into is None or not isinstance(into.by, Stored):
            return 0
        if into.joined and into.part is None:  # a matrix for each head
            return self.held.n_parts[f"{self.layer}.self_attn.w_q.weight"]
        return into.by.n_heads(queries.shape, self.get("d_model"))

    def _head_width(self) -> None:
        n_heads, d_model, (q_rows, k_rows) = self.get("n_heads"), self.get("d_model"), self.rows()
        if type(n_heads) is not int or q_rows is None:
            return
        if k_rows and (n_heads < 1 or q_rows % n_heads or k_rows % (q_rows // n_heads or 1)):
            # says what is possible
            rotary_questions.put_grouped_heads(self.draft, n_heads, q_rows, k_rows, even=self._is_rotary)
        if q_rows != d_model or (self._is_rotary and d_model % n_heads == 0):
            self._put("d_head", max(1, q_rows // n_heads), "rows of queries over heads")

    def _key_heads(self) -> None:
        n_heads, (q_rows, k_rows) = self.get("n_heads"), self.rows()
        if type(n_heads) is not int or n_heads < 1 or not q_rows or not k_rows:
            return
        d_head = self.get("d_head") or max(1, q_rows // n_heads)
        if q_rows % n_heads or k_rows % d_head:
            raise CheckpointError(
                f"{shown(n_heads)} heads are impossible: {q_rows} rows of queries and {k_rows} rows of keys "
                "must be divided into heads of one width."
            )
        if k_rows != q_rows:
            self._put("n_kv_heads", k_rows // d_head, "rows of keys over the width of a head")

    def _attention_bias(self) -> None:
        inside = self.layer.replace(".0", ".{}")
        biases = {f"{inside}.self_attn.w_{part}.bias" for part in "qkvo"}
        self._put("attention_bias", bool(biases & self.held.patterns))

    def _final_norm(self) -> None:
        stacks = [stack for stack in _SIDES.values() if self.get(f"n_{stack}_layers")]
        final = [stack for stack in stacks if f"{stack}.final_norm.gamma" in self.held.patterns]
        value = final[0] if final and len(final) < len(stacks) else bool(final)
        self._put("final_norm", value, "norms after a stack")

    def _embedding_norm(self) -> None:
        norms = {f"{side}_embedding.norm.gamma" for side in _SIDES}
        self._put("embedding_norm", bool(norms & self.held.patterns))

    def _segments(self) -> None:
        if "src_embedding.segments" in self.held.tensors:
            self._size("n_segments", "src_embedding.segments", 0)

    def _embedding_width(self) -> None:
        for side in _SIDES:
            if f"{side}_embedding.projection.weight" in self.held.tensors:
                self._size("d_embedding", f"{side}_embedding.weight", 1)

    def _share_embeddings(self) -> None:
        both = self.get("n_encoder_layers") and self.get("n_decoder_layers")
        self._put(
            "share_embeddings", bool(both) and self.one_tensor("src_embedding.weight", "tgt_embedding.weight")
        )

    def one_tensor(self, one: str, other: str) -> bool:
        """True if both weights are stored once, or one of them isn't stored."""
        if not {one, other} <= self.held.tensors.keys():
            return True
        aliases = self.draft.raw.aliases
        first, second = (self.held.tensors[name][0].name for name in (one, other))
        return aliases.get(first, first) == aliases.get(second, second)

    def words(self) -> str:
        """Our name of the embedding that a generator would be tied to."""
        side = "tgt" if self.get("n_decoder_layers") else "src"
        embedding = f"{side}_embedding.weight"
        return embedding if embedding in self.held.tensors else "src_embedding.weight"

    def _generator(self) -> None:
        if "generator.weight" in self.held.tensors:
            self._put("has_generator", True)
            tied = self.one_tensor("generator.weight", self.words())
            self._put("tie_generator", tied, "whether embedding and generator are one tensor")
        elif "has_generator" in self.layout.config:
            self._put("tie_generator", bool(self.get("has_generator")), "no matrix of its own is stored")
        elif "tie_generator" not in self.layout.config:
            tied = self.draft.ask(
                "tie_generator",
                "Is the embedding also the layer that turns hidden states into words?",
                "No tensor is mapped to generator.weight.",
                {True: "yes: they are tied", False: "no: the model predicts no words"},
            )
            self._put("has_generator", tied)

    def _tables(self) -> list[str]:
        """Stored tables of positions, by their names in the files."""
        stored = [self.held.tensors[name][0] for name in _POSITION_TABLES if name in self.held.tensors]
        return [name for name, one in self.draft.raw.tensors.items() if any(one is table for table in stored)]

    def _positions(self) -> None:
        if any(name.endswith("relative_bias.weight") for name in self.held.patterns):
            self._put("positions", "relative")
            return
        self.get("d_model")
        if self._rows_are_moved():  # what is stored is not what is added
            self._put("positions", "learned", "a table of positions in another order")
            return
        told = self.get("max_len") if "max_len" in self.layout.config else None
        questions.ask_positions(self.draft, self._tables())
        if told is not None:
            self.draft.put("max_len", told, "config", f"{self.layout.what.lower()}: max_len")

    def _rows_are_moved(self) -> bool:
        held = [self.held.tensors[name][1].by for name in _POSITION_TABLES if name in self.held.tensors]
        return any(isinstance(by, Stored) and not by.keeps_rows for by in held)

    def _max_len(self) -> None:
        kind = self.get("positions")
        if "max_len" in self.draft.settings:
            return
        shapes = [self.held.shape(name) for name in _POSITION_TABLES]
        known = [shape[0] for shape in shapes if shape and shape[0]]
        if known:
            self._put("max_len", min(known), "their tables")
        else:
            why = f"{self.layout.what} does not say, and {kind} positions have no table"
            self.draft.put("max_len", questions.ASSUMED_LENGTH, "assumed", why)


class Settings(Protocol):
    """What entries that fill in several fields work on; see `reading.Reading`."""

    layout: Layout
    draft: ConfigDraft
    derived: Derived

    def get(self, name: str) -> Any:
        """A setting's value, filled in first if it isn't yet."""
