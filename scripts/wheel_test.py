#!/usr/bin/env python3
"""Installs the wheel that fits in a new environment and runs models/digits there, without a compiler and without Debian's libraries.

usage: scripts/wheel_test.py [--wheels DIR] [PYTHON...]      (default: build/wheels, the interpreter that runs this)

Compared with build/release/bin/carina: the package and the wheel's program give the same bytes. The wheel has the license, the notices, and a
bill of materials that names each of its libraries. It has the firmware images of the build. Standard library only.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIGITS = ROOT / "models" / "digits"
COMPILE = [
    "compile",
    DIGITS / "digits.pt2",
    "--target",
    "ethos-u55-128",
    "--calibrate",
    DIGITS / "calibration.npz",
    "-o",
]
BUNDLED = ("libtbb", "libfmt", "libhwy", "libminizip", "libdeflate", "libinih")
# Arguments: models/digits, the program to write, the folder that the package is installed in, how many images to run.
IN_PYTHON = """
import sys, numpy, carina
digits, written, place, images = sys.argv[1:]
assert carina.__file__.startswith(place), carina.__file__
program = carina.compile(digits + "/digits.pt2", target="ethos-u55-128", calibration=numpy.load(digits + "/calibration.npz")["x"])
program.save(written)
test = numpy.load(digits + "/test.npz")
right = sum(int(program.run(x[None])[0].argmax() == y) for x, y in zip(test["x"][:int(images)], test["y"]))
assert right >= 0.96 * int(images), right
print(right, "of", images, "right; torch loaded:", "torch" in sys.modules)
"""


def sh(*command: object, **options: object) -> str:
    """Output of a command that must succeed."""
    return subprocess.run(
        [str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True, **options
    ).stdout  # type: ignore[call-overload]


def foreign_libraries(binary: Path) -> list[str]:
    """Libraries of BUNDLED that the binary would load from the system."""
    lines = sh("ldd", binary).splitlines()
    return [
        line.strip() for line in lines if any(name in line for name in BUNDLED) and ".libs/" not in line.split("=>")[-1]
    ]


def missing_licenses(site: Path) -> list[str]:
    """License files that the installed package lacks, and libraries that its bill of materials does not name. "libfmt-4f700944.so.9.1.0" is libfmt."""
    shared, info = site / "carina" / "share" / "carina", next(site.glob("carina-*.dist-info"))
    required = [info / "licenses" / "LICENSE", shared / "THIRD-PARTY-NOTICES.txt", shared / "sbom.cdx.json"]
    components = json.loads((shared / "sbom.cdx.json").read_text())["components"]
    named = {
        entry["value"].split(".so")[0]
        for component in components
        for entry in component["properties"]
        if entry["name"] == "carina:library"
    }
    bundled = {path.name.split("-")[0] for path in (site / "carina.libs").glob("*.so*")}
    return [str(path.relative_to(site)) for path in required if not path.exists()] + sorted(bundled - named)


def missing_images(own: Path, place: Path, env: dict[str, str]) -> list[str]:
    """Firmware images of the build that the package lacks. Also makes an image with a program, and copies one without."""
    built = ROOT / "build" / "release" / "share" / "carina" / "firmware"
    installed = next((own.parent / "lib").glob("python3*/site-packages")) / "carina" / "share" / "carina" / "firmware"
    missing = [path.name for path in built.glob("*.elf") if not (installed / path.name).exists()]
    if missing or not any(built.glob("*.elf")):
        return missing
    sh(own / "carina", "firmware", place / "program.pte", "-o", place / "app.elf", env=env, cwd=place)
    sh(own / "carina", "arm-build", "--pte=0x70000000", "--output", place / "empty", env=env, cwd=place)
    return [] if (place / "app.elf").stat().st_size > 100_000 else ["app.elf"]


def check(python: str, wheels: Path, place: Path) -> None:
    """Installs and runs the wheel that fits the interpreter, in an empty folder."""
    sh(python, "-m", "venv", place / "venv")
    own = place / "venv" / "bin"
    install = [
        own / "python",
        "-m",
        "pip",
        "install",
        "-q",
        "--no-input",
        "--disable-pip-version-check",
        "--only-binary=:all:",
    ]
    sh(*install, "numpy")
    sh(*install, "--no-index", "--find-links", wheels, "carina", env={**os.environ, "PIP_FIND_LINKS": ""})
    bare = {"PATH": str(own), "HOME": str(place), "LANG": "C.UTF-8"}
    assert shutil.which("g++", path=bare["PATH"]) is None
    print(sh(own / "python", "-c", IN_PYTHON, DIGITS, place / "package.pte", place, 50, env=bare, cwd=place), end="")
    sh(own / "carina", *COMPILE, place / "program.pte", env=bare, cwd=place)
    sh(ROOT / "build" / "release" / "bin" / "carina", *COMPILE, place / "tree.pte", env=os.environ)
    sums = {
        name: hashlib.sha256((place / f"{name}.pte").read_bytes()).hexdigest()[:16]
        for name in ("package", "program", "tree")
    }
    assert len(set(sums.values())) == 1, sums
    (site,) = (place / "venv" / "lib").glob("python3*/site-packages")
    installed = site / "carina"
    foreign = [
        line
        for binary in (next(installed.glob("_native.*so")), installed / "bin" / "carina")
        for line in foreign_libraries(binary)
    ]
    assert not foreign, foreign
    assert not (missing := missing_licenses(site)), missing
    assert not (missing := missing_images(own, place, bare)), missing
    tag = next(
        line for line in next(site.glob("carina-*.dist-info/WHEEL")).read_text().splitlines() if line.startswith("Tag:")
    )
    print(f"{sh(python, '-V').strip()}: {tag}; {sums}")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--wheels", type=Path, default=ROOT / "build" / "wheels")
    parser.add_argument("pythons", nargs="*", default=[sys.executable])
    options = parser.parse_args()
    for python in options.pythons:
        with tempfile.TemporaryDirectory(prefix="carina-wheel-") as folder:
            check(python, options.wheels.resolve(), Path(folder))
    print(f"{len(options.pythons)} passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
