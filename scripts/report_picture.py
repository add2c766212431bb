#!/usr/bin/env python3
"""Draws docs/report.png, the picture of the README: the top of the page that `carina compile --report` writes for models/digits.

usage: scripts/report_picture.py [OUTPUT.png]      (needs make build, and Chromium: scripts/setup.sh --full)
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIGITS = ROOT / "models" / "digits"
SIZE = "1200,900"


def main() -> int:
    output = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs" / "report.png").resolve()
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if browser is None:
        sys.exit("report_picture: no Chromium in PATH (scripts/setup.sh --full)")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        words = ["compile", DIGITS / "digits.pt2", "-t", "ethos-u55-128", "--calibrate", DIGITS / "calibration.npz"]
        carina = ROOT / "build" / "release" / "bin" / "carina"
        subprocess.run([carina, *words, "--report", page, "-o", Path(folder) / "digits.pte"], check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={SIZE}", "--virtual-time-budget=5000", f"--user-data-dir={folder}/profile"]
        subprocess.run([browser, *options, f"--screenshot={output}", page.as_uri()], check=True, capture_output=True)
    print(f"report_picture: {output}, {output.stat().st_size // 1000} KB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
