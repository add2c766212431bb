#!/usr/bin/env python3
"""Tests the wheels for 64-bit Arm under qemu-user: their program and their modules give the bytes that this machine's program gives.

usage: scripts/aarch64_test.py [--wheels DIR] [MODEL.pt2 ...]      (default: build/wheels, models/digits for three NPUs and schemes)

The wheel that fits is installed, with NumPy from PyPI, for each Python of build/aarch64/*/usr/bin (scripts/sysroot.sh), and compiles and
runs models/digits there. The module of a wheel for another Python needs what the module for this machine and the same Python needs
(scripts/wheel_test.py runs that one). Needs build/release, the wheels of scripts/wheel.sh --aarch64 and qemu-aarch64. Standard library only.
"""

import argparse
import re
import subprocess
import tempfile
import zipfile
from pathlib import Path

from wheel_test import COMPILE, IN_PYTHON, missing_licenses

ROOT = Path(__file__).resolve().parent.parent
DIGITS = ROOT / "models" / "digits"
HERE = [ROOT / "build" / "release" / "bin" / "carina"]
ROOTS = ROOT / "build" / "aarch64"
PIP = [
    "install",
    "-q",
    "--no-input",
    "--no-compile",
    "--disable-pip-version-check",
    "--root-user-action=ignore",
    "--only-binary=:all:",
]
PLATFORMS = [f"--platform=manylinux_2_{minor}_aarch64" for minor in range(17, 37)]  # Debian 12 has glibc 2.36
CALIBRATED = ["--calibrate", DIGITS / "calibration.npz"]
CASES = (
    [DIGITS / "digits.pt2", "--target", "ethos-u55-128", *CALIBRATED],
    [DIGITS / "digits.pt2", "--target", "ethos-u85-256", "--quantize", "int16x8", *CALIBRATED],
    [DIGITS / "digits.pt2", "--target", "ethos-u65-512", "-Os", *CALIBRATED],
)


def sh(*words: object, **options: object) -> bytes:
    """Output of a command that must succeed."""
    return subprocess.run([str(word) for word in words], check=True, stdout=subprocess.PIPE, **options).stdout  # type: ignore[call-overload]


def emulator(root: Path) -> list[object]:
    return ["qemu-aarch64", "-L", root]


def made_by(program: list[object], case: list[object], folder: Path) -> dict[str, bytes]:
    """The files of compiling and simulating: the program, its outputs, the report of cycles."""
    folder.mkdir()
    sh(*program, "compile", *case, "-o", "model.pte", cwd=folder)
    report = sh(*program, "run", "model.pte", "-o", ".", "--timed", "--json", cwd=folder)
    return {
        "program": (folder / "model.pte").read_bytes(),
        "output": (folder / "output_0.npy").read_bytes(),
        "report": report,
    }


def check_program(wheels: list[Path], models: list[Path]) -> None:
    """The wheels' program is one program, and does all cases as this machine's program."""
    programs = {zipfile.ZipFile(wheel).read("carina/bin/carina") for wheel in wheels}
    assert len(programs) == 1, f"{len(programs)} different programs in {len(wheels)} wheels"
    cases = [[model.resolve(), "--target", "ethos-u55-128"] for model in models] or list(CASES)
    with tempfile.TemporaryDirectory(prefix="carina-aarch64-") as folder:
        zipfile.ZipFile(wheels[0]).extractall(folder)
        program = Path(folder, "carina", "bin", "carina")
        program.chmod(0o755)
        for number, case in enumerate(cases):
            here = made_by(HERE, case, Path(folder, f"here{number}"))
            there = made_by([*emulator(ROOTS / "sysroot"), program], case, Path(folder, f"there{number}"))
            words = " ".join(Path(str(word)).name for word in case)
            assert here == there, f"{words}: different: {', '.join(name for name in here if here[name] != there[name])}"
            print(f"{words}: same bytes", flush=True)


def check_package(python: Path, wheels: Path, folder: Path) -> None:
    """Installs the wheel that fits the interpreter, and compiles and runs a model with its module."""
    version = python.name.removeprefix("python")
    fits = [
        f"--python-version={version}",
        "--implementation=cp",
        f"--abi=cp{version.replace('.', '')}",
        "--abi=abi3",
        "--abi=none",
        *PLATFORMS,
    ]
    (pip, *_) = sorted((ROOT / "build").glob("wheel-tools*/bin/python"))
    site = folder / "site"
    for words in (["numpy"], ["--upgrade", "--no-index", "--no-deps", "--find-links", wheels, "carina"]):
        sh(pip, "-m", "pip", *PIP, *fits, "--target", site, *words)
    said = sh(
        *emulator(python.parents[2]),
        "-E",
        f"PYTHONPATH={site}",
        python,
        "-c",
        IN_PYTHON,
        DIGITS,
        folder / "there.pte",
        site,
        5,
        cwd=folder,
    )
    sh(*HERE, *COMPILE, folder / "here.pte")
    assert (folder / "there.pte").read_bytes() == (folder / "here.pte").read_bytes(), (
        "another program than this machine's"
    )
    assert not (missing := missing_licenses(site)), missing
    tag = next(
        line for line in next(site.glob("carina-*.dist-info/WHEEL")).read_text().splitlines() if line.startswith("Tag:")
    )
    print(f"Python {version}: {tag}; same bytes; {said.decode().strip()}", flush=True)


def names_of_python(wheel: Path, folder: Path) -> set[str]:
    """What the module takes from the interpreter."""
    (module,) = [name for name in zipfile.ZipFile(wheel).namelist() if re.fullmatch(r"carina/_native\..*so", name)]
    listing = sh("nm", "-D", "--undefined-only", zipfile.ZipFile(wheel).extract(module, folder)).decode()
    return set(re.findall(r"\b_?Py\w+", listing))


def check_names(wheel: Path) -> None:
    (twin,) = [other for other in wheel.parent.glob("-".join(wheel.name.split("-")[:4]) + "-*.whl") if other != wheel]
    with tempfile.TemporaryDirectory(prefix="carina-aarch64-") as folder:
        here, there = (names_of_python(each, Path(folder)) for each in (twin, wheel))
    assert here == there, here ^ there
    print(f"{wheel.name}: takes {len(there)} names from Python, as the wheel for this machine")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--wheels", type=Path, default=ROOT / "build" / "wheels")
    parser.add_argument("models", nargs="*", type=Path)
    options = parser.parse_args()
    wheels = sorted(options.wheels.resolve().glob("*_aarch64.whl"))
    pythons = sorted(ROOTS.glob("*/usr/bin/python3.[0-9]*"))
    check_program(wheels, options.models)
    for python in pythons:
        with tempfile.TemporaryDirectory(prefix="carina-aarch64-") as folder:
            check_package(python, wheels[0].parent, Path(folder))
    for wheel in wheels:
        check_names(wheel)
    print(f"{1 + len(pythons) + len(wheels)} passed, 0 failed")


if __name__ == "__main__":
    main()
