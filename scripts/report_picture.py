#!/usr/bin/env python3
"""Draws docs/report.png, the picture of the README: the top of the page that `carina compile --report` writes for models/digits.
It needs `make build`, and Chromium (scripts/setup.sh --full)."""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIGITS = ROOT / "models" / "digits"
SIZE = "1200,900"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "output",
        nargs="?",
        type=Path,
        default=ROOT / "docs" / "report.png",
        help="The .png to write; default: docs/report.png",
    )
    output = options.parse_args().output.resolve()
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        sys.exit("report_picture: no Chromium in PATH (scripts/setup.sh --full)")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        words = ["compile", DIGITS / "digits.pt2", "-t", "ethos-u55-128", "--calibrate", DIGITS / "calibration.npz"]
        carina = ROOT / "build" / "release" / "bin" / "carina"
        subprocess.run(
            [carina, *words, "--report", page, "-o", Path(folder) / "digits.pte"],
            check=True,
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
        )
        words = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--window-size={SIZE}",
            "--virtual-time-budget=5000",
            f"--user-data-dir={folder}/profile",
        ]
        subprocess.run([browser, *words, f"--screenshot={output}", page.as_uri()], check=True, capture_output=True)
    print(f"report_picture: {output}, {output.stat().st_size // 1000} KB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
