"""Norms outside the layers of custom modules: after a stack or the embeddings, never left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
from transformer.checkpoints.importing.recognition import plan_import
from transformer.errors import CheckpointError
from transformer.model.masks import causal_mask

D_MODEL, HEADS, D_FF, VOCAB = 22, 2, 37, 29
ANSWERS = {"n_heads": HEADS, "embedding_scale": False, "pad_id": -1, "positions": "none"}
LAYER: dict[str, Any] = {"d_model": D_MODEL, "nhead": HEADS, "dim_feedforward": D_FF, "batch_first": True}


class LanguageModel(nn.Module):
    """Two encoder layers under a causal mask, with a norm of any name before them, after them, or both."""

    def __init__(self, before: str = "", after: str = "", *, in_list: bool = True) -> None:
        super().__init__()
        self.names = (before, after)
        self.tok = nn.Embedding(VOCAB, D_MODEL)
        layers = [nn.TransformerEncoderLayer(**LAYER) for _ in range(2)]
        if in_list:
            self.layers = nn.ModuleList(layers)
        else:
            self.encoder = nn.TransformerEncoder(layers[0], 2, enable_nested_tensor=False)
        for name in self.names:
            if name:
                self.add_module(name, nn.LayerNorm(D_MODEL))
        self.head = nn.Linear(D_MODEL, VOCAB)

    def forward(self, ids: Tensor) -> Tensor:
        before, after = self.names
        x = self.tok(ids)
        x = self.get_submodule(before)(x) if before else x
        for layer in self.encoder.layers if hasattr(self, "encoder") else self.layers:
            x = layer(x, src_mask=~causal_mask(ids.shape[1])[0, 0])
        return self.head(self.get_submodule(after)(x) if after else x)


class Translator(nn.Module):
    """Two lists of layers, each with a norm after the embedding or after the last layer."""

    def __init__(self, src_norm: str, tgt_norm: str, *, after: bool) -> None:
        super().__init__()
        self.after, self.names = after, (src_norm, tgt_norm)
        self.emb = nn.Embedding(VOCAB, D_MODEL)
        self.enc_layers = nn.ModuleList([nn.TransformerEncoderLayer(**LAYER)])
        self.dec_layers = nn.ModuleList([nn.TransformerDecoderLayer(**LAYER)])
        for name in self.names:
            self.add_module(name, nn.LayerNorm(D_MODEL))
        self.head = nn.Linear(D_MODEL, VOCAB)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        enc_norm, dec_norm = map(self.get_submodule, self.names)
        x, y = self.emb(src), self.emb(tgt)
        x = self.enc_layers[0](x if self.after else enc_norm(x))
        x = enc_norm(x) if self.after else x
        y = self.dec_layers[0](y if self.after else dec_norm(y), x, tgt_mask=~causal_mask(tgt.shape[1])[0, 0])
        return self.head(dec_norm(y) if self.after else y)


def questions_of_a_language_model(folder: Path, theirs: LanguageModel, **answers: str) -> set[str]:
    """Names of the questions on norms; asserts that our model computes the same."""
    randomized(theirs)
    ours, report = imported(raw_of(folder, theirs.state_dict()), ANSWERS | {"causal": True} | answers)
    ids = random_ids(VOCAB, 2, 9)
    with torch.no_grad():
        assert close(ours(None, ids), theirs(ids))
    return {question.name for question in report.questions if question.name.startswith("place_of_")}


@pytest.mark.parametrize("in_list", [True, False])
def test_where_a_norm_beside_the_layers_stands_is_asked(tmp_path: Path, in_list: bool) -> None:
    for theirs, place in (
        (LanguageModel(before="norm", in_list=in_list), "embeddings"),
        (LanguageModel(after="norm", in_list=in_list), "last"),
    ):
        assert questions_of_a_language_model(tmp_path, theirs, place_of_norm=place) == {"place_of_norm"}


@pytest.mark.parametrize("before,after", [("emb_norm", ""), ("", "ln_f"), ("embLn", "final_norm")])
@pytest.mark.parametrize("in_list", [True, False])
def test_names_tell_where_norms_stand(tmp_path: Path, before: str, after: str, in_list: bool) -> None:
    assert not questions_of_a_language_model(tmp_path, LanguageModel(before, after, in_list=in_list))


def test_a_norm_said_to_stand_elsewhere_is_listed(tmp_path: Path) -> None:
    raw = raw_of(tmp_path, LanguageModel(after="norm").state_dict())
    report = plan_import(raw, {"place_of_norm": "elsewhere"}).report
    assert not report.config.final_norm
    assert [problem.name for problem in report.keys.unexpected] == ["norm.weight", "norm.bias"]


@pytest.mark.parametrize(
    "names, after, places",
    [
        (("enc_norm", "dec_norm"), True, ("encoder", "decoder")),
        (("enc_norm", "dec_norm"), False, ("embeddings", "embeddings")),
        (("norm_a", "norm_b"), True, ("encoder", "decoder")),
    ],
    ids=["after each side", "after the embeddings", "of no side by name"],
)
def test_norms_of_two_lists_of_layers_go_to_their_sides(
    tmp_path: Path, names: tuple[str, str], after: bool, places: tuple[str, str]
) -> None:
    """Norms whose names tell no side are asked for one by one."""
    theirs = randomized(Translator(*names, after=after))
    answers = {f"place_of_{name}": place for name, place in zip(names, places, strict=True)}
    ours, _ = imported(raw_of(tmp_path, theirs.state_dict()), ANSWERS | answers)
    src, tgt = random_ids(VOCAB, 2, 9), random_ids(VOCAB, 2, 7, seed=1)
    with torch.no_grad():
        assert close(ours(src, tgt), theirs(src, tgt))


def test_a_second_norm_after_the_last_layer_is_refused(tmp_path: Path) -> None:
    layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(**LAYER), 1, nn.LayerNorm(D_MODEL))
    both = nn.ModuleDict(
        {"tok": nn.Embedding(VOCAB, D_MODEL), "encoder": layers, "ln_f": nn.LayerNorm(D_MODEL)}
    )
    with pytest.raises(CheckpointError, match="no place for the norm 'ln_f'"):
        plan_import(raw_of(tmp_path, both.state_dict()), {})


def test_a_classifiers_norm_is_no_part_of_the_model(tmp_path: Path) -> None:
    theirs = nn.ModuleDict(
        {
            "encoder": nn.TransformerEncoder(nn.TransformerEncoderLayer(**LAYER), 1, nn.LayerNorm(D_MODEL)),
            "mlp_head": nn.Sequential(nn.LayerNorm(D_MODEL), nn.Linear(D_MODEL, 5)),
        }
    )
    report = plan_import(raw_of(tmp_path, theirs.state_dict()), {}).report
    assert not any(question.name.startswith("place_of_") for question in report.questions)
    assert "mlp_head.0.weight" in [problem.name for problem in report.keys.unexpected]
