"""Builds and runs docs/guide/own-main.md as printed."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "guide" / "own-main.md"

pytestmark = [
    pytest.mark.skipif(shutil.which("qemu-system-arm") is None, reason="not run: no qemu-system-arm (scripts/setup.sh --full)"),
    pytest.mark.skipif(
        shutil.which("arm-none-eabi-g++") is None, reason="not run: no arm-none-eabi-g++ (scripts/setup.sh --full)"
    ),
]


def block(language: str) -> str:
    found = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert len(found) == 1, f"{PAGE}: {len(found)} blocks of {language}"
    return found[0]


def test_the_page_builds_and_runs_as_printed(carina, tmp_path):
    (tmp_path / "board.ld").write_text(block("ld"))
    (tmp_path / "main.cpp").write_text(block("cpp"))
    environment = {
        **os.environ,
        "CARINA": str(ROOT),
        "FIRMWARE": os.environ["CARINA_FIRMWARE"],
        "PATH": f"{Path(carina).parent}:{os.environ['PATH']}",
    }
    done = subprocess.run(
        ["sh", "-e", "-c", block("sh")], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    # QEMU writes the semihosting console to stderr.
    assert "it is a 1" in done.stderr.splitlines()
    assert "warning" not in done.stderr
