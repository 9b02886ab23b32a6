"""The reading process: it needs only the standard library, respects its limits, and does nothing else."""

from __future__ import annotations

import json
import resource
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch

from tests.transformer.checkpoints.reading.crafted import (
    archive,
    entry,
    in_process,
    opcodes,
    safetensors,
    saved,
    tensor,
    written,
)
from transformer.checkpoints.reading.limits import LOCAL_LIMITS, MEBIBYTE, UPLOAD_LIMITS
from transformer.checkpoints.reading.memory_map import map_tensor
from transformer.checkpoints.reading.process import read_checkpoint
from transformer.errors import CheckpointError


def long() -> bytes:
    """Ten million values, read one by one."""
    return archive(b"\x80\x02](" + b"K\x01" * 10_000_000 + b"e.")


def seconds_of_children() -> float:
    """Processor time of this process's children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def test_it_does_without_pytorch() -> None:
    """Installed packages are not even on its path."""
    loaded = json.loads(in_process("print(json.dumps(sorted(sys.modules)))"))
    foreign = {name.partition(".")[0] for name in loaded} - sys.stdlib_module_names
    assert foreign - {"__main__", "__mp_main__"} == {"transformer"}


def test_it_begins_soon(tmp_path: Path) -> None:
    """Well before PyTorch could be imported; in processor time, which other processes don't affect."""
    path = written(tmp_path, saved({"w": tensor()}))
    took = []
    for _ in range(5):
        began = seconds_of_children()
        read_checkpoint(path)
        took.append(seconds_of_children() - began)
    assert min(took) < 0.5


def test_an_endless_reading_is_ended(tmp_path: Path) -> None:
    """Reading to the end would take three seconds of processor time."""
    path = written(tmp_path, long())
    began = seconds_of_children()
    with pytest.raises(CheckpointError, match=r"weights\.pt took more than 0\.5 s"):
        read_checkpoint(path, replace(LOCAL_LIMITS, seconds=0.5))
    assert seconds_of_children() - began < 2


def test_a_file_that_wants_a_gibibyte_takes_none(tmp_path: Path) -> None:
    """500 bytes that claim 2^28 numbers are refused for that claim, in a process with little memory."""
    storage = opcodes(tensor((2**28,), (1,))).replace(opcodes(6), opcodes(2**28))
    path = written(tmp_path, archive(b"\x80\x02}" + opcodes("w") + storage + b"s."))
    assert path.stat().st_size < 1_000
    with pytest.raises(CheckpointError, match="1,073,741,824 bytes and has 24"):
        read_checkpoint(path, replace(LOCAL_LIMITS, memory_bytes=64 * MEBIBYTE))


def test_memory_is_given_as_allowed(tmp_path: Path) -> None:
    """A large header within its size limit."""
    head = {"__metadata__": {"text": "x" * 30_000_000}, "w": entry()}
    path = written(tmp_path, safetensors(head))
    assert list(read_checkpoint(path).tensors) == ["w"]
    with pytest.raises(CheckpointError, match="memory"):
        read_checkpoint(path, replace(LOCAL_LIMITS, memory_bytes=64 * MEBIBYTE))


@pytest.mark.parametrize("made", ["head", "pickle"])
def test_memory_is_limited(tmp_path: Path, made: str) -> None:
    """Millions of small lists in a few megabytes."""
    path = tmp_path / "weights.pt"
    if made == "head":
        path.write_bytes(safetensors(b'{"w":[' + b"[]," * 5_000_000 + b"[]]}"))
    else:
        path.write_bytes(archive(b"\x80\x02](" + b"]" * 900_000 + b"e." + b"]" * 1_000_000))
    with pytest.raises(CheckpointError, match="memory") as refused:
        read_checkpoint(path, replace(LOCAL_LIMITS, memory_bytes=64 * MEBIBYTE))
    assert str(refused.value).startswith("weights.pt ")


@pytest.mark.parametrize("program", ["false", "echo", "no such program"])
def test_a_process_that_fails_is_a_checkpoint_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    """The process dies, prints nonsense or can't be started: the server keeps running."""
    monkeypatch.setattr(sys, "executable", program)
    with pytest.raises(
        CheckpointError, match=r"weights\.pt (could not be read: the reading process|can't be read)"
    ):
        read_checkpoint(tmp_path / "weights.pt")


def test_texts_that_are_met_again_and_again_are_counted(tmp_path: Path) -> None:
    """100 kB of text, referenced a million times by a list, would be 100 GB of JSON."""
    text, many = opcodes("x" * 100_000) + b"q\x00", b"](" + b"h\x00" * 900_000 + b"e"
    items = opcodes("w") + opcodes(tensor()) + opcodes("t") + text + opcodes("many") + many
    path = written(tmp_path, archive(b"\x80\x02}(" + items + b"u."))
    with pytest.raises(CheckpointError, match="characters in addition to its tensors"):
        read_checkpoint(path)


DEEDS = [
    "import decimal",
    "__import__('socket').socket()",
    "eval('1 + 1')",
    "own.os.system('true')",
    "own.os.fork()",
    "open('/tmp/headlight-marker', 'w')",
    "Path('/tmp/headlight-marker').mkdir()",
    "own.os.remove('/tmp/headlight-marker')",
]


@pytest.mark.parametrize("folder", ["None", "Path('/tmp/elsewhere')"])
def test_it_does_nothing_but_read(folder: str) -> None:
    """If a file exploited a bug in the reader to run code, this would still stop it."""
    code = "\n".join(
        [
            *(f"def deed_{number}():\n    {deed}" for number, deed in enumerate(DEEDS)),
            f"own.stay_inside({folder})",
            f"for deed in [{', '.join(f'deed_{number}' for number in range(len(DEEDS)))}]:",
            "    try:",
            "        deed()",
            "        print('done')",
            "    except PermissionError as error:",
            "        print('stopped:', error)",
        ]
    )
    said = in_process(code).splitlines()
    assert len(said) == len(DEEDS)
    for deed, answer in zip(DEEDS, said, strict=True):
        assert answer.startswith("stopped:"), deed


def test_it_writes_in_its_folder_alone(tmp_path: Path) -> None:
    code = f"""
    own.stay_inside(Path({str(tmp_path)!r}))
    open({str(tmp_path / "numbers.bin")!r}, "xb").close()
    print("written")
    """
    assert in_process(code) == "written"


def test_surveying_writes_nothing(tmp_path: Path) -> None:
    path = written(tmp_path, saved({"w": tensor()}))
    read_checkpoint(path)
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_with_no_room_is_said(tmp_path: Path) -> None:
    """A limit on file size imitates a full disk."""
    path = tmp_path / "weights.safetensors"
    numbers = bytes(4 * 100_000)
    path.write_bytes(safetensors({"w": entry((100_000,), end=len(numbers))}, numbers))
    code = f"""
    import resource, signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    limits = own.Limits(**{asdict(UPLOAD_LIMITS)!r})
    print(own.answer(Path({str(path)!r}), Path({str(tmp_path)!r}), limits))
    """
    assert "the disk has room" in json.loads(in_process(code))["refused"]


def test_a_path_that_is_none_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing.pt", tmp_path / "with\0zero.pt", tmp_path / ("long" * 100)):
        with pytest.raises(CheckpointError, match=r"check the path|is no path|can't be read"):
            read_checkpoint(path)


def test_names_and_paths_of_any_letters(tmp_path: Path) -> None:
    """In the path, the archive's name and the names of tensors."""
    folder = tmp_path / "über 10:30:00 \N{ROCKET}"
    folder.mkdir()
    weights = {"schön.\N{SNOWMAN}": torch.ones(2), "a b\nc": torch.zeros(3)}
    torch.save(weights, folder / "mé 10:30.pt")
    raw = read_checkpoint(folder / "mé 10:30.pt", UPLOAD_LIMITS, folder)
    assert raw.tensors.keys() == weights.keys()
    assert torch.equal(map_tensor(raw.tensors["a b\nc"]), torch.zeros(3))
