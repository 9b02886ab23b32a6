"""The doctor on tensor names, shapes and tied weights; weights are read piece by piece."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.support.models import tiny_model
from tests.transformer.analysis.doctor.patients import imported
from transformer.analysis.doctor import keys as key_module
from transformer.analysis.doctor import weights as weight_module
from transformer.analysis.doctor.examine import examine
from transformer.analysis.doctor.weights import constant_findings, finite_findings, measure
from transformer.analysis.parts import Part, parts_of, total
from transformer.checkpoints.importing.report import KeyProblem, KeyReport, TiedKey
from transformer.checkpoints.reading.raw import StoredTensor


def stored(folder: Path, name: str, tensor: Tensor) -> StoredTensor:
    path = folder / f"{name}.bin"
    path.write_bytes(tensor.numpy().tobytes())
    return StoredTensor(name, "F32", tuple(tensor.shape), path, 0, tensor.nbytes)


@pytest.mark.parametrize(
    "keys, severity, title",
    [
        (KeyReport(missing=(KeyProblem("w.q", "3 × 5", ("w.Q",)),)), "problem", "Tensors that are missing"),
        (KeyReport(misshaped=(KeyProblem("w.q", "3 × 5"),)), "problem", "Tensors of another shape"),
        (KeyReport(unexpected=(KeyProblem("w.q", "3 × 5"),)), "warning", "Tensors that are not expected"),
    ],
)
def test_names_and_shapes_that_do_not_fit(keys: KeyReport, severity: str, title: str) -> None:
    diagnosis = examine(imported(tiny_model(), keys))
    (finding,) = diagnosis.of("problem", "warning")
    assert (finding.check, finding.severity, finding.title) == ("keys", severity, title)
    assert finding.where.startswith("w.q (3 × 5")
    assert finding.where.endswith("nearest: w.Q)") == bool(keys.missing)
    assert diagnosis.parts, "of the configuration, although there may be no model"


def test_without_a_model_the_files_numbers_are_still_looked_at(tmp_path: Path) -> None:
    tensor = torch.ones(3, 5)
    tensor[1, 2] = float("nan")
    missing = KeyReport(missing=(KeyProblem("b", "5"),))
    diagnosis = examine(imported(tiny_model(), missing, {"a": stored(tmp_path, "a", tensor)}))
    assert [(f.check, f.where) for f in diagnosis.of("problem")] == [("keys", "b (5)"), ("finite", "a (1)")]
    assert "no model" in diagnosis.of("note")[0].meaning


@pytest.mark.parametrize(
    "difference, severities", [(0.0, []), (0.25, ["warning"]), (float("nan"), ["warning"])]
)
def test_tied_weights_that_are_not(
    difference: float, severities: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key_module, "_PIECE", 4)
    numbers = torch.arange(15.0).view(3, 5)
    other = numbers.clone()
    other[2, 3] += difference
    tensors = {name: stored(tmp_path, name, t) for name, t in (("head", numbers), ("embedding", other))}
    keys = KeyReport(tied=(TiedKey("head", "embedding", None),))
    diagnosis = examine(imported(tiny_model(), keys, tensors))
    found = [finding for finding in diagnosis.findings if finding.check == "tied weights"]
    assert [finding.severity for finding in found if finding.severity != "ok"] == severities
    assert diagnosis.clean != bool(severities)
    if difference == 0.25:
        assert found[0].number == "largest difference 0.25, the numbers themselves are up to 14"
        assert found[0].where == "head and embedding"


@pytest.mark.parametrize(
    "changes, title, number",
    [
        ({"tie_generator": False}, "No weights are tied", ""),
        ({"tie_generator": True}, "Tied weights are tied", "stored once"),
        ({"tie_generator": True, "has_generator": False}, "No weights are tied", ""),
        ({"n_decoder_layers": 0, "tgt_vocab_size": 0}, "Tied weights are tied", "stored once"),
    ],
)
def test_a_model_without_tied_weights_is_not_said_to_have_some(
    changes: dict[str, Any], title: str, number: str
) -> None:
    diagnosis = examine(imported(tiny_model(**changes)))
    (found,) = (finding for finding in diagnosis.findings if finding.check == "tied weights")
    assert (found.severity, found.title, found.number) == ("ok", title, number)


def test_it_is_said_whose_tensors_are_counted(tmp_path: Path) -> None:
    loaded = tiny_model()
    diagnosis = examine(imported(loaded, None, {"a": stored(tmp_path, "a", torch.ones(3, 5))}))
    numbers = {finding.check: finding.number for finding in diagnosis.findings}
    n_of_the_model = len(list(loaded.model.parameters()))
    assert numbers["keys"] == "1 tensors of the files"
    assert numbers["finite"] == f"{n_of_the_model} tensors of the model, none with NaN or infinite"
    lost = KeyReport(missing=(KeyProblem("b", "5"),))
    diagnosis = examine(imported(loaded, lost, {"a": stored(tmp_path, "a", torch.ones(3, 5))}))
    numbers = {finding.check: finding.number for finding in diagnosis.findings}
    assert numbers["finite"].startswith("1 tensors of the files")


def test_numbers_are_counted_over_all_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weight_module, "_PIECE", 6)
    tensor = torch.arange(35.0).view(7, 5)
    tensor[0, 0], tensor[3, 3], tensor[6, 4] = float("nan"), float("inf"), float("-inf")
    numbers = measure("w", tensor)
    assert (numbers.n_nan, numbers.n_infinite, numbers.finite) == (1, 2, False)
    plain = measure("w", torch.arange(35.0).view(7, 5).t())
    assert (plain.low, plain.high, plain.finite, plain.shape) == (0, 34, True, (5, 7))
    assert [finding.title for finding in finite_findings([numbers, plain])] == [
        "Weights that are NaN", "Weights that are infinite",
    ]  # fmt: skip
    assert measure("scalar", torch.tensor(3.0)).high == 3


def test_vectors_may_be_constant() -> None:
    tensors = {"bias": torch.zeros(7), "matrix": torch.eye(3), "number": torch.ones(1, 1)}
    numbers = [measure(name, tensor) for name, tensor in tensors.items()]
    assert [finding.severity for finding in constant_findings(numbers)] == ["ok"]


def test_parameters_by_part_are_those_of_the_model() -> None:
    for changes in ({}, {"share_embeddings": True, "tgt_vocab_size": 13}, {"tie_generator": False}):
        model = tiny_model(**changes).model
        parts = parts_of(model.config)
        assert total(parts) == sum(parameter.numel() for parameter in model.parameters())
        assert [part.name for part in parts] == [
            "src_embedding", "encoder", "tgt_embedding", "decoder", "generator",
        ]  # fmt: skip
        for part in flat(parts):
            module = model.get_submodule(part.path)
            assert dict(part.weights) == {
                name: tuple(weight.shape) for name, weight in module.named_parameters(recurse=False)
            }


def flat(parts: tuple[Part, ...]) -> list[Part]:
    return [found for part in parts for found in (part, *flat(part.parts))]
