"""The zip archives that torch.save writes: a small subset of the zip format.

Entries are uncompressed, one after the other, before the central directory. APPNOTE.TXT 6.3.10,
https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from transformer.checkpoints.reading.limits import Limits
from transformer.checkpoints.reading.regular_file import RegularFile
from transformer.errors import CheckpointError, shown

ZIP_MAGIC = b"PK\x03\x04"
_END = struct.Struct("<4s4H2IH")  # magic, 2 disks, 2 counts, directory's size and offset, comment's length
_LOCATOR = struct.Struct("<4sIQI")  # magic, disk, offset of the zip64 end record, disks
_LONG_END = struct.Struct(
    "<4sQ2H2I4Q"
)  # magic, size, 2 versions, 2 disks, 2 counts, directory's size, offset
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_LOCAL = struct.Struct("<4s5H3I2H")
_ENCRYPTED, _DESCRIPTOR, _STRONG, _MASKED = 1 << 0, 1 << 3, 1 << 6, 1 << 13
_OTHER_ENTRIES = 100
"""Allowance for entries other than tensors: the pickle, the byte order, versions."""
_SHORT, _LONG = 0xFFFF, 0xFFFFFFFF
_DAMAGED = "is a damaged zip archive: copy or download it again."
_AGAIN = "save it again with torch.save(model.state_dict(), 'weights.pt')"


@dataclass(frozen=True)
class ZipEntry:
    """An uncompressed file in the archive: its name, the position of its bytes, and their CRC-32."""

    name: str
    offset: int
    n_bytes: int
    crc: int

    def read(self, file: RegularFile) -> bytes:
        """Read the whole entry.

        Raises:
            CheckpointError: when the bytes don't match the checksum.
        """
        content = file.read(self.offset, self.n_bytes)
        check_crc(zlib.crc32(content), self.crc, shown(self.name))
        return content


@dataclass(frozen=True)
class _Listed:
    """An entry of the central directory; `header` is the offset of its local header."""

    name: str
    flags: int
    method: int
    crc: int
    packed: int
    n_bytes: int
    header: int


def check_crc(found: int, expected: int, name: str) -> None:
    """Compare a computed checksum with the one in the archive.

    Raises:
        CheckpointError: when they differ.
    """
    if found != expected:
        raise CheckpointError(
            f"is damaged: {name} in it lacks the checksum that it was saved with. Copy or download "
            "it again (or it was saved with torch's compute_crc32 off: save it with that on)."
        )


def read_entries(file: RegularFile, limits: Limits) -> dict[str, ZipEntry]:
    """Read an archive's central directory and locate every entry's bytes.

    Raises:
        CheckpointError: when the archive differs from what torch.save writes.
    """
    n_entries, start, size = _find_directory(file)
    if n_entries > limits.max_tensors + _OTHER_ENTRIES:
        raise CheckpointError(
            f"has {n_entries:,} entries, where {limits.max_tensors + _OTHER_ENTRIES:,} are allowed: {_AGAIN}."
        )
    if size > limits.max_header_bytes:
        raise CheckpointError(
            f"has a directory of {size:,} bytes, where {limits.max_header_bytes:,} are allowed: {_AGAIN}."
        )
    entries: dict[str, ZipEntry] = {}
    end = 0
    for listed in sorted(_listed(file.read(start, size), n_entries), key=lambda one: one.header):
        _check_listed(listed)
        if listed.name in entries:
            raise CheckpointError(f"has the entry {shown(listed.name)} twice: {_AGAIN}.")
        if listed.header < end:
            raise CheckpointError(f"has entries that share bytes: {_AGAIN}.")
        entry = _located(file, listed, start)
        entries[entry.name] = entry
        end = entry.offset + entry.n_bytes
    return entries


def _find_directory(file: RegularFile) -> tuple[int, int, int]:
    """The number of entries, and the offset and size of the central directory."""
    end = file.size - _END.size
    if end < 0 or (found := _END.unpack(file.read(end, _END.size)))[0] != b"PK\x05\x06" or found[-1]:
        raise CheckpointError(
            "begins as a zip archive and does not end as one: it is cut off, or has bytes after its end. "
            "Copy or download it again."
        )
    disk, disk_of_directory, here, n_entries, size, start, _ = found[1:]
    directory_end = end
    long_end = _find_long_end(file, end)
    if long_end is not None:
        directory_end, (disk, disk_of_directory, here, *long) = long_end
        for short, value, unknown in zip((n_entries, size, start), long, (_SHORT, _LONG, _LONG), strict=True):
            if short not in (value, unknown):
                raise CheckpointError(_DAMAGED)
        n_entries, size, start = long
    if disk or disk_of_directory or here != n_entries:
        raise CheckpointError(f"is a part of a zip archive in several files: {_AGAIN}.")
    if start + size != directory_end or n_entries * _CENTRAL.size > size:
        raise CheckpointError(_DAMAGED)
    return n_entries, start, size


def _find_long_end(file: RegularFile, end: int) -> tuple[int, tuple[int, ...]] | None:
    """The zip64 end record: its offset, and its 2 disks, 2 counts, directory size and offset."""
    at = end - _LOCATOR.size
    if at < 0:
        return None
    magic, disk, offset, n_disks = _LOCATOR.unpack(file.read(at, _LOCATOR.size))
    if magic != b"PK\x06\x07":
        return None
    if disk or n_disks > 1 or offset != at - _LONG_END.size:
        raise CheckpointError(_DAMAGED)
    magic, size, _, _, *values = _LONG_END.unpack(file.read(offset, _LONG_END.size))
    if magic != b"PK\x06\x06" or size != _LONG_END.size - 12:
        raise CheckpointError(_DAMAGED)
    return offset, tuple(values)


def _listed(directory: bytes, n_entries: int) -> Iterator[_Listed]:
    at = 0
    for _ in range(n_entries):
        if at + _CENTRAL.size > len(directory):
            raise CheckpointError(_DAMAGED)
        found = _CENTRAL.unpack_from(directory, at)
        magic, _, _, flags, method, _, _, crc, packed, n_bytes, n_name, n_extra, n_comment = found[:13]
        disk, _, _, header = found[13:]
        name_at = at + _CENTRAL.size
        at = name_at + n_name + n_extra + n_comment
        if magic != b"PK\x01\x02" or disk or at > len(directory):
            raise CheckpointError(_DAMAGED)
        extra = directory[name_at + n_name : name_at + n_name + n_extra]
        n_bytes, packed, header = _long_values(extra, (n_bytes, packed, header))
        name = _decoded(directory[name_at : name_at + n_name])
        yield _Listed(name, flags, method, crc, packed, n_bytes, header)
    if at != len(directory):
        raise CheckpointError(_DAMAGED)


def _long_values(extra: bytes, values: tuple[int, int, int]) -> tuple[int, int, int]:
    """Replace values that did not fit into 32 bits with those of the zip64 field."""
    if _LONG not in values:
        return values
    at = 0
    while at + 4 <= len(extra):
        kind, size = struct.unpack_from("<2H", extra, at)
        field = extra[at + 4 : at + 4 + size]
        at += 4 + size
        if kind == 1:
            n_long = values.count(_LONG)
            if len(field) < 8 * n_long:
                break
            long = iter(struct.unpack_from(f"<{n_long}Q", field))
            n_bytes, packed, header = (next(long) if value == _LONG else value for value in values)
            return n_bytes, packed, header
    raise CheckpointError(_DAMAGED)


def _decoded(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError as error:
        raise CheckpointError(f"has an entry whose name is no text: {_AGAIN}.") from error


def _check_listed(listed: _Listed) -> None:
    name = listed.name
    if listed.flags & (_ENCRYPTED | _STRONG | _MASKED):
        raise CheckpointError(f"has the encrypted entry {shown(name)}, which is not read: {_AGAIN}.")
    if "/code/" in name or name.endswith("/constants.pkl"):
        raise CheckpointError(f"is a TorchScript program, which is code: {_AGAIN} where it was made.")
    if listed.method and name.endswith(".npy"):
        raise CheckpointError(
            "is an archive of NumPy's arrays that was compressed: save it again with numpy.savez, which "
            "compresses nothing."
        )
    if listed.method:
        raise CheckpointError(
            f"has the compressed entry {shown(name)}, and torch.save compresses nothing: {_AGAIN}."
        )
    if listed.packed != listed.n_bytes:
        raise CheckpointError(_DAMAGED)
    parts = name.split("/")
    if any(part in ("", ".", "..") for part in parts) or "\\" in name or "\0" in name:
        raise CheckpointError(f"has an entry with the name {shown(name)}, which is no plain path: {_AGAIN}.")


def _located(file: RegularFile, listed: _Listed, limit: int) -> ZipEntry:
    """Locate an entry's bytes after its local header, which must agree with the central directory."""
    if listed.header + _LOCAL.size > limit:
        raise CheckpointError(_DAMAGED)
    found = _LOCAL.unpack(file.read(listed.header, _LOCAL.size))
    magic, _, flags, method, _, _, crc, packed, n_bytes, n_name, n_extra = found
    name_at = listed.header + _LOCAL.size
    offset = name_at + n_name + n_extra
    if magic != ZIP_MAGIC or offset + listed.n_bytes > limit:
        raise CheckpointError(_DAMAGED)
    same = (flags, method, file.read(name_at, n_name)) == (
        listed.flags,
        listed.method,
        listed.name.encode(),
    )
    if not flags & _DESCRIPTOR:  # otherwise the CRC and sizes follow the data
        same = same and crc == listed.crc and {packed, n_bytes} <= {listed.n_bytes, _LONG}
    if not same:
        raise CheckpointError(
            f"says two different things about its entry {shown(listed.name)}: copy or download it again."
        )
    return ZipEntry(listed.name, offset, listed.n_bytes, listed.crc)
