"""Damages files: mutations of bytes and of structure. Each comes from a number, so that any of them can be repeated.

python tests/integration/cli/damaged_files.py KIND NUMBER FILE OUT      writes mutation NUMBER of FILE
"""

import io
import json
import random
import struct
import sys
import zipfile
from pathlib import Path

EXTREMES = [
    0,
    1,
    -1,
    2,
    127,
    128,
    255,
    256,
    65535,
    2**31 - 1,
    2**31,
    2**32 - 1,
    -(2**31),
    2**40,
    2**62,
    2**63 - 1,
    -(2**63),
]


def cut(data, rng):
    return data[: rng.randrange(len(data) + 1)]


def flip(data, rng):
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 8])):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def overwrite(data, rng):
    """Overwrites 1 to 8 bytes, often at an aligned offset, with an extreme integer."""
    size = rng.choice([1, 2, 4, 4, 4, 8])
    at = rng.randrange(max(1, len(data) - size))
    if rng.random() < 0.8:
        at -= at % size
    value = rng.choice(EXTREMES) & (2 ** (8 * size) - 1)
    return data[:at] + value.to_bytes(size, "little") + data[at + size :]


def move(data, rng):
    """Duplicates, removes or moves a range of bytes."""
    start, size, to = rng.randrange(len(data)), rng.choice([1, 4, 16, 64, 1000]), rng.randrange(len(data))
    piece = data[start : start + size]
    rest = rng.choice([data, data[:start] + data[start + size :]])
    return rest[:to] + rng.choice([piece, b"", piece * 3]) + rest[to:]


BYTES = [cut, flip, flip, overwrite, overwrite, overwrite, move]


def any_bytes(data, rng):
    return rng.choice(BYTES)(data, rng) if data else b"\0"


def json_value(value, rng):
    """Replaces a value inside a JSON document."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(sorted(value))
        if rng.random() < 0.1:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: json_value(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = rng.randrange(len(value))
        if rng.random() < 0.1:
            return value[:at] + value[at + rng.choice([0, 1, 1]) :] + value[at : at + 1]
        return [json_value(v, rng) if i == at else v for i, v in enumerate(value)]
    return rng.choice([*EXTREMES, None, True, "", "x", 1e308, -0.5, [], {}, [value], {"as_int": 1}])


def entry_of(name, data, rng):
    """Changes one entry of an archive, with a valid checksum."""
    if name.endswith(".json") and rng.random() < 0.9:
        try:
            return json.dumps(json_value(json.loads(data), rng)).encode()
        except ValueError:
            return data
    if name.endswith(".npy") and rng.random() < 0.4 and len(data) > 64:
        return overwrite(data[:128], rng)[:128] + data[128:]
    return any_bytes(data, rng)


def archive(data, rng):
    """Rewrites the archive with one changed entry and valid checksums."""
    with zipfile.ZipFile(io.BytesIO(data)) as old:
        entries = [(info.filename, old.read(info)) for info in old.infolist()]
    likely = [i for i, (name, _) in enumerate(entries) if name.endswith((".json", ".npy"))] or list(range(len(entries)))
    at = rng.choice(likely if rng.random() < 0.8 else range(len(entries)))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as new:
        for i, (name, content) in enumerate(entries):
            if i == at and rng.random() < 0.05:
                continue
            new_entry = zipfile.ZipInfo(name)  # without the time of writing
            new_entry.compress_type = new.compression
            new.writestr(new_entry, entry_of(name, content, rng) if i == at else content)
    return out.getvalue()


def npy_header(data, rng):
    """Replaces a word of the header."""
    words = [(b"False", b"True"), (b"<f4", b"<f8"), (b"<f4", b"|O8"), (b"<f4", b">f4"), (b"|i1", b"<i8"), (b"(1, ", b"(99999999999, "), (b"'shape'", b"'shape "), (b"8, 8", b"-8, 8")]  # fmt: skip
    old, new = rng.choice(words)
    changed = data.replace(old, new, 1)
    length = struct.unpack("<H", data[8:10])[0] + len(changed) - len(data)
    return changed[:8] + struct.pack("<H", max(0, length)) + changed[10:]


STRUCTURE = {"pt2": archive, "npz": archive, "npy": npy_header, "pte": overwrite, "tosa": overwrite}


def mutate(kind, data, number):
    """Mutation `number` of a file. `kind` is a key of STRUCTURE."""
    rng = random.Random(f"{kind} {number}")
    return STRUCTURE[kind](data, rng) if rng.random() < 0.6 else any_bytes(data, rng)


if __name__ == "__main__":
    kind, number, source, target = sys.argv[1:]
    Path(target).write_bytes(mutate(kind, Path(source).read_bytes(), int(number)))
