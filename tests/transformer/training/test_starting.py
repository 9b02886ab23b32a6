"""A run that starts from another model's weights: each piece gets its row, whatever the vocabularies."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.support.models import ENGLISH_TEXT, ITALIAN_TEXT, subword_coder, tiny_model, tiny_subword_model
from tests.transformer.training.runs import TINY, metrics, train, write_pairs
from transformer.checkpoints.folder import open_coders, open_config
from transformer.errors import CheckpointError
from transformer.loaded import LoadedModel
from transformer.model.config import PRESETS
from transformer.model.transformer import Transformer
from transformer.text.plain_values import to_plain
from transformer.text.subwords import SubwordCoder
from transformer.training.choices import check_plan
from transformer.training.plan import DataPlan, ModelPlan, PlanError, TrainingPlan
from transformer.training.prepare import coders_to_keep, fingerprint
from transformer.training.starting import take_weights

OLD = tiny_subword_model(seed=1)
"""It has English pieces on the source side and Italian ones on the target side."""


def new_model(source: SubwordCoder, target: SubwordCoder, *, share: bool = False) -> LoadedModel:
    """A model with other random weights, of the same sizes."""
    config = replace(
        OLD.model.config,
        src_vocab_size=len(source.vocabulary),
        tgt_vocab_size=len(target.vocabulary),
        share_embeddings=share,
    )
    return replace(
        OLD, model=Transformer(config, torch.Generator().manual_seed(2)), source=source, target=target
    )


def row(table: Tensor, coder: SubwordCoder, piece: str) -> Tensor:
    """A piece's row in a table."""
    return table[coder.vocabulary.to_lists()[0].index(piece)]


def pieces(coder: SubwordCoder) -> set[str]:
    """All pieces of a coder."""
    return set(coder.vocabulary.to_lists()[0])


def sides() -> tuple[SubwordCoder, SubwordCoder]:
    """The coders of the old model."""
    assert isinstance(OLD.source, SubwordCoder)
    assert isinstance(OLD.target, SubwordCoder)
    return OLD.source, OLD.target


def test_with_the_same_vocabularies_it_is_the_same_model() -> None:
    new = new_model(*sides())
    take_weights(new, OLD)
    found, wanted = new.model.state_dict(), OLD.model.state_dict()
    assert all(torch.equal(found[name], wanted[name]) for name in wanted)


def test_a_known_piece_keeps_its_row_and_an_unknown_one_is_the_mean_of_its_pieces() -> None:
    source, target = sides()
    larger = subword_coder("it", f"{ITALIAN_TEXT} " * 3, size=330)
    new = new_model(source, larger)
    take_weights(new, OLD)
    known, unknown = pieces(larger) & pieces(target), pieces(larger) - pieces(target)
    assert len(known) > 280
    assert len(unknown) > 10
    for name in ("tgt_embedding.weight", "generator.bias"):
        before, after = OLD.model.get_parameter(name), new.model.get_parameter(name)
        for piece in known:
            assert torch.equal(row(after, larger, piece), row(before, target, piece)), piece
        for piece in unknown:
            ids = target.vocabulary.encode(piece.removeprefix("▁"), spaced=piece.startswith("▁"))
            assert len(ids) > 1
            torch.testing.assert_close(row(after, larger, piece), before[ids].mean(dim=0))


def test_one_matrix_of_two_has_the_sum_where_both_sides_knew_a_piece() -> None:
    source, target = sides()
    both = subword_coder("en", f"{ENGLISH_TEXT} {ITALIAN_TEXT} " * 3, size=330)
    new = new_model(both, both, share=True)
    take_weights(new, OLD)
    table = new.model.src_embedding.weight
    assert table is new.model.tgt_embedding.weight
    english, italian = OLD.model.src_embedding.weight, OLD.model.tgt_embedding.weight
    counts = {"both": 0, "one": 0}
    for piece in pieces(both):
        rows = [
            row(one, coder, piece)
            for one, coder in ((english, source), (italian, target))
            if piece in pieces(coder)
        ]
        if rows:
            counts["both" if len(rows) == 2 else "one"] += 1
            torch.testing.assert_close(row(table, both, piece), torch.stack(rows).sum(dim=0))
    assert min(counts.values()) > 10, counts


def test_a_deeper_model_begins_as_the_same_function_and_its_new_layers_learn() -> None:
    pre = {"norm_position": "pre", "final_norm": True}
    old = tiny_subword_model(seed=1, **pre, n_encoder_layers=1, n_decoder_layers=2)
    deeper = tiny_subword_model(seed=5, **pre, n_encoder_layers=3, n_decoder_layers=4)
    deeper.model.requires_grad_(True)
    take_weights(deeper, old)
    source, target = torch.tensor([[5, 9, 11, 2]]), torch.tensor([[1, 7, 8]])
    logits = deeper.model(source, target)
    assert torch.equal(logits, old.model(source, target))
    logits.logsumexp(-1).sum().backward()
    for stack in (deeper.model.encoder, deeper.model.decoder):
        for name in ("self_attn.w_o.weight", "feed_forward.w_2.weight"):
            gradient = stack.layers[-1].get_parameter(name).grad
            assert gradient is not None
            assert gradient.any(), name
    with pytest.raises(PlanError, match="n_encoder_layers is 1, not 3; n_decoder_layers is 2, not 4"):
        take_weights(old, deeper)
    without_decoder = tiny_subword_model(
        seed=1, **pre, n_encoder_layers=1, n_decoder_layers=0, tgt_vocab_size=0
    )
    with pytest.raises(PlanError, match="n_decoder_layers is 4, not 0"):
        take_weights(deeper, without_decoder)
    post = tiny_subword_model(n_encoder_layers=3)
    with pytest.raises(PlanError, match="n_encoder_layers is 3, not 2"):
        take_weights(post, OLD)


def test_other_sizes_and_whole_words_are_refused_in_words() -> None:
    narrow = tiny_subword_model(d_ff=29)
    with pytest.raises(PlanError, match=r"--start-from tiny: .*\(d_ff is 29, not 23\)"):
        take_weights(narrow, OLD)
    with pytest.raises(PlanError, match="whole words"):
        take_weights(tiny_model(max_len=61), OLD)
    task = TrainingPlan(data=DataPlan(task="copy", n_pairs=9), model=ModelPlan(start_from="toy-en-it"))
    with pytest.raises(PlanError, match="--start-from needs sentence pairs"):
        check_plan(task)
    kept = DataPlan(pairs=((Path("pairs.tsv"),),), vocab_size=0)
    with pytest.raises(PlanError, match="name it with --start-from"):
        check_plan(TrainingPlan(data=kept))
    with pytest.raises(PlanError, match="whole words"):
        coders_to_keep(TrainingPlan(data=kept, model=ModelPlan(start_from="toy-en-it")))


@pytest.mark.slow
def test_the_command_begins_with_the_weights(tmp_path: Path) -> None:
    pairs = str(write_pairs(tmp_path / "pairs.tsv", 60))
    train(tmp_path, "--pairs", pairs, *TINY, "--out", str(tmp_path / "first"))
    again = ["--pairs", pairs, *TINY, "--log-every", "1", "--steps", "1", "--warmup", "0"]
    losses = {}
    for name, start in (("random", []), ("begun", ["--start-from", str(tmp_path / "first")])):
        train(tmp_path, *again, *start, "--out", str(tmp_path / name))
        losses[name] = next(line["loss"] for line in metrics(tmp_path / name) if "loss" in line)
    assert losses["begun"] < losses["random"] - 0.3
    card = (tmp_path / "begun" / "README.md").read_text(encoding="utf-8")
    assert f"--start-from {tmp_path / 'first'}" in card


def test_what_size_is_not_given_is_the_other_models() -> None:
    sizes = open_config("en-it")
    kept = ModelPlan(start_from="en-it").config(src_vocab_size=5, tgt_vocab_size=6)
    wanted = replace(kept, **{size: getattr(sizes, size) for size in PRESETS["small"]})
    assert kept == wanted
    assert kept.n_encoder_layers != ModelPlan().config(src_vocab_size=5, tgt_vocab_size=6).n_encoder_layers
    deeper = ModelPlan(start_from="en-it", n_decoder_layers=9).config(src_vocab_size=5, tgt_vocab_size=6)
    assert deeper == replace(kept, n_decoder_layers=9)
    with pytest.raises(CheckpointError, match="no-such-model"):
        check_plan(
            TrainingPlan(
                data=DataPlan(pairs=((Path("pairs.tsv"),),)), model=ModelPlan(start_from="no-such-model")
            )
        )


@pytest.mark.slow
def test_vocabularies_may_be_kept_though_the_pairs_are_others(tmp_path: Path) -> None:
    first, other = write_pairs(tmp_path / "first.tsv", 60), write_pairs(tmp_path / "other.tsv", 90)
    train(tmp_path, "--pairs", str(first), *TINY, "--out", str(tmp_path / "first"))
    kept = ["--start-from", str(tmp_path / "first"), "--vocab-size", "0"]
    train(tmp_path, "--pairs", str(other), *TINY, *kept, "--out", str(tmp_path / "kept"))
    before, after = (open_coders(str(tmp_path / name)) for name in ("first", "kept"))
    assert list(map(to_plain, before)) == list(map(to_plain, after))
    data = DataPlan(pairs=((other,),), vocab_size=0)
    plan = TrainingPlan(data=data, model=ModelPlan(start_from=str(tmp_path / "first")))
    encoded_with = fingerprint(plan)
    (tmp_path / "first" / "vocabulary.json").write_text("another one", encoding="utf-8")
    assert fingerprint(plan) != encoded_with, "the corpus would be read with the wrong ids"
