"""NumPy archives: what numpy.savez writes is read, and everything else is refused."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transformer.checkpoints.reading.contents import read_contents
from transformer.checkpoints.reading.limits import LOCAL_LIMITS, UPLOAD_LIMITS, Limits
from transformer.checkpoints.reading.memory_map import map_tensor
from transformer.checkpoints.reading.process import read_checkpoint
from transformer.errors import CheckpointError

NUMBERS = np.arange(6, dtype=np.float32).reshape(2, 3)


def archive(path: Path, entries: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", method) as file:
        for name, content in entries.items():
            file.writestr(name, content)
    return path


def npy(head: str, numbers: bytes = NUMBERS.tobytes(), version: bytes = b"\x01\x00") -> bytes:
    text = head.encode()
    return b"\x93NUMPY" + version + len(text).to_bytes(2 if version[0] == 1 else 4, "little") + text + numbers


GOOD = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"


def read(path: Path, limits: Limits = LOCAL_LIMITS) -> Any:
    return read_checkpoint(path, limits, path.parent)


def test_what_numpy_writes(tmp_path: Path) -> None:
    arrays: dict[str, np.ndarray[Any, Any]] = {
        "single": NUMBERS,
        "half": NUMBERS.astype(np.float16),
        "double": NUMBERS.astype(np.float64),
        "flat": NUMBERS.flatten(),
        "one": np.float32(7.0) * np.ones(()),
        "long": NUMBERS.astype(np.int64),
        "special:model.yml": np.frombuffer(b"type: transformer\nenc-depth: 2\n\0", dtype=np.int8),
    }
    np.savez(tmp_path / "model.npz", **arrays)  # type: ignore[arg-type]
    raw = read(tmp_path / "model.npz")
    assert raw.format == "npz"
    assert raw.extras == {"special:model.yml": "type: transformer\nenc-depth: 2\n"}
    assert raw.tensors.keys() == arrays.keys() - {"special:model.yml"}
    for name, stored in raw.tensors.items():
        assert np.array_equal(map_tensor(stored).numpy(), arrays[name])


@pytest.mark.parametrize("version", [b"\x01\x00", b"\x02\x00", b"\x03\x00"])
def test_versions_of_the_head(tmp_path: Path, version: bytes) -> None:
    raw = read(archive(tmp_path / "a.npz", {"a.npy": npy(GOOD, version=version)}))
    assert np.array_equal(map_tensor(raw.tensors["a"]).numpy(), NUMBERS)


def test_a_folder_of_marian(tmp_path: Path) -> None:
    np.savez(tmp_path / "model.npz", a=NUMBERS)
    (tmp_path / "out").mkdir()
    assert read_checkpoint(tmp_path, LOCAL_LIMITS, tmp_path / "out").tensors.keys() == {"a"}


CODE = "__import__('os').system('touch ran')"
HEADS = {
    "code": "{'descr': " + CODE + ", 'fortran_order': False, 'shape': (2, 3), }",
    "code in the shape": "{'descr': '<f4', 'fortran_order': False, 'shape': (" + CODE + ",), }",
    "code after it": GOOD + "\n" + CODE,
    "objects": "{'descr': '|O', 'fortran_order': False, 'shape': (2, 3), }",
    "a record": "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3), }",
    "big-endian": "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }",
    "column by column": "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
    "complex": "{'descr': '<c8', 'fortran_order': False, 'shape': (3,), }",
    "signed bytes": "{'descr': '|i1', 'fortran_order': False, 'shape': (24,), }",
    "text": "{'descr': '<U6', 'fortran_order': False, 'shape': (), }",
    "truth values": "{'descr': '|b1', 'fortran_order': False, 'shape': (24,), }",
    "a negative size": "{'descr': '<f4', 'fortran_order': False, 'shape': (-2, -3), }",
    "a size of zero": "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }",
    "more than there is": "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4), }",
    "less than there is": "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }",
    "an absurd size": "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999, 99999999999999), }",
    "many dimensions": "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 2, 3), }",
    "a missing part": "{'descr': '<f4', 'shape': (2, 3), }",
    "a part twice": "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }",
    "other parts": "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'more': 1, }",
    "nothing": "",
    "many commas": "{'descr': '<f4', 'fortran_order': False, 'shape': (2,,3), }",
    "long and never right": "{'descr': '<f4', 'fortran_order': False, 'shape': (" + "1, " * 1000 + "x), }",
    "too long": GOOD + " " * 5000,
}


def test_other_heads_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for what, head in HEADS.items():
        path = archive(tmp_path / f"{what}.npz", {"a.npy": npy(head)})
        with pytest.raises(CheckpointError, match=r"array|NumPy"):
            read_contents(path, LOCAL_LIMITS)
        assert not (tmp_path / "ran").exists(), what


CONTENTS = {
    "no magic": b"x" * 60,
    "cut off": b"\x93NUMPY\x01",
    "another version": npy(GOOD, version=b"\x09\x00"),
    "a head longer than the array": b"\x93NUMPY\x01\x00\xff\x0f" + GOOD.encode(),
    "a pickle": b"\x80\x04\x95" + b"." * 60,
    "empty": b"",
}


def test_what_is_no_array_is_refused(tmp_path: Path) -> None:
    for what, content in CONTENTS.items():
        path = archive(tmp_path / f"{what}.npz", {"a.npy": npy(GOOD), "b.npy": content})
        with pytest.raises(CheckpointError, match=r"NumPy|head"):
            read_contents(path, LOCAL_LIMITS)


def test_other_entries_are_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.npz", {"a.npy": npy(GOOD), "data.pkl": b"cos\nsystem\n."})
    with pytest.raises(CheckpointError, match=r"data\.pkl"):
        read(path)


def test_a_configuration_that_is_too_long_or_no_text(tmp_path: Path) -> None:
    config = "special:model.yml"
    arrays: dict[str, Any] = {"a": NUMBERS, config: np.zeros(2**20 + 1, dtype=np.int8)}
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(CheckpointError, match="at most 1 MiB"):
        read(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", **(arrays | {config: NUMBERS}))
    with pytest.raises(CheckpointError, match="no text"):
        read(tmp_path / "b.npz")


def test_compressed_archives_say_what_to_do(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", a=NUMBERS)
    with pytest.raises(CheckpointError, match=r"numpy\.savez"):
        read(tmp_path / "a.npz")


def test_a_changed_number_is_noticed(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.npz", {"a.npy": npy(GOOD)})
    content = bytearray(path.read_bytes())
    content[content.index(NUMBERS.tobytes()) + 3] ^= 1
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="checksum"):
        read(path)


def test_limits_of_uploads(tmp_path: Path) -> None:
    many = {f"a{i}.npy": npy(GOOD) for i in range(UPLOAD_LIMITS.max_tensors + 101)}
    with pytest.raises(CheckpointError, match="are allowed"):
        read(archive(tmp_path / "a.npz", many), UPLOAD_LIMITS)


def test_every_cut_is_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.savez(buffer, a=NUMBERS)
    content = buffer.getvalue()
    for length in (31, 80, len(content) // 2, len(content) - 1):
        (tmp_path / f"{length}.npz").write_bytes(content[:length])
        with pytest.raises(CheckpointError):
            read(tmp_path / f"{length}.npz")
