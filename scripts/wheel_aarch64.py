#!/usr/bin/env python3
"""Makes the wheel for 64-bit Arm, build/wheels/carina-*_aarch64.whl, from build/aarch64/release and this machine's wheel.

usage: scripts/wheel_aarch64.py

Files that do not depend on the processor (metadata, entry points, types) come from this machine's wheel. auditwheel adds the libraries that
the program links, from the sysroot. Standard library only.
"""

import base64
import hashlib
import os
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WHEELS = ROOT / "build" / "wheels"
BUILD = ROOT / "build" / "aarch64" / "release"
SYSROOT = ROOT / "build" / "aarch64" / "sysroot"
TOOLS = ROOT / "build" / "wheel-tools" / "bin"
LIBRARIES = ("lib/aarch64-linux-gnu", "usr/lib/aarch64-linux-gnu")
TAG = "cp311-cp311-linux_aarch64"  # of the sysroot's Python


def unpacked_info(own: Path, place: Path) -> Path:
    """The .dist-info of this machine's wheel, unpacked to `place`, with the tag of the new wheel."""
    with zipfile.ZipFile(own) as wheel:
        names = [name for name in wheel.namelist() if name.split("/")[0].endswith(".dist-info") and not name.endswith(("/RECORD", ".json"))]
        wheel.extractall(place, names)
    (info,) = place.glob("*.dist-info")
    lines = (info / "WHEEL").read_text().splitlines()
    (info / "WHEEL").write_text("\n".join([line for line in lines if not line.startswith("Tag:") and line] + [f"Tag: {TAG}"]) + "\n")
    return info


def packed(place: Path, info: Path) -> Path:
    """Packs the files of `place` as a wheel next to it."""
    files = sorted(path for path in place.rglob("*") if path.is_file())
    record = []
    for path in files:
        digest = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).decode().rstrip("=")
        record.append(f"{path.relative_to(place)},sha256={digest},{path.stat().st_size}")
    record.append(f"{(info / 'RECORD').relative_to(place)},,")
    (info / "RECORD").write_text("\n".join(record) + "\n")
    wheel = place.parent / f"{info.name.removesuffix('.dist-info')}-{TAG}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in [*files, info / "RECORD"]:
            archive.write(path, path.relative_to(place))
    return wheel


def with_libraries(raw: Path) -> None:
    """Adds the libraries. auditwheel names the result after the oldest Linux that it supports."""
    paths = ":".join(str(SYSROOT / folder) for folder in LIBRARIES)
    environment = {**os.environ, "PATH": f"{TOOLS}:{os.environ['PATH']}"}
    subprocess.run([TOOLS / "auditwheel", "repair", "--plat", "auto", "--ldpaths", paths, "-w", WHEELS, raw], check=True, env=environment, capture_output=True)


def main() -> None:
    for old in WHEELS.glob("*_aarch64.whl"):
        old.unlink()
    (own,) = WHEELS.glob("carina-*.whl")
    with tempfile.TemporaryDirectory(prefix="carina-wheel-") as folder:
        place = Path(folder, "files")
        subprocess.run(["cmake", "--install", BUILD, "--component", "wheel", "--prefix", place], check=True, stdout=subprocess.DEVNULL)
        for strange in place.rglob("__pycache__"):
            shutil.rmtree(strange)
        with_libraries(packed(place, unpacked_info(own, place)))
    (wheel,) = WHEELS.glob("*_aarch64.whl")
    print(f"wheel: {wheel.relative_to(ROOT)} {wheel.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
