"""Embeddings, positions and generators of custom modules: found by name and shape, or asked for."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tests.transformer.checkpoints.importing.families.foreign import (
    close,
    imported,
    random_ids,
    randomized,
    raw_of,
)
from transformer.checkpoints.importing.families.own_layout.name_words import is_positions
from transformer.checkpoints.importing.layout.questions import sinusoid_layout
from transformer.checkpoints.importing.recognition import plan_import
from transformer.errors import CheckpointError
from transformer.model.masks import causal_mask
from transformer.model.positions import sinusoidal_encoding

D_MODEL, HEADS, D_FF, VOCAB, LENGTH = 22, 2, 37, 29, 17
ANSWERS = {"n_heads": HEADS, "embedding_scale": False, "pad_id": -1}


class Translator(nn.Module):
    """A custom module: embeddings in the given order, learned positions if named, no generator bias."""

    def __init__(
        self, *embeddings: str, src: str, tgt: str, out: str, positions: tuple[str, ...] = ()
    ) -> None:
        super().__init__()
        self.names, self.tables = (src, tgt, out), positions
        for name in embeddings:
            self.add_module(name, nn.Embedding(VOCAB, D_MODEL))
        for name in positions:
            self.add_module(name, nn.Embedding(LENGTH, D_MODEL))
        self.transformer = nn.Transformer(D_MODEL, HEADS, 1, 1, D_FF, batch_first=True)
        self.add_module(out, nn.Linear(D_MODEL, VOCAB, bias=False))

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        x, y = self.get_submodule(self.names[0])(src), self.get_submodule(self.names[1])(tgt)
        if self.tables:
            x = x + self.get_parameter(f"{self.tables[0]}.weight")[: src.shape[1]]
            y = y + self.get_parameter(f"{self.tables[1]}.weight")[: tgt.shape[1]]
        z = self.transformer(x, y, tgt_mask=~causal_mask(tgt.shape[1])[0, 0])
        return self.get_submodule(self.names[2])(z)


class LanguageModel(nn.Module):
    """Encoder layers under a causal mask; other modules may have any name."""

    def __init__(self, embedding: str, positions: str, out: str, length: int = LENGTH) -> None:
        super().__init__()
        self.names = (embedding, positions, out)
        self.add_module(embedding, nn.Embedding(VOCAB, D_MODEL))
        self.add_module(positions, nn.Embedding(length, D_MODEL))
        layer = nn.TransformerEncoderLayer(D_MODEL, HEADS, D_FF, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.add_module(out, nn.Linear(D_MODEL, VOCAB, bias=False))

    def forward(self, ids: Tensor) -> Tensor:
        embedding, positions, out = self.names
        x = self.get_submodule(embedding)(ids) + self.get_parameter(f"{positions}.weight")[: ids.shape[1]]
        return self.get_submodule(out)(self.layers(x, mask=~causal_mask(ids.shape[1])[0, 0]))


def assert_parity(folder: Path, theirs: Translator, **answers: object) -> None:
    randomized(theirs)
    positions = {} if theirs.tables else {"positions": "none"}
    ours, _ = imported(raw_of(folder, theirs.state_dict()), ANSWERS | positions | answers)
    src, tgt = random_ids(VOCAB, 2, 9), random_ids(VOCAB, 2, 7, seed=1)
    with torch.no_grad():
        assert close(ours(src, tgt), theirs(src, tgt))


OUTPUTS = ("out", "output", "output_layer", "to_logits", "unembed", "vocab_proj", "classifier", "fc_out")


@pytest.mark.parametrize("out", OUTPUTS)
def test_an_output_layer_without_bias_is_no_embedding(tmp_path: Path, out: str) -> None:
    assert_parity(tmp_path, Translator("emb", src="emb", tgt="emb", out=out))
    assert_parity(tmp_path, Translator("src_emb", "tgt_emb", src="src_emb", tgt="tgt_emb", out=out))


EMBEDDINGS = (("tok", "wpe"), ("wte", "time_emb"), ("words", "posEmb"), ("emb", "pe"))


@pytest.mark.parametrize("length", [LENGTH, VOCAB])
@pytest.mark.parametrize(
    "out, embedding, positions",
    [(out, *EMBEDDINGS[i % len(EMBEDDINGS)]) for i, out in enumerate([*OUTPUTS, "decoder"])],
)
def test_parity_of_language_models_whatever_their_parts_are_called(
    tmp_path: Path, out: str, embedding: str, positions: str, length: int
) -> None:
    theirs = randomized(LanguageModel(embedding, positions, out, length))
    ours, report = imported(raw_of(tmp_path, theirs.state_dict()), ANSWERS | {"causal": True})
    assert ours.config.positions == "learned"
    assert not {"embedding", "generator", "position_table"} & {question.name for question in report.questions}
    ids = random_ids(VOCAB, 2, 9)
    with torch.no_grad():
        assert close(ours(None, ids), theirs(ids))


def test_which_embedding_is_the_sources_is_asked_where_names_do_not_tell(tmp_path: Path) -> None:
    theirs = Translator("de", "en", src="en", tgt="de", out="out")
    report = plan_import(raw_of(tmp_path, theirs.state_dict()), {}).report
    (question,) = (question for question in report.questions if question.name == "src_embedding")
    assert [option.value for option in question.options] == ["de.weight", "en.weight"]
    assert not question.answered
    assert_parity(tmp_path, theirs, src_embedding="en.weight")
    theirs = Translator("de", "en", src="de", tgt="en", out="out")
    assert_parity(tmp_path, theirs, src_embedding="de.weight")


def test_the_shape_of_the_generator_tells_the_targets_embedding(tmp_path: Path) -> None:
    theirs = Translator("de", "en", src="en", tgt="de", out="out")
    theirs.en = nn.Embedding(VOCAB + 2, D_MODEL)
    report = plan_import(raw_of(tmp_path, theirs.state_dict()), {}).report
    assert "src_embedding" not in {question.name for question in report.questions}
    assert_parity(tmp_path, theirs)


def test_tables_of_positions_of_both_sides_are_asked_for(tmp_path: Path) -> None:
    theirs = Translator("src", "tgt", src="src", tgt="tgt", out="out", positions=("pos2", "pos1"))
    assert_parity(tmp_path, theirs, src_positions="pos2.weight")
    theirs = Translator("src", "tgt", src="src", tgt="tgt", out="out", positions=("tgtPos", "srcPos")[::-1])
    assert_parity(tmp_path, theirs)


def test_a_third_matrix_of_words_is_asked_for(tmp_path: Path) -> None:
    theirs = Translator("a", "b", src="a", tgt="b", out="c")
    assert_parity(tmp_path, theirs, src_embedding="a.weight", generator="c.weight")
    theirs = Translator("c", "b", src="c", tgt="b", out="a")
    assert_parity(tmp_path, theirs, src_embedding="c.weight", generator="a.weight")


def test_what_may_be_embedding_or_generator_is_asked(tmp_path: Path) -> None:
    theirs = randomized(LanguageModel("a", "pos", "b"))
    raw = raw_of(tmp_path, theirs.state_dict())
    ours, _ = imported(raw, ANSWERS | {"causal": True, "generator": "b.weight"})
    ids = random_ids(VOCAB, 2, 9)
    with torch.no_grad():
        assert close(ours(None, ids), theirs(ids))
    other = plan_import(raw, {"generator": "none", "embedding": "b.weight"}).report
    assert [problem.name for problem in other.keys.unexpected] == ["a.weight"]
    with pytest.raises(CheckpointError, match="is not an answer to generator"):
        plan_import(raw, {"generator": "pos.weight"})


def test_a_learned_table_beside_a_computed_one_is_used_as_it_is_stored(tmp_path: Path) -> None:
    theirs = Translator("src", "tgt", src="src", tgt="tgt", out="out", positions=("src_pos", "tgt_pos"))
    state = theirs.state_dict()
    state["src_pos.weight"] = sinusoidal_encoding(LENGTH, D_MODEL)
    ours, _ = imported(raw_of(tmp_path, state), ANSWERS)
    assert ours.config.positions == "learned"
    assert torch.equal(ours.get_parameter("tgt_embedding.positions.weight"), state["tgt_pos.weight"])


@pytest.mark.parametrize("layer,shape", [(0, ()), (0, (6,)), (1, (66, 22))])
def test_layers_without_two_axes_or_a_first_one_are_no_known_layout(
    tmp_path: Path, layer: int, shape: tuple[int, ...]
) -> None:
    state = {f"layers.{layer}.self_attn.in_proj_weight": torch.ones(shape)}
    with pytest.raises(CheckpointError, match="No known layout"):
        plan_import(raw_of(tmp_path, state), {})


def test_long_names_take_no_long_time() -> None:
    """In processor time, which other processes on the machine don't affect."""
    start = time.process_time()
    assert not any(is_positions("_" * 480 + str(i)) or is_positions("a." * 240 + "b") for i in range(2_000))
    assert time.process_time() - start < 1


def test_a_table_of_positions_is_compared_as_far_as_any_sentence_goes(tmp_path: Path) -> None:
    table = sinusoidal_encoding(2_100, D_MODEL)
    halves = torch.cat((table[:, ::2], table[:, 1::2]), dim=1)
    raw = raw_of(tmp_path, {"table": table, "halves": halves, "whole": table.to(torch.int64)})
    assert sinusoid_layout(raw.tensors["table"]) == "interleaved"
    assert sinusoid_layout(raw.tensors["halves"]) == "halves"
    assert sinusoid_layout(raw.tensors["whole"]) is None
