#!/usr/bin/env python3
"""Installs the wheel of `make wheel` in a new environment and runs models/digits there, without a compiler and without Debian's libraries.

usage: scripts/wheel_test.py [PYTHON]      (default: the interpreter that runs this)

Compared with build/release/bin/carina: the package and the wheel's program give the same bytes. Standard library only.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIGITS = ROOT / "models" / "digits"
COMPILE = ["compile", DIGITS / "digits.pt2", "--target", "ethos-u55-128", "--calibrate", DIGITS / "calibration.npz", "-o"]
BUNDLED = ("libtbb", "libfmt", "libhwy", "libminizip", "libdeflate", "libinih")
IN_PYTHON = """
import sys, numpy, carina
assert carina.__file__.startswith(sys.prefix), carina.__file__
digits = sys.argv[1]
program = carina.compile(digits + "/digits.pt2", target="ethos-u55-128", calibration=numpy.load(digits + "/calibration.npz")["x"])
program.save(sys.argv[2])
test = numpy.load(digits + "/test.npz")
right = sum(int(program.run(x[None])[0].argmax() == y) for x, y in zip(test["x"][:50], test["y"]))
assert right >= 48, right
print(right, "of 50 right; torch loaded:", "torch" in sys.modules)
"""


def sh(*command: object, **options: object) -> str:
    """Output of a command that must succeed."""
    return subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True, **options).stdout  # type: ignore[call-overload]


def foreign_libraries(binary: Path) -> list[str]:
    """Libraries of BUNDLED that the binary would load from the system."""
    lines = sh("ldd", binary).splitlines()
    return [line.strip() for line in lines if any(name in line for name in BUNDLED) and ".libs/" not in line.split("=>")[-1]]


def main() -> int:
    python = sys.argv[1] if len(sys.argv) > 1 else sys.executable
    (wheel,) = (ROOT / "build" / "wheels").glob("carina-*.whl")
    with tempfile.TemporaryDirectory(prefix="carina-wheel-") as folder:
        place = Path(folder)
        sh(python, "-m", "venv", place / "venv")
        own = place / "venv" / "bin"
        sh(own / "python", "-m", "pip", "install", "-q", "--no-input", "--disable-pip-version-check", "--only-binary=:all:", wheel)
        bare = {"PATH": str(own), "HOME": folder, "LANG": "C.UTF-8"}
        assert shutil.which("g++", path=bare["PATH"]) is None
        print(sh(own / "python", "-c", IN_PYTHON, DIGITS, place / "package.pte", env=bare, cwd=folder), end="")
        sh(own / "carina", *COMPILE, place / "program.pte", env=bare, cwd=folder)
        sh(ROOT / "build" / "release" / "bin" / "carina", *COMPILE, place / "tree.pte", env=os.environ)
        sums = {name: hashlib.sha256((place / f"{name}.pte").read_bytes()).hexdigest()[:16] for name in ("package", "program", "tree")}
        print(wheel.name, f"{wheel.stat().st_size:,} bytes;", sums)
        assert len(set(sums.values())) == 1, sums
        installed = next((place / "venv" / "lib").glob("python3*/site-packages/carina"))
        foreign = [line for binary in (next(installed.glob("_native.*so")), installed / "bin" / "carina") for line in foreign_libraries(binary)]
        assert not foreign, foreign
    print("1 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
