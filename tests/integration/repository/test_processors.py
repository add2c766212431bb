"""Instructions that the program must not contain, on any processor."""

import platform
import re
import subprocess


def test_vector_code_holds_no_instruction_of_avx_vnni(carina):
    """Highway's AVX3_DL target asks the processor for AVX512-VNNI. GCC may encode its intrinsics as AVX-VNNI (VEX), which AMD's Zen 4 lacks."""
    listing = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", str(carina)], stdout=subprocess.PIPE, text=True, check=True, timeout=300
    ).stdout
    assert "vpdpbusd" in listing or platform.machine() != "x86_64", "the listing has no VNNI instruction at all"
    assert re.findall(r"^.*\{vex\}\s+vpdp.*$", listing, re.MULTILINE) == []
