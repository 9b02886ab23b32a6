import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from transformer.data.batches import Batch, Example, make_batch
from transformer.files import (
    REPLACING,
    LockedError,
    finish_replacing,
    locked,
    replace_all,
    write_tensors,
)
from transformer.model.config import TransformerConfig
from transformer.model.transformer import Transformer
from transformer.training.optimization.trainer import MOST_SKIPPED, NonFiniteError, Trainer, TrainingStep
from transformer.training.state import StateError, load_state, save_state, saved_step


def trainer(d_model: int = 16, dropout: float = 0.2, **choices: Any) -> Trainer:
    config = TransformerConfig(
        src_vocab_size=17, tgt_vocab_size=19, d_model=d_model, n_heads=2, n_encoder_layers=1,
        n_decoder_layers=2, d_ff=24, max_len=16, dropout=dropout,
    )  # fmt: skip
    model = Transformer(config, torch.Generator().manual_seed(0))
    return Trainer(model, **{"rate": lambda step: 0.01} | choices)


def batch(*words: int) -> Batch:
    return make_batch([Example((*words, 2), (1, *(word + 1 for word in words), 2))])


BATCHES = [batch(5, 6, 7), batch(9, 8), batch(12, 5, 11, 6, 4), batch(7)]


def weights(of: Trainer) -> list[torch.Tensor]:
    return [parameter.detach().clone() for parameter in of.model.parameters()]


def same(first: list[torch.Tensor], second: list[torch.Tensor]) -> bool:
    return all(map(torch.equal, first, second))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.safetensors"


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float16"])
def test_going_on_from_a_state_is_as_never_having_stopped(precision: str, path: Path) -> None:
    torch.manual_seed(3)
    first = trainer(precision=precision)
    for _ in range(3):
        first.update(BATCHES[:2])
    save_state(path, first, {"epoch": 4, "batch": 2})
    expected = [first.update(BATCHES[2:]) for _ in range(3)]

    torch.manual_seed(999)
    second = trainer(precision=precision)
    assert load_state(path, second) == {"epoch": 4, "batch": 2, "step": 3}
    assert saved_step(path) == 3
    assert [second.update(BATCHES[2:]) for _ in range(3)] == expected
    assert same(weights(first), weights(second))
    assert first.scaler.state_dict() == second.scaler.state_dict()


def test_a_state_of_another_model_changes_nothing(path: Path) -> None:
    save_state(path, trainer(d_model=16), {})
    other = trainer(d_model=32)
    before = weights(other)
    with pytest.raises(StateError, match="other sizes"):
        load_state(path, other)
    assert same(weights(other), before)


def test_a_state_that_cannot_be_read(path: Path) -> None:
    with pytest.raises(StateError, match="there is nothing to resume"):
        load_state(path, trainer())
    path.write_bytes(b"no state at all")
    with pytest.raises(StateError, match="can't be read"):
        load_state(path, trainer())
    save_file({"a": torch.zeros(1)}, path)
    with pytest.raises(StateError, match="can't be read"):
        saved_step(path)


def test_gradients_of_several_batches_add_up() -> None:
    """Accumulated batches are weighted by their labels, like one batch of all of them."""
    joined, apart = trainer(dropout=0), trainer(dropout=0)
    examples = [Example((5, 6, 2), (1, 6, 7, 2)), Example((9, 2), (1, 8, 7, 6, 5, 4, 2))]
    together = joined.update([make_batch(examples)])
    accumulated = apart.update([make_batch([example]) for example in examples])
    assert accumulated.n_tokens == together.n_tokens == 9
    assert accumulated.loss == pytest.approx(together.loss, rel=1e-6)
    for a, b in zip(joined.model.parameters(), apart.model.parameters(), strict=True):
        assert a.grad is not None
        assert b.grad is not None
        torch.testing.assert_close(a.grad, b.grad, rtol=0, atol=1e-6)


def test_long_gradients_are_shortened() -> None:
    one = trainer(max_gradient_norm=0.25)
    assert one.update(BATCHES).gradient_norm > 0.25
    gradients = [parameter.grad for parameter in one.model.parameters() if parameter.grad is not None]
    assert torch.stack([gradient.norm() for gradient in gradients]).norm().item() == pytest.approx(0.25, 1e-4)


def spoil(one: Trainer, value: float) -> None:
    with torch.no_grad():
        one.model.generator.bias[3] = value


def test_a_loss_that_is_no_number_stops_before_anything_changes() -> None:
    one = trainer()
    spoil(one, math.nan)
    before = weights(one)
    with pytest.raises(NonFiniteError, match="the loss is nan"):
        one.update(BATCHES)
    assert one.step == 0
    assert all(torch.equal(a, b) or a.isnan().any() for a, b in zip(weights(one), before, strict=True))


def test_float16_skips_what_it_has_no_numbers_for_and_lowers_its_scale() -> None:
    one = trainer(precision="float16")
    one.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**40)
    scale, before = one.scaler.get_scale(), weights(one)
    steps: list[TrainingStep] = []
    while not steps or steps[-1].skipped:
        assert same(weights(one), before)
        steps.append(one.update(BATCHES))
    assert len(steps) > 1
    assert one.scaler.get_scale() == scale / 2 ** (len(steps) - 1)
    assert [step.step for step in steps] == list(range(1, len(steps) + 1))
    assert not same(weights(one), before)


def test_float16_does_not_skip_for_ever() -> None:
    one = trainer(precision="float16")
    spoil(one, math.nan)
    for _ in range(MOST_SKIPPED):
        assert one.update(BATCHES[:1]).skipped
    with pytest.raises(NonFiniteError):
        one.update(BATCHES[:1])


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")

    def half(part: Path) -> None:
        part.write_text("ne")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        replace_all({path: half})
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_files_that_a_killed_process_did_not_all_rename_are_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one rename made, the others follow, and the old model's further file goes."""
    old = [tmp_path / name for name in ("a", "b", "old")]
    for path in old:
        path.write_text("old")
    rename = Path.replace

    def killed_at_second(part: Path, path: Path) -> None:
        if path.name == "b":
            raise KeyboardInterrupt
        rename(part, path)

    def new(part: Path) -> None:
        part.write_text("new")

    monkeypatch.setattr(Path, "replace", killed_at_second)
    with pytest.raises(KeyboardInterrupt):
        replace_all(dict.fromkeys(old[:2], new), removed=old[2:])
    assert [path.read_text() for path in old] == ["new", "old", "old"]
    monkeypatch.undo()
    finish_replacing(tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "new", "b": "new"}


def test_a_strangers_list_of_renames_touches_no_other_folder(tmp_path: Path) -> None:
    folder = tmp_path / "downloaded"
    folder.mkdir()
    for path in (tmp_path / "mine", tmp_path / "other", tmp_path / "other.part"):
        path.write_text("mine")
    (folder / REPLACING).write_text("removed: ../mine\nrenamed: ../other\nnonsense\n")
    finish_replacing(folder)
    assert {path.name for path in tmp_path.iterdir()} == {"mine", "other", "other.part", "downloaded"}
    assert not list(folder.iterdir())


def test_a_disk_that_is_full_is_an_os_error(tmp_path: Path) -> None:
    """Whatever the writing library raises."""
    with pytest.raises(OSError, match="full"):
        write_tensors(Path("/dev/full/state"), {"a": torch.zeros(3)})


def test_tensors_of_every_kind_are_written_as_the_library_writes_them(tmp_path: Path) -> None:
    floats = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
    kinds = (*floats, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool)
    tensors = {f"{kind} ü": torch.arange(5).reshape(5, 1).to(kind) for kind in kinds}
    tensors |= {"scalar": torch.tensor(2.5), "empty": torch.zeros(0, 3), "turned": torch.randn(3, 5).T}
    write_tensors(tmp_path / "file", tensors, {"text": "ü"})
    found = load_file(tmp_path / "file")
    assert found.keys() == tensors.keys()
    assert all(torch.equal(found[name], tensor) for name, tensor in tensors.items())
    assert all(found[name].dtype == tensor.dtype for name, tensor in tensors.items())
    plain = {"b": torch.randn(3, 5), "a": torch.randn(2)}
    write_tensors(tmp_path / "file", plain, {"format": "pt"})
    save_file(plain, tmp_path / "other", {"format": "pt"})
    assert (tmp_path / "file").read_bytes() == (tmp_path / "other").read_bytes()


def test_a_lock_is_held_by_one(tmp_path: Path) -> None:
    with locked(tmp_path / "lock"), pytest.raises(LockedError), locked(tmp_path / "lock"):
        pass
    with locked(tmp_path / "lock"):
        pass


def test_states_hold_nothing_that_could_run(path: Path) -> None:
    save_state(path, trainer(), {"epoch": 0})
    head = int.from_bytes(path.read_bytes()[:8], "little")
    assert set(json.loads(path.read_bytes()[8 : 8 + head])["__metadata__"]) == {"progress", "scaler"}
    assert all(isinstance(tensor, torch.Tensor) for tensor in load_file(path).values())
