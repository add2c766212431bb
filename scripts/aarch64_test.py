#!/usr/bin/env python3
"""Compares the wheel's program for 64-bit Arm (under qemu-user) with the program for this machine: same programs, same outputs.

usage: scripts/aarch64_test.py [MODEL.pt2 ...]      (default: models/digits for three NPUs and schemes)

Needs build/release, the wheel of scripts/wheel_aarch64.py and qemu-aarch64 (qemu-user). Standard library only.
"""

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIGITS = ROOT / "models" / "digits"
HERE = [ROOT / "build" / "release" / "bin" / "carina"]
EMULATOR = ["qemu-aarch64", "-L", ROOT / "build" / "aarch64" / "sysroot"]
CALIBRATED = ["--calibrate", DIGITS / "calibration.npz"]
CASES = (
    [DIGITS / "digits.pt2", "--target", "ethos-u55-128", *CALIBRATED],
    [DIGITS / "digits.pt2", "--target", "ethos-u85-256", "--quantize", "int16x8", *CALIBRATED],
    [DIGITS / "digits.pt2", "--target", "ethos-u65-512", "-Os", *CALIBRATED],
)


def made_by(program: list[object], case: list[object], folder: Path) -> dict[str, bytes]:
    """The files of compiling and simulating: the program, its outputs, the report of cycles."""
    folder.mkdir()

    def run(*words: object) -> bytes:
        return subprocess.run([str(word) for word in (*program, *words)], check=True, capture_output=True, cwd=folder).stdout

    run("compile", *case, "-o", "model.pte")
    report = run("run", "model.pte", "-o", ".", "--timed", "--json")
    return {"program": (folder / "model.pte").read_bytes(), "output": (folder / "output_0.npy").read_bytes(), "report": report}


def unpacked(folder: str) -> list[object]:
    """The command that runs the wheel's program."""
    (wheel,) = (ROOT / "build" / "wheels").glob("*_aarch64.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    program = Path(folder, "carina", "bin", "carina")
    program.chmod(0o755)
    return [*EMULATOR, program]


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="carina-aarch64-") as folder:
        return compared(unpacked(folder))


def compared(there_program: list[object]) -> int:
    cases = [[Path(model).resolve(), "--target", "ethos-u55-128"] for model in sys.argv[1:]] or list(CASES)
    failed = 0
    for number, case in enumerate(cases):
        with tempfile.TemporaryDirectory(prefix="carina-aarch64-") as folder:
            here, there = (made_by(program, case, Path(folder, name)) for program, name in ((HERE, "here"), (there_program, "there")))
        different = [name for name, content in here.items() if content != there[name]]
        failed += bool(different)
        print(f"{number}: {' '.join(Path(str(word)).name for word in case)}: {'DIFFERENT ' + ', '.join(different) if different else 'same bytes'}", flush=True)
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
