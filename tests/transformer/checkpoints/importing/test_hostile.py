"""Whatever a configuration or a shape says, the import quickly plans a model or refuses with a message."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

from tests.transformer.checkpoints.importing.families.foreign import raw_of
from transformer.checkpoints.importing.recognition import plan_import
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import CheckpointError

SIZES = {"vocab_size": 11, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 5}
SMALL: dict[str, tuple[Any, dict[str, int]]] = {
    "bert": (transformers.BertForMaskedLM, SIZES | {"hidden_size": 6}),
    "gpt2": (
        transformers.GPT2LMHeadModel,
        {"vocab_size": 11, "n_embd": 6, "n_layer": 1, "n_head": 2, "n_positions": 7},
    ),
    "llama": (transformers.LlamaForCausalLM, SIZES | {"hidden_size": 8}),
    "distilbert": (
        transformers.DistilBertForMaskedLM,
        {"vocab_size": 11, "dim": 6, "n_layers": 1, "n_heads": 2, "hidden_dim": 5},
    ),
}
ODD_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 9),
    st.sampled_from([2**31, 2**62, 2**64, 10**40, 10**400, -(2**63)]),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from(["", "gelu", "default", "\x00<script>", "9"]),
    st.lists(st.sampled_from(["full_attention", 3, {}]), max_size=2),
    st.dictionaries(
        st.sampled_from(["rope_type", "rope_theta", "factor"]), st.sampled_from(["x", 1e4, None, []])
    ),
)


@pytest.fixture(scope="module")
def models() -> dict[str, Any]:
    return {name: made(made.config_class(**sizes)) for name, (made, sizes) in SMALL.items()}


def words_on(raw: RawCheckpoint) -> str:
    """The refusal of a checkpoint, or its family; within two seconds of processor time."""
    began = time.process_time()
    try:
        return plan_import(raw, {}).report.family_label
    except CheckpointError as error:
        return str(error)
    finally:
        assert time.process_time() - began < 2


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
@pytest.mark.parametrize("family", SMALL)
def test_any_configuration_is_planned_or_refused(
    tmp_path: Path, models: dict[str, Any], family: str, data: st.DataObject
) -> None:
    model = models[family]
    config = model.config.to_dict()
    names = data.draw(st.lists(st.sampled_from(sorted(config)), min_size=1, max_size=3, unique=True))
    odd = {name: data.draw(ODD_VALUES, label=name) for name in names}
    raw = raw_of(tmp_path, model.state_dict(), config | odd | {"model_type": family})
    assert len(words_on(raw)) < 1_000


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
@pytest.mark.parametrize("family", SMALL)
@pytest.mark.parametrize("with_config", [True, False])
def test_tensors_of_any_shape_are_planned_or_refused(
    tmp_path: Path, models: dict[str, Any], family: str, with_config: bool, data: st.DataObject
) -> None:
    model = models[family]
    state_dict = dict(model.state_dict())
    for name in data.draw(st.lists(st.sampled_from(sorted(state_dict)), min_size=1, max_size=3)):
        shape = data.draw(st.lists(st.integers(1, 7), max_size=4))
        state_dict[name] = torch.zeros(shape, dtype=data.draw(st.sampled_from([torch.float32, torch.int64])))
    raw = raw_of(tmp_path, state_dict, model.config.to_dict() if with_config else None)
    assert len(words_on(raw)) < 1_000


@pytest.mark.parametrize(
    "attribute,value",
    [
        ("vocab_size", 2**40),
        ("max_position_embeddings", 2**60),
        ("hidden_size", 2**63),
        ("intermediate_size", 10**30),
    ],
)
def test_sizes_beyond_counting_are_refused_before_anything_is_made(
    tmp_path: Path, models: dict[str, Any], attribute: str, value: int
) -> None:
    model = models["bert"]
    raw = raw_of(tmp_path, model.state_dict(), model.config.to_dict() | {attribute: value})
    with pytest.raises(CheckpointError, match="at most 268,435,456"):
        plan_import(raw, {})


@pytest.mark.parametrize("d_model", [10**18, 0, -5])
def test_a_width_that_no_model_has_is_refused_beside_torchs_weights(tmp_path: Path, d_model: int) -> None:
    """Heads are guessed from the divisors of the width; the guess must not search an impossible width."""
    raw = raw_of(tmp_path, nn.Transformer(6, 2, 1, 1, 5).state_dict(), {"d_model": d_model})
    with pytest.raises(CheckpointError, match="d_model"):
        plan_import(raw, {})


@pytest.mark.parametrize("n_heads", [10**400, 10**5000, "1" * 5000], ids=["large", "larger", "text"])
def test_an_answer_too_large_to_be_written_is_refused(
    tmp_path: Path, models: dict[str, Any], n_heads: object
) -> None:
    raw = raw_of(tmp_path, models["bert"].state_dict())
    with pytest.raises(CheckpointError, match="n_heads") as error:
        plan_import(raw, {"n_heads": n_heads})
    assert len(str(error.value)) < 300


def test_a_number_of_layers_with_thousands_of_digits_is_cut_short(
    tmp_path: Path, models: dict[str, Any]
) -> None:
    raw = raw_of(
        tmp_path, models["gpt2"].state_dict(), models["gpt2"].config.to_dict() | {"n_layer": 10**4200}
    )
    assert len(words_on(raw)) < 300
