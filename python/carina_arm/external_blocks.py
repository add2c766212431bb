"""Blocks of an Ethos-U delegate in separate files (.ptd)."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator

from executorch.exir._serialize._named_data_store import NamedDataStore
from executorch.exir.backend.backend_details import PreprocessResult

from .ethosu_compile_spec import VelaExternalBlockPlacements

# Source: docs/facts/arm_backend.md 6.3: 16 bytes of name, the size, whether the data are elsewhere, padding.
_HEADER = struct.Struct("<16sIB11s")
_ALIGNMENT = 16


def with_external_blocks(blob: bytes, placements: VelaExternalBlockPlacements) -> PreprocessResult:
    """Moves the delegate's tagged blocks into external data, and replaces them by keys. Returns the delegate, and the blocks by key."""
    tags = placements.to_block_placements()
    if not tags:
        return PreprocessResult(processed_bytes=blob)
    store = NamedDataStore()
    parts = []
    for name, data in _blocks(blob):
        tag = tags.get(name)
        if tag is None:
            parts.append(_block(name, data, external=False))
            continue
        key = hashlib.sha256(tag.encode() + b"\0" + data).hexdigest()
        store.add_named_data(key, data, alignment=_ALIGNMENT, external_tag=tag)
        parts.append(_block(name, key.encode(), external=True))
    return PreprocessResult(processed_bytes=b"".join(parts), data_store_output=store.get_named_data_store_output())


def _blocks(blob: bytes) -> Iterator[tuple[str, bytes]]:
    at = 0
    while at < len(blob):
        name, size, _, _ = _HEADER.unpack_from(blob, at)
        start = at + _HEADER.size
        yield name.rstrip(b"\0").decode(), blob[start : start + size]
        at = start + _padded(size)


def _block(name: str, data: bytes, *, external: bool) -> bytes:
    return _HEADER.pack(name.encode(), len(data), external, b"") + data.ljust(_padded(len(data)), b"\0")


def _padded(size: int) -> int:
    """The size rounded up to whole lines of 16 bytes."""
    return -(-size // _ALIGNMENT) * _ALIGNMENT
