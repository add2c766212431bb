"""The kernel calls of firmware/bench on an emulated Cortex-M55 with MVE give the same bits as on this machine."""

import shutil
import subprocess
import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "bench"))
import kernels

pytestmark = pytest.mark.skipif(
    shutil.which("qemu-system-arm") is None, reason="not run: no qemu-system-arm (scripts/setup.sh --full)"
)


def test_mve_gives_the_bits_of_plain_loops(carina):
    device = kernels.measured()
    host = kernels.rows_of(
        subprocess.run([carina.parent / "kernel_digests"], capture_output=True, text=True, check=True).stdout
    )
    assert [row.kernel for row in device] == [row.kernel for row in host]
    different = [
        f"{a.kernel}, {a.name}: {a.digest}, on the host {b.digest}"
        for a, b in zip(device, host)
        if a.digest != b.digest
    ]
    assert not different, "\n".join(different)
