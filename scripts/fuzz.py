"""Corrupt checkpoints and mapping files at random and read them: each opens or is refused; none runs code.

`make fuzz` tries a million. A failing run prints the command that repeats it alone.
"""

from __future__ import annotations

import argparse
import io
import json
import multiprocessing
import os
import resource
import secrets
import struct
import tempfile
import time
import warnings
import zipfile
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from safetensors.torch import save
from torch import nn

from transformer.checkpoints.importing.layout.file import text_of
from transformer.checkpoints.importing.layout.plain_yaml import read_yaml
from transformer.checkpoints.reading.contents import read_contents, to_checkpoint
from transformer.checkpoints.reading.limits import MEBIBYTE, UPLOAD_LIMITS
from transformer.checkpoints.reading.memory_map import map_tensor
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import CheckpointError

Files = Mapping[str, bytes]
"""A checkpoint's files by name, or a mapping file. A single file is opened directly, several as a folder."""

MOST_SECONDS = 5.0
MOST_MEMORY = 512 * MEBIBYTE
PART = 5_000
"""Runs in each task of a worker process."""

_EDGES = (0, 1, -1, 0x7F, 0x80, 0xFF, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**63 - 1, 2**64 - 1)
"""Values at which arithmetic with sizes and offsets tends to fail."""


class FuzzError(AssertionError):
    """A corrupt checkpoint was neither opened nor properly refused."""


def fuzz(seed: int, runs: range) -> int:
    """Corrupt and read one checkpoint per number in `runs`; each depends on the seed and its number alone.

    Returns:
        The number of checkpoints that could be opened.

    Raises:
        FuzzError: a checkpoint was neither opened nor refused, took too long, or ran code.
    """
    opened = 0
    with tempfile.TemporaryDirectory() as place, at_most(MOST_MEMORY):
        marker = Path(place) / "marker"
        corpus = [*valid(), malicious(marker), inert(marker), tagged(marker)]
        for run in runs:
            try:
                opened += attempt(broken(corpus, Random(f"{seed} {run}")), Path(place))
                if marker.exists():
                    raise FuzzError("something of it was run")
            except Exception as error:
                raise FuzzError(f"python -m scripts.fuzz --seed {seed} --only {run}: {error!r}") from error
    return opened


def attempt(files: Files, place: Path) -> bool:
    """Read a checkpoint as the reading process does and open its tensors, or read a mapping file.

    Returns:
        False if it is refused.

    Raises:
        FuzzError: reading took too long, or a tensor's shape differs from its declared shape.
    """
    began = time.monotonic()
    chosen, copies = place / "chosen", place / "copies"
    chosen.mkdir(exist_ok=True)
    copies.mkdir(exist_ok=True)
    try:
        for name, content in files.items():
            (chosen / name).write_bytes(content)
        path = chosen / next(iter(files)) if len(files) == 1 else chosen
        if path.suffix == ".yaml":
            read_yaml(text_of(path), "The mapping file")
        else:
            _open(path, copies)
        opened = True
    except CheckpointError:
        opened = False
    finally:
        for left in (*chosen.iterdir(), *copies.iterdir()):
            left.unlink()
    if time.monotonic() - began > MOST_SECONDS:
        raise FuzzError(f"it took more than {MOST_SECONDS} s")
    return opened


def _open(path: Path, copies: Path) -> None:
    checkpoint = to_checkpoint(read_contents(path, UPLOAD_LIMITS), copies)
    plain = json.loads(json.dumps(checkpoint.to_plain()))
    for name, stored in RawCheckpoint.from_plain(plain).tensors.items():
        if map_tensor(stored).shape != stored.shape:
            raise FuzzError(f"{name} has another shape than it says")


def valid() -> Iterator[Files]:
    """Small checkpoints of each format, and mapping files."""
    module = nn.Linear(3, 5)
    nn.init.constant_(module.weight, 2.5)  # so that a seed gives the same bytes in every process
    nn.init.constant_(module.bias, -1.5)
    optimizer = torch.optim.Adam(module.parameters())
    module(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    kinds = {str(dtype): torch.ones(2, 3).to(dtype) for dtype in (torch.bfloat16, torch.bool, torch.int64)}
    odd = [torch.empty(0), torch.ones(1).expand(4), torch.arange(6.0).view(2, 3).t()]
    trainer = {
        "epoch": 3,
        "state_dict": module.state_dict(),
        "optimizer": optimizer.state_dict(),
        "callbacks": {"kept": odd, "seen": {1, 2}, "random": b"bytes"},
    }
    average = {f"module.{name}": weight for name, weight in module.state_dict().items()}
    beside = {
        "args": argparse.Namespace(nhead=4, path=Path("a/b"), device=torch.device("cpu"), dtype=torch.half),
        "best": np.float64(0.5),
        "seen": np.arange(3),
        "random": (np.random.RandomState(3), np.random.default_rng(3)),
        "counts": Counter("aab"),
        "lists": defaultdict(list, {"a": [1]}),
        "pairs": {("a", "b"): 1, torch.float32: deque([1], 2)},
        "when": date(2020, 1, 2),
        "made": partial(int, base=3),
        "kept": torch.ones(2, dtype=torch.int8),
    }
    tied = {"a": module.weight, "b": module.weight, "part": torch.arange(24.0)[6:18].view(3, 4)}
    yield {"plain.safetensors": save(module.state_dict())}
    yield {"kinds.safetensors": save(kinds, {"format": "pt"})}
    for value, protocol in ((module.state_dict(), 2), (trainer, 2), (trainer, 4), (tied, 4), (kinds, 5)):
        yield {"weights.pt": _saved(value, protocol)}
    whole = nn.Sequential(nn.LayerNorm(3), nn.MultiheadAttention(4, 2), nn.BatchNorm1d(2))
    for parameter in whole.parameters():
        nn.init.constant_(parameter, 0.5)
    values: list[tuple[Any, int]] = [
        ({"model": module.state_dict(), "ema": average, **beside}, 2),
        ({"model": whole, **beside}, 4),
        ((module.state_dict(), beside), 2),
        (whole, 2),
    ]
    for value, protocol in values:
        yield {"weights.pt": _saved(value, protocol)}
        yield {"old.pt": _saved(value, protocol, is_zip=False)}
    yield {"old.pt": _saved(trainer, 1, is_zip=False)}
    shards = [{"w": torch.ones(2)}, {"v": torch.zeros(3, 2)}]
    for stem, ending, write in (("model", "safetensors", save), ("pytorch_model", "bin", _saved)):
        names = [f"{stem}-{number:05}-of-00002.{ending}" for number in (1, 2)]
        index = json.dumps({"weight_map": {"w": names[0], "v": names[1]}}).encode()
        yield {
            "config.json": b'{"model_type": "some", "d_model": 4}',
            f"{stem}.{ending}.index.json": index,
            **{name: write(shard) for name, shard in zip(names, shards, strict=True)},
        }

    yield {"map.yaml": _MAPPING}
    yield {
        "json.yaml": b'{"names": {"w.{}": {"to": ["a", "b"], "rows": 2}}, "config": {"eps": 1e-5, "x": null}}'
    }


_MAPPING = b"""# a comment
names:
  layers.{}.attn:  # another
    by: [transposed, blocks]
    to:
      - decoder.layers.{}.self_attn.w_q
      - 'decoder.layers.{}.self_attn.w_k'
  "head.weight": {to: generator.weight, by: {scaled: 0.5}}
config: {n_heads: 4, norm_eps: 1e-5, bias: false, pad_id: ~}
notes:
  - when: {has: head.weight}
    why: >-
      Two lines
      of text.
"""


def malicious(marker: Path) -> Files:
    """A file that would create another if unpickled; it must be refused."""
    command = b"cos\nsystem\n" + _text(f"touch {marker}") + b"\x85R"
    return {"malicious.pt": _with_pickle(command)}


def inert(marker: Path) -> Files:
    """Weights, with calls that would create a file through functions that also have legitimate uses."""
    storage = b"(" + _text("storage") + b"ctorch\nFloatStorage\n" + _text("0") + _text("cpu") + b"K\x02tQ"
    weight = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00K\x02\x85K\x01\x85\x89"
    weight += b"ccollections\nOrderedDict\n)RtR"
    path = b"cpathlib\nPosixPath\n" + _text(str(marker)) + b"\x85R"
    touch = b"cbuiltins\ngetattr\n" + path + _text("touch") + b"\x86R)R"
    return {"inert.pt": _with_pickle(b"}(" + _text("w") + weight + _text("beside") + touch + b"u")}


def tagged(marker: Path) -> Files:
    """A mapping file that would create another file if its tags were followed; it must be refused."""
    call = f"!!python/object/apply:os.system ['touch {marker}']"
    return {"tagged.yaml": f"%YAML 1.1\n---\na: &a [{call}]\nb: {{<<: *a, c: *a}}\n---\nd\n".encode()}


def _with_pickle(steps: bytes) -> bytes:
    return _packed({"archive/data.pkl": b"\x80\x02" + steps + b".", "archive/data/0": bytes(8)})


def _text(text: str) -> bytes:
    return b"X" + struct.pack("<I", len(text)) + text.encode()


def broken(corpus: list[Files], random: Random) -> Files:
    """A checkpoint with one corrupt file, whose checksums and lengths may be adjusted to match."""
    files = dict(random.choice(corpus))
    name = random.choice(list(files))
    other = random.choice(list(random.choice(corpus).values()))
    breaks: list[Callable[[bytes, bytes, Random], bytes]] = [_mutated]
    if zipfile.is_zipfile(io.BytesIO(files[name])):
        breaks += [_with_broken_entry] * 3
    elif name.endswith(".safetensors"):
        breaks += [_with_broken_head] * 2
    files[name] = random.choice(breaks)(files[name], other, random)
    return files


def _mutated(content: bytes, other: bytes, random: Random) -> bytes:
    """One to four changes: flipped bits, random bytes, edge values; removed, repeated or foreign pieces."""
    changed = bytearray(content)
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        at = random.randrange(len(changed) + 1)
        length = random.choice((1, 1, 2, 4, 8, 64))
        match random.randrange(8):
            case 0 if at < len(changed):
                changed[at] ^= 1 << random.randrange(8)
            case 1:
                changed[at : at + length] = random.randbytes(length)
            case 2:
                changed[at:at] = random.randbytes(length)
            case 3:
                del changed[at : at + length]
            case 4:
                del changed[at:]
            case 5:
                start = random.randrange(len(other) + 1)
                changed[at : at + random.choice((0, length))] = other[start : start + length * 4]
            case 6:
                changed[at:at] = changed[at : at + length * 4]
            case _:
                size = random.choice((1, 2, 4, 8))
                value = random.choice(_EDGES) & (1 << 8 * size) - 1
                changed[at : at + size] = value.to_bytes(size, "little")
    return bytes(changed)


def _with_broken_entry(content: bytes, other: bytes, random: Random) -> bytes:
    """An archive with valid checksums and one corrupt entry, most often the pickle."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = {info.filename: archive.read(info) for info in archive.infolist()}
    pickles = [name for name in entries if name.endswith("data.pkl")]
    name = random.choice(pickles * 4 + list(entries))
    entries[name] = _mutated(entries[name], other, random)
    return _packed(entries)


def _with_broken_head(content: bytes, other: bytes, random: Random) -> bytes:
    """A safetensors file with a corrupt header whose length is adjusted to match."""
    length = int.from_bytes(content[:8], "little")
    head = _mutated(content[8 : 8 + length], other, random)
    return struct.pack("<Q", len(head)) + head + content[8 + length :]


def _saved(value: Any, protocol: int = 2, *, is_zip: bool = True) -> bytes:
    content = io.BytesIO()
    with warnings.catch_warnings():
        # The old format stores the source of modules, which can't be found for some.
        warnings.simplefilter("ignore")
        torch.save(value, content, pickle_protocol=protocol, _use_new_zipfile_serialization=is_zip)
    return content.getvalue()


def _packed(entries: Files) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, entry in entries.items():
            archive.writestr(zipfile.ZipInfo(name), entry)
    return content.getvalue()


@contextmanager
def at_most(n_bytes: int) -> Iterator[None]:
    """Limit the memory that this process may still allocate, where the system supports it."""
    statm = Path("/proc/self/statm")
    if not statm.exists():
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    has = int(statm.read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (has + n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _part(task: tuple[int, range]) -> int:
    return fuzz(*task)


def main() -> None:
    """Corrupt and read checkpoints, a million by default, in one process per core."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=None, help="chosen at random and printed when left out")
    parser.add_argument("--only", type=int, default=None, help="the number of the one run to do")
    options = parser.parse_args()
    seed = secrets.randbelow(2**32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    runs = range(options.runs) if options.only is None else range(options.only, options.only + 1)
    parts = [(seed, runs[start : start + PART]) for start in range(0, len(runs), PART)]
    opened = 0
    with multiprocessing.get_context("spawn").Pool(min(len(parts), os.cpu_count() or 1)) as pool:
        for done, n_opened in enumerate(pool.imap_unordered(_part, parts), start=1):
            opened += n_opened
            print(f"{min(done * PART, len(runs)):>9,} read, {opened:,} of them opened", flush=True)


if __name__ == "__main__":
    main()
