"""Misfitting names are reported with the nearest ones; wrappers are removed; answers are checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tests.transformer.checkpoints.importing.families.foreign import imported, raw_of
from transformer.checkpoints.importing.config_draft import likely_heads
from transformer.checkpoints.importing.family import Patterns
from transformer.checkpoints.importing.foreign_config import ForeignConfig
from transformer.checkpoints.importing.nearest_names import nearest
from transformer.checkpoints.importing.recognition import plan_import, shared_prefixes, unwrapped
from transformer.checkpoints.importing.report import ImportReport
from transformer.checkpoints.reading.memory_map import map_tensor
from transformer.checkpoints.reading.raw import json_object
from transformer.errors import CheckpointError

D_MODEL = 22
Weights = dict[str, Tensor]


def weights() -> Weights:
    """A state dict of torch's own module with embeddings and a generator."""
    torch_module = nn.Transformer(D_MODEL, 2, 2, 3, 37, batch_first=True, norm_first=True)
    parts = {
        "transformer": torch_module,
        "src_emb": nn.Embedding(29, D_MODEL),
        "tgt_emb": nn.Embedding(31, D_MODEL),
        "generator": nn.Linear(D_MODEL, 31),
    }
    return {name: weight.detach() for name, weight in nn.ModuleDict(parts).state_dict().items()}


def report_of(folder: Path, state_dict: Weights) -> ImportReport:
    return plan_import(raw_of(folder, state_dict), {}).report


@pytest.mark.parametrize(
    "wrap",
    [
        lambda name: name,
        lambda name: f"module.{name}",
        lambda name: f"_orig_mod.{name}",
        lambda name: f"model.{name}",
        lambda name: f"model.net.{name}",
        lambda name: name.replace("transformer.", "transformer._orig_mod.module."),
    ],
)
def test_wrappers_are_taken_off(tmp_path: Path, wrap: Callable[[str], str]) -> None:
    plain = weights()
    model, _ = imported(raw_of(tmp_path, {wrap(name): weight for name, weight in plain.items()}))
    assert torch.equal(model.generator.weight, plain["generator.weight"])


def test_what_stands_beside_the_model_is_unexpected_and_does_no_harm(tmp_path: Path) -> None:
    beside = {"criterion.weight": torch.ones(31), "metrics.total": torch.ones(1)}
    inside = {f"model.{name}": weight for name, weight in weights().items()}
    report = report_of(tmp_path, inside | beside)
    assert report.keys.fits
    assert [problem.name for problem in report.keys.unexpected] == list(beside)


def test_what_a_lone_stack_does_not_know_is_told_once(tmp_path: Path) -> None:
    """Its tensors match the names of both sides."""
    torch_module = nn.TransformerEncoder(nn.TransformerEncoderLayer(D_MODEL, 2, 37, batch_first=True), 2)
    parts = nn.ModuleDict({"layers": torch_module, "emb": nn.Embedding(29, D_MODEL)})
    state_dict = parts.state_dict() | {"layers.layers.1.scale": torch.ones(1)}
    unexpected = report_of(tmp_path, state_dict).keys.unexpected
    assert [problem.name for problem in unexpected] == ["layers.layers.1.scale"]


def test_one_embedding_for_both_sides_is_not_tied_to_itself(tmp_path: Path) -> None:
    state_dict = weights()
    state_dict["emb.weight"] = state_dict["src_emb.weight"]
    del state_dict["src_emb.weight"], state_dict["tgt_emb.weight"]
    state_dict |= {"generator.weight": torch.ones(29, D_MODEL), "generator.bias": torch.ones(29)}
    _, report = imported(raw_of(tmp_path, state_dict))
    assert report.config.share_embeddings
    assert not report.keys.tied


def test_a_missing_tensor_is_told_with_its_nearest_name(tmp_path: Path) -> None:
    state_dict = weights()
    state_dict["transformer.decoder.layers.2.multihead_attn.outproj.weight"] = state_dict.pop(
        "transformer.decoder.layers.2.multihead_attn.out_proj.weight"
    )
    keys = report_of(tmp_path, state_dict).keys
    assert not keys.fits
    (missing,), (unexpected,) = keys.missing, keys.unexpected
    assert missing.name.endswith("decoder.layers.2.multihead_attn.out_proj.weight")
    assert missing.nearest == (unexpected.name,)
    assert unexpected.nearest == (missing.name,)


def test_a_tensor_of_another_shape_is_told_with_both_shapes(tmp_path: Path) -> None:
    state_dict = weights()
    state_dict["transformer.encoder.layers.1.linear2.weight"] = torch.zeros(D_MODEL, 41)
    state_dict["transformer.encoder.layers.1.self_attn.in_proj_weight"] = torch.zeros(3 * D_MODEL, 23)
    keys = report_of(tmp_path, state_dict).keys
    assert not keys.fits
    assert not keys.missing
    by_name = {problem.name: problem.detail for problem in keys.misshaped}
    assert by_name["transformer.encoder.layers.1.linear2.weight"] == "22 × 41 instead of 22 × 37"
    assert "66 × 23" in by_name["transformer.encoder.layers.1.self_attn.in_proj_weight"]


def test_whole_numbers_are_no_weights(tmp_path: Path) -> None:
    state_dict = weights()
    name = "transformer.encoder.layers.0.linear1.weight"
    state_dict[name] = state_dict[name].to(torch.int64)
    (problem,) = report_of(tmp_path, state_dict).keys.misshaped
    assert problem.name == name
    assert "I64" in problem.detail


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_weights_of_other_precisions_become_float32(tmp_path: Path, dtype: torch.dtype) -> None:
    state_dict = {name: weight.to(dtype) for name, weight in weights().items()}
    model, _ = imported(raw_of(tmp_path, state_dict))
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert torch.equal(model.generator.weight, state_dict["generator.weight"].to(torch.float32))


def test_float32_weights_are_not_copied(tmp_path: Path) -> None:
    """They stay in the mapped file."""
    raw = raw_of(tmp_path, weights())
    model, _ = imported(raw)
    for ours, theirs in (
        ("generator.weight", "generator.weight"),
        ("encoder.layers.1.self_attn.w_q.weight", "transformer.encoder.layers.1.self_attn.in_proj_weight"),
    ):
        assert model.get_parameter(ours).data_ptr() == map_tensor(raw.tensors[theirs]).data_ptr()


def test_a_layout_nobody_knows_is_refused_with_its_names(tmp_path: Path) -> None:
    raw = raw_of(tmp_path, {"conv1.weight": torch.zeros(3, 5), "fc.bias": torch.zeros(2)})
    with pytest.raises(CheckpointError, match=r"No known layout.*\n.*conv1\.weight"):
        plan_import(raw, {})


BART_DECODER = "model.decoder.layers.0.encoder_attn.q_proj.weight"


@pytest.mark.parametrize(
    "model_type, name, words",
    [
        ("olmoe", "word.weight", "of type 'olmoe', which has a mixture of experts of another kind"),
        (
            "deepseek_v3",
            "word.weight",
            "multi-head latent attention and a mixture of experts of another kind",
        ),
        ("funnel", "word.weight", "pool neighbouring tokens"),
        ("xlnet", "word.weight", "which has two streams of attention.*: choose a model of another kind"),
        ("own", "word.weight", r"no layout for model_type 'own' .* --write-map own\.yaml"),
        (["bart"], "word.weight", "None of Headlight's layouts has names like these"),
        ("bart", BART_DECODER, "the decoder of BART alone.*: give the folder of the whole model"),
        ("mistral", "layers.0.q_proj.qweight", r"Llama-like ..mistral.., but .*qweight.*save_pretrained"),
    ],
)
def test_what_does_not_open_is_told_by_its_type_and_what_to_do(
    tmp_path: Path, model_type: object, name: str, words: str
) -> None:
    with pytest.raises(CheckpointError, match=words) as refused:
        plan_import(raw_of(tmp_path, {name: torch.zeros(3, 5)}, {"model_type": model_type}), {})
    assert "Headlight, " not in str(refused.value)


@pytest.mark.parametrize(
    "answers,words",
    [
        ({"n_heads": 3}, "n_heads"),
        ({"n_heads": "many"}, "not an answer to n_heads"),
        ({"activation": "tanh"}, "not an answer to activation"),
        ({"heads": 2}, "no question 'heads'"),
    ],
)
def test_an_answer_that_is_none_is_refused(tmp_path: Path, answers: dict[str, object], words: str) -> None:
    with pytest.raises(CheckpointError, match=words):
        plan_import(raw_of(tmp_path, weights()), answers)


def test_answers_may_be_typed(tmp_path: Path) -> None:
    report = plan_import(raw_of(tmp_path, weights()), {"n_heads": " 11", "embedding_scale": "False"}).report
    assert (report.config.n_heads, report.config.embedding_scale) == (11, False)


@pytest.mark.parametrize(
    "typed, means",
    [("yes", True), ("No", False), ("TRUE", True), ("false", False), (" no ", False), (True, True)],
)
def test_yes_and_no_are_answers(tmp_path: Path, typed: object, means: object) -> None:
    report = plan_import(raw_of(tmp_path, weights()), {"n_heads": 11, "embedding_scale": typed}).report
    assert report.config.embedding_scale is means


def test_a_zero_row_of_the_embedding_hints_at_padding(tmp_path: Path) -> None:
    state_dict = weights()
    state_dict["src_emb.weight"][2] = 0
    question = next(q for q in report_of(tmp_path, state_dict).questions if q.name == "pad_id")
    assert question.value == 2
    assert "Row 2" in question.why


def test_hyperparameters_beside_the_weights_make_answers_likely(tmp_path: Path) -> None:
    extras = {"epoch": 3, "hyper_parameters": {"nhead": 11, "norm_first": True, "activation": "swiglu"}}
    report = plan_import(replace(raw_of(tmp_path, weights()), extras=extras), {}).report
    taken = {question.name: question.value for question in report.questions}
    assert (taken["n_heads"], taken["norm_position"], taken["activation"]) == (11, "pre", "relu")
    assert all(
        "with the weights" in q.why for q in report.questions if q.name in ("n_heads", "norm_position")
    )


def test_published_models_have_the_heads_that_come_first() -> None:
    published = {256: 4, 384: 6, 512: 8, 576: 9, 768: 12, 896: 14, 960: 15, 1024: 16, 1280: 20, 1600: 25}
    assert {d_model: likely_heads(d_model)[0] for d_model in published} == published


def test_small_and_odd_widths_have_a_number_of_heads_that_people_choose() -> None:
    usual = {44: 4, 48: 4, 64: 4, 96: 4, 128: 4, 192: 4, 288: 4, 300: 4, 600: 8, 1000: 8, 22: 2}
    assert {d_model: likely_heads(d_model)[0] for d_model in usual} == usual
    assert set(likely_heads(22)) == {1, 2, 11, 22}


def test_prefixes_are_tried_from_none_to_the_longest() -> None:
    assert list(shared_prefixes(["model.net.a.weight", "model.net.b.bias"])) == ["", "model.", "model.net."]
    assert list(shared_prefixes(["net.a.weight", "net.b.weight", "loss.weight"])) == ["", "net."]
    assert unwrapped("module._orig_mod.encoder.module.weight") == "encoder.weight"


def test_patterns_take_layer_numbers_and_nothing_else() -> None:
    patterns = Patterns(["layers.{}.linears.0.weight", "layers.{}.linears.1.weight", "norm.weight"])
    assert patterns.find("layers.13.linears.1.weight") == ("layers.{}.linears.1.weight", ("13",))
    assert patterns.find("norm.weight") == ("norm.weight", ())
    for name in (
        "layers.x.linears.1.weight",
        "layers.01.linears.1.weight",
        "layers.1.linears.2.weight",
        "norm",
    ):
        assert patterns.find(name) is None


def test_the_nearest_names_share_their_parts() -> None:
    names = ["decoder.norm.weight", "encoder.layers.0.attn.key.weight", "encoder.layers.1.attn.key.bias"]
    assert nearest("encoder.layers.0.attn.k.weight", names, n=1) == (names[1],)
    assert nearest("embedding", names) == ()


@pytest.mark.parametrize("text", ["{", "[]", "[" * 100_000, '{"a": 1'])
def test_a_configuration_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(CheckpointError, match=r"config\.json"):
        json_object({"config.json": text}, "config.json")


def test_attributes_that_nobody_knows_are_refused_by_name() -> None:
    config = ForeignConfig({"hidden_size": 5, "memory_tokens": 3, "is_decoder": False, "use_cache": True})
    assert config.integer("hidden_size") == 5
    with pytest.raises(CheckpointError, match=r"'memory_tokens' \(3\)"):
        config.refuse_unknown()
    config.refuse_unknown({"memory_tokens"})
