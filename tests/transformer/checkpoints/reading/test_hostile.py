"""Every kind of hostile or broken file is refused with its own plain sentence, and none of it runs."""

from __future__ import annotations

import io
import pickle
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.transformer.checkpoints.reading.crafted import (
    NUMBERS,
    ORDERED,
    Call,
    Name,
    Raw,
    Reference,
    archive,
    entry,
    opcodes,
    pickled,
    safetensors,
    saved,
    storage,
    tensor,
    written,
)
from tests.transformer.checkpoints.reading.watched import assert_refused_or_inert
from transformer.checkpoints.reading.contents import NUMBERS as COPIED
from transformer.checkpoints.reading.contents import read_contents
from transformer.checkpoints.reading.limits import LOCAL_LIMITS, UPLOAD_LIMITS
from transformer.checkpoints.reading.memory_map import map_tensor
from transformer.checkpoints.reading.process import read_checkpoint
from transformer.errors import CheckpointError


def zipped(entries: Mapping[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as out:
        for name, one in entries.items():
            out.writestr(name, one)
    return content.getvalue()


def twice() -> bytes:
    pickle = pickled({"w": tensor()})
    entries = {"archive/data.pkl": pickle, "archive/data.pk2": pickle, "archive/data/0": NUMBERS}
    return zipped(entries).replace(b"data.pk2", b"data.pkl")


def patched(content: bytes, at: int, new: bytes) -> bytes:
    return content[:at] + new + content[at + len(new) :]


def encrypted() -> bytes:
    content = saved({"w": tensor()})
    for magic, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        for found in re.finditer(re.escape(magic), content):
            content = patched(content, found.start() + offset, b"\x01\x00")
    return content


def lying_zip64() -> bytes:
    content = saved({"w": tensor()})
    end = content.rindex(b"PK\x05\x06")
    return content[:end] + struct.pack("<4sIQI", b"PK\x06\x07", 0, 2**60, 1) + content[end:]


def flipped() -> bytes:
    content = saved({"w": tensor()})
    return patched(content, content.index(NUMBERS) + 5, b"\xff")


def tar() -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as out:
        out.addfile(tarfile.TarInfo("tensors"), io.BytesIO())
    return content.getvalue()


def script() -> bytes:
    content = io.BytesIO()
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), content)
    return content.getvalue()


def of_torch(value: Any) -> bytes:
    content = io.BytesIO()
    torch.save(value, content)
    return content.getvalue()


def bomb() -> bytes:
    """A list of two lists of two lists ...: few bytes, 2^60 values."""
    lists = b"]q\x00"
    for level in range(60):
        lists += b"](h" + bytes([level]) + b"h" + bytes([level]) + b"eq" + bytes([level + 1])
    items = opcodes("w") + opcodes(tensor()) + opcodes("x") + b"(" + lists + b"t"
    return archive(b"\x80\x02}(" + items + b"u.")


def endless() -> bytes:
    """A dictionary that contains itself."""
    return archive(b"\x80\x02}q\x00(" + opcodes("w") + opcodes(tensor()) + opcodes("me") + b"h\x00u.")


def again_and_again() -> bytes:
    """One tuple of thousands of numbers, passed to torch.Size thousands of times at a few bytes per call."""
    args = b"(" + b"K\x01" * 9_000 + b"t\x85q\x00"
    calls = opcodes(Name("torch", "Size")) + b"q\x01h\x00R" + b"h\x01h\x00R" * 9_000
    return archive(
        b"\x80\x02}(" + opcodes("w") + opcodes(tensor()) + opcodes("rest") + b"](" + args + calls + b"eu."
    )


def keys_of_bytes() -> bytes:
    """Bytes that many dictionaries use as their key: as text, a thousand times the file's size."""
    key = b"B" + struct.pack("<I", 200_000) + bytes(200_000) + b"q\x00"
    rest = b"](" + b"}" + key + b"K\x01s" + b"}h\x00K\x01s" * 250 + b"e"
    return archive(b"\x80\x02}(" + opcodes("w") + opcodes(tensor()) + opcodes("rest") + rest + b"u.")


def beside(left_out: Any) -> bytes:
    """A weight, and a value in the optimizer's state."""
    return saved({"w": tensor(), "optim": {"v": left_out}})


OFF = 2**62
HUGE = (1 << 24, 1 << 24, 1 << 24)
MEGABYTE = torch.zeros(2**20, dtype=torch.uint8)
FILES: dict[str, tuple[bytes, str]] = {
    # not a checkpoint
    "empty": (b"", "is empty"),
    "one byte": (b"x", "neither safetensors nor"),
    "a web page": (b"\n<!DOCTYPE html><html>404</html>", "is a web page"),
    "a server's answer": (b"Entry not found", "is the answer of a server"),
    "a Git LFS pointer": (b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
    "gzip": (b"\x1f\x8b\x08\x00rest", "compressed with gzip"),
    "GGUF": (b"GGUF\x03\x00\x00\x00", "GGUF"),
    "HDF5": (b"\x89HDF\r\n\x1a\n", "HDF5"),
    "NumPy": (b"\x93NUMPY\x01\x00", "NumPy"),
    "a bare pickle": (pickle.dumps({"w": 1}), "is a bare pickle"),
    "a tar": (tar(), "tar archive"),
    "TorchScript": (script(), "TorchScript program"),
    "an ordinary zip": (zipped({"a/b.txt": b"text"}), "torch.save did not write"),
    "two folders in a zip": (zipped({"a/data.pkl": b"", "b/data.pkl": b""}), "torch.save did not write"),
    # zip
    "cut off": (saved({"w": tensor()})[:-30], "does not end as one"),
    "bytes after the end": (saved({"w": tensor()}) + b"more", "does not end as one"),
    "bytes in front": (saved({"w": tensor()})[:4] + b"xx" + saved({"w": tensor()})[4:], "damaged"),
    "compressed": (saved({"w": tensor()}, method=zipfile.ZIP_DEFLATED), "compressed entry"),
    "encrypted": (encrypted(), "encrypted"),
    "a path upwards": (saved({"w": tensor()}, more={"archive/../../x": b""}), "no plain path"),
    "an absolute path": (saved({"w": tensor()}, more={"/etc/passwd": b""}), "no plain path"),
    "the same entry twice": (twice(), "twice"),
    "a Zip64 end that lies": (lying_zip64(), "damaged"),
    "another byte order": (saved({"w": tensor()}, byte_order="big"), "byte order"),
    # pickle
    "os.system": (saved(Call(Name("os", "system"), ("touch marker",))), r"os\.system.*nothing of it was run"),
    "builtins.eval": (saved({"w": Call(Name("builtins", "eval"), ("1",))}), "builtins.eval"),
    "a name without a call": (saved({"w": tensor(), "f": Name("subprocess", "Popen")}), "subprocess.Popen"),
    "an attribute of torch": (saved(Call(Name("torch", "load"), ("x",))), "torch.load"),
    "a name with dots": (saved(Call(Name("torch", "_utils.os"), ())), "torch._utils.os"),
    "a call of a string": (saved(Call("collections.OrderedDict", ())), "torch.save would not write"),
    "the state of an object": (
        archive(b"\x80\x02" + opcodes({}) + opcodes({"a": 1}) + b"b."), "sets the state of what has none",
    ),
    "an unknown opcode": (archive(b"\x80\x02\x83."), "pickle"),
    "protocol 0": (archive(b"(dp0\n."), "the operation b'd'"),
    "protocol 9": (archive(b"\x80\x09}."), "another protocol"),
    "an empty stack": (archive(b"\x80\x02R."), "damaged pickle"),
    "a memo that is not there": (archive(b"\x80\x02h\x07."), "damaged pickle"),
    "a pickle that ends too soon": (archive(b"\x80\x02}"), "damaged pickle"),
    "text longer than the pickle": (archive(b"\x80\x02X\xff\xff\xff\x7fabc."), "damaged pickle"),
    "values without end": (bomb(), "nested"),
    "itself inside": (endless(), "nested"),
    "a list": (saved([tensor()]), "not a dictionary"),
    "one tensor": (saved(tensor()), "without a name"),
    "no tensors": (saved({"epoch": 3}), "no weights"),
    "a tuple as a key": (saved({("a",): tensor()}), "keys"),
    "the same arguments over and over": (again_and_again(), "over and over"),
    "bytes as many keys": (keys_of_bytes(), "characters in addition to its tensors"),
    "a member of a set twice": (beside(Call(Name("builtins", "set"), (["a", "a"],))), "would not write"),
    "one twice in a set of protocol 4": (beside(Raw(b"\x8f(K\x01K\x01\x90")), "would not write"),
    "one twice in a frozen set": (beside(Raw(b"(K\x01K\x01\x91")), "would not write"),
    "a long key of a storage": (saved({"w": tensor(of=storage(key="0" * 81))}), "would not write"),
    "numpy": (saved({"w": Call(Name("numpy.core.multiarray", "_reconstruct"), ())}), "only 'w' .'numpy"),
    # tensors
    "stride 0": (saved({"w": tensor((1_000_000, 1_000_000), (0, 0))}), "expanded"),
    "a transposed view": (saved({"w": tensor((3, 2), (1, 3))}), "transposed"),
    "a negative stride": (saved({"w": tensor((2, 3), (-3, 1))}), "negative stride"),
    "a negative start": (saved({"w": tensor(start=-1)}), "outside"),
    "a start after the end": (saved({"w": tensor(start=1)}), "outside"),
    "a size of zero": (saved({"w": tensor((0, 3), (3, 1))}), "size of zero"),
    "a view that leaves its storage": (beside(tensor((2, 2), (5, 1))), "outside"),
    "nothing after the end": (beside(tensor((0,), (1,), start=7)), "outside"),
    "a stride backwards, left out": (beside(tensor((2,), (-1,))), "negative stride"),
    "sizes without strides": (saved({"w": tensor((2, 3), (1,))}), "torch.save would not write"),
    "a negative size": (saved({"w": tensor((-2, 3), (3, 1))}), "negative size"),
    "absurd sizes": (saved({"w": tensor(HUGE, (1 << 48, 1 << 24, 1))}), "absurd"),
    "nine dimensions": (saved({"w": tensor((1,) * 9, (1,) * 9)}), "dimensions"),
    "a storage larger than its bytes": (saved({"w": tensor(of=storage(n_items=2**28))}), "has 24"),
    "a storage that is not there": (saved({"w": tensor(of=storage(key="7"))}), "lacks the numbers"),
    "a storage elsewhere": (saved({"w": tensor(of=storage(key="../data.pkl"))}), "lacks the numbers"),
    "a meta tensor": (saved({"w": tensor(of=storage(location="meta"))}), "meta tensors"),
    "complex numbers": (saved({"w": tensor(of=storage("ComplexFloatStorage"))}), "kind that is not read"),
    "quantized": (saved({"w": Call(Name("torch._utils", "_rebuild_qtensor"), ())}), "is quantised"),
    "sparse": (of_torch({"w": torch.eye(3).to_sparse()}), "sparse"),
    "hooks": (saved({"w": tensor(hooks={"a": 1})}), "hooks"),
    "a conjugate": (saved({"w": tensor(rest=({"conj": True},))}), "conjugate"),
    "one megabyte by 300 names": (of_torch(dict.fromkeys(map(str, range(300)), MEGABYTE)), "share 1,048,576"),
    "one name twice": (saved({"a": {"b": tensor()}, "a.b": tensor()}), "two tensors with the name"),
    "an endless name": (saved({"w" * 600: tensor()}), "600 characters"),
    "no storage": (saved({"w": tensor(of=Reference(("module", None)))}), "torch.save would not write"),
    # safetensors
    "offsets beyond every file": (safetensors({"w": entry(end=10**4200)}), "data_offsets"),
    "a head longer than the file": (safetensors({"w": entry()}, length=10**9), "says that its head"),
    "a head that is no JSON": (safetensors(b"{nonsense}"), "no valid JSON"),
    "a head of deep JSON": (safetensors(b'{"a":' + b"[" * 100_000), "no valid JSON"),
    "a name twice in a head": (safetensors(b'{"w":{},"w":{}}'), "twice"),
    "an unknown dtype": (safetensors({"w": entry(dtype="F8_E4M3")}), "F8_E4M3"),
    "bytes that don't fit": (safetensors({"w": entry((2, 4))}), "24 bytes, where"),
    "offsets the wrong way": (safetensors({"w": entry(begin=24, end=0)}), "data_offsets"),
    "offsets as text": (safetensors({"w": entry(begin="0")}), "data_offsets"),
    "a size as a truth value": (safetensors({"w": entry((True, 6))}), "whole numbers"),
    "a tensor after the end": (safetensors({"w": entry()}, NUMBERS[:-4]), "cut off"),
    "bytes after the tensors": (safetensors({"w": entry()}, NUMBERS + b"rest"), "4 more bytes after"),
    "tensors that overlap": (safetensors({"a": entry(), "b": entry()}), "share bytes"),
    "a hole": (safetensors({"a": entry((4,), begin=8, end=24)}), "belong to no tensor"),
    "sizes of 2^62": (safetensors({"w": entry((OFF, OFF))}), "absurd"),
    "metadata with code": (safetensors({"__metadata__": {"a": ["b"]}, "w": entry()}), "metadata"),
}  # fmt: skip


def test_each_is_refused_by_a_process_that_may_import_nothing(tmp_path: Path) -> None:
    """Python imports parts of its library only when needed, which is too late in that process."""
    assert_refused_or_inert(FILES, tmp_path)


def test_what_they_were_made_from_is_read(tmp_path: Path) -> None:
    """The same builders without a fault: so the faults are what is refused above."""
    for content in (saved({"w": tensor()}), safetensors({"w": entry()})):
        folder = tmp_path / str(zlib.crc32(content))
        folder.mkdir()
        read = read_checkpoint(written(tmp_path, content), UPLOAD_LIMITS, folder)
        numbers = map_tensor(read.tensors["w"])
        assert torch.equal(numbers, torch.arange(6.0).view(2, 3))


def test_a_malicious_pickle_leaves_no_mark(tmp_path: Path) -> None:
    """The file's command is never run, neither in this process nor in the reading one."""
    marker = tmp_path / "marker"
    path = written(tmp_path, saved(Call(Name("os", "system"), (f"touch {marker}",))))
    folder = tmp_path / "out"
    folder.mkdir()
    with pytest.raises(CheckpointError, match="nothing of it was run"):
        read_checkpoint(path, UPLOAD_LIMITS, folder)
    assert not marker.exists()
    with zipfile.ZipFile(path) as archived:
        pickle.loads(archived.read("archive/data.pkl"))  # noqa: S301 (that is what the test is about)
    assert marker.exists(), "the file is as malicious as it should be"


def test_a_flipped_bit_is_found_when_the_numbers_are_copied(tmp_path: Path) -> None:
    path = written(tmp_path, flipped())
    with pytest.raises(CheckpointError, match="checksum"):
        read_checkpoint(path, UPLOAD_LIMITS, tmp_path)


def test_a_device_is_not_read() -> None:
    with pytest.raises(CheckpointError, match="no regular file"):
        read_contents(Path("/dev/zero"), LOCAL_LIMITS)


def test_an_upload_may_not_be_too_large(tmp_path: Path) -> None:
    path = tmp_path / "large.pt"
    with path.open("wb") as out:
        out.truncate(UPLOAD_LIMITS.max_file_bytes or 0)
        out.seek(0, io.SEEK_END)
        out.write(b"x")
    with pytest.raises(CheckpointError, match=r"200,000,001 bytes, where 200,000,000 are allowed"):
        read_contents(path, UPLOAD_LIMITS)


def test_nothing_of_the_heap_comes_with_a_tensor(tmp_path: Path) -> None:
    """The copy has exactly the file's bytes, not one more."""
    read_checkpoint(written(tmp_path, saved({"w": tensor()})), UPLOAD_LIMITS, tmp_path)
    assert (tmp_path / COPIED).read_bytes() == NUMBERS


def test_ordered_dictionaries_may_have_what_state_dicts_have(tmp_path: Path) -> None:
    """A state dict's metadata is the only state that may be set, and it is left out."""
    inner = opcodes(ORDERED) + b"(" + opcodes("w") + opcodes(tensor()) + b"u"
    content = archive(b"\x80\x02" + inner + opcodes({"_metadata": {"": {"version": 1}}}) + b"b.")
    assert list(read_contents(written(tmp_path, content), LOCAL_LIMITS).files[0].tensors) == ["w"]
