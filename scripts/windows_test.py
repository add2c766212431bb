#!/usr/bin/env python3
"""Compares the program for Windows (preset `windows`, under Wine) with the program for this machine: same programs, same outputs.

usage: scripts/windows_test.py [MODEL ...]      (.pt2 or .tosa; default: models/digits for three NPUs and schemes)

Needs build/release, build/windows and wine. Standard library only.
"""

import os
import sys

from aarch64_test import ROOT, compared

if __name__ == "__main__":
    os.environ["WINEDEBUG"] = "-all"
    sys.exit(compared(["wine", ROOT / "build" / "windows" / "bin" / "carina.exe"]))
