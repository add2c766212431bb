"""Images for other CPUs. The Cortex-M85 image is checked in Corstone-320's memory map by its link map, and runs on the emulated Cortex-M55
with the map of Corstone-300. For the other CPUs of the Arm backend's documents, the images compile and link."""

import re
import shutil
import subprocess

import numpy as np
import pytest
from conftest import ROOT

pytestmark = pytest.mark.long  # each CPU needs its own build of the runtime


@pytest.fixture(scope="module", autouse=True)
def cross_compiler():
    assert shutil.which("arm-none-eabi-g++"), "scripts/setup.sh --full installs the compiler"


def build(cpu, *targets):
    """The build folder of a CPU. It is kept between runs."""
    folder = ROOT / "build" / cpu.replace("cortex-m", "m")
    configure = [
        "cmake",
        "-S",
        ROOT,
        "-B",
        folder,
        "-G",
        "Ninja",
        f"-DCMAKE_TOOLCHAIN_FILE={ROOT / 'cmake' / 'm55.cmake'}",
        f"-DCARINA_CPU={cpu}",
    ]
    configure += ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-Os -DNDEBUG", "-DCARINA_FIRMWARE=ON"]
    for command in (configure, ["cmake", "--build", folder, "-j2", "--target", *targets]):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    return folder


def tool(name, *arguments):
    return subprocess.run(
        [f"arm-none-eabi-{name}", *map(str, arguments)], capture_output=True, text=True, check=True
    ).stdout


def image_in(folder, name):
    (found,) = folder.rglob(f"{name}.elf")
    return found


def attribute(elf, name):
    return re.search(rf"{name}: (.*)", tool("readelf", "-A", elf)).group(1).strip('"')


def symbols(elf):
    return {
        name: int(address, 16)
        for address, _, name in re.findall(r"^([0-9a-f]{8}) (\w) (\S+)$", tool("nm", elf), flags=re.MULTILINE)
    }


@pytest.fixture(scope="module")
def m85():
    return build("cortex-m85", "corstone300-host", "corstone320-host")


# Source: the memory map of Arm's FVP of Corstone-320, from ExecuTorch's Corstone-320.ld.
PLACES = {
    "vectors": (0x11000000, 0x20000),
    "text": (0x12000000, 0x200000),
    "data": (0x31000000, 0x400000),
    "bss": (0x31000000, 0x400000),
}


def test_corstone_320_has_its_memory_map(m85):
    elf = image_in(m85, "corstone320-host")
    assert attribute(elf, "Tag_CPU_name") in ("cortex-m85", "8.1-M.MAIN"), tool("readelf", "-A", elf)
    assert "v8.1-M" in attribute(elf, "Tag_CPU_arch")
    sections = {
        name: (int(address, 16), int(size, 16))
        for name, address, size in re.findall(
            r"\]\s+\.(\w+)\s+\w+\s+([0-9a-f]{8}) [0-9a-f]{6,8} ([0-9a-f]{6})", tool("readelf", "-SW", elf)
        )
    }
    for name, (first, size) in PLACES.items():
        address, bytes_used = sections[name]
        assert first <= address and address + bytes_used <= first + size, f"{name} at {address:#x}"
    found = symbols(elf)
    assert sections["vectors"][0] == 0x11000000
    assert found["reset_handler"] & ~1 in range(0x12000000, 0x12200000)
    assert found["__model_start"] == 0x78000000 and found["__pools_start"] in range(0x70000000, 0x78000000)
    assert found["__stack_top"] in range(0x31000000, 0x31400001)
    (link_map,) = m85.rglob("corstone320-host.map")
    assert re.search(r"^CODE\s+0x0*12000000\s+0x0*200000", link_map.read_text(), flags=re.MULTILINE)


def test_code_of_a_cortex_m85_gives_the_host_s_bytes(m85, run_carina, tmp_path):
    """Runs on the emulated Cortex-M55 with the map of Corstone-300 and a simulated Ethos-U85."""
    data = np.load(ROOT / "models" / "digits" / "test.npz")
    np.save(tmp_path / "x.npy", data["x"][:1])
    options = ["--calibrate", ROOT / "models" / "digits" / "calibration.npz", "-t", "ethos-u85-256"]
    run_carina(["compile", ROOT / "models" / "digits" / "digits.pt2", *options, "-o", tmp_path / "d.pte"])
    run_carina(["firmware", tmp_path / "d.pte", "--image", image_in(m85, "corstone300-host"), "-o", tmp_path / "a.elf"])
    run_carina(["qemu", tmp_path / "a.elf", "-i", tmp_path / "x.npy", "-o", tmp_path / "device"])
    run_carina(["run", tmp_path / "d.pte", "-i", tmp_path / "x.npy", "-o", tmp_path / "host"])
    assert (tmp_path / "device" / "output_0.npy").read_bytes() == (tmp_path / "host" / "output_0.npy").read_bytes()


def test_an_image_of_corstone_320_takes_a_program(m85, run_carina, tmp_path):
    data = ROOT / "models" / "digits"
    run_carina(
        [
            "compile",
            data / "digits.pt2",
            "--calibrate",
            data / "calibration.npz",
            "-t",
            "ethos-u85-256",
            "-o",
            tmp_path / "d.pte",
        ]
    )
    run_carina(["firmware", tmp_path / "d.pte", "--image", image_in(m85, "corstone320-host"), "-o", tmp_path / "a.elf"])
    headers = tool("readelf", "-lW", tmp_path / "a.elf")
    assert re.search(r"LOAD\s+0x[0-9a-f]+ 0x78000000", headers), headers


@pytest.mark.parametrize(
    ("cpu", "architecture"), [("cortex-m0plus", "v6S-M"), ("cortex-m4", "v7E-M"), ("cortex-m33", "v8-M.mainline")]
)
def test_other_cpus_compile_and_link(cpu, architecture):
    elf = image_in(build(cpu, "corstone300-host"), "corstone300-host")
    assert symbols(elf)["__model_start"] == 0x70000000
    assert attribute(elf, "Tag_CPU_arch") == architecture
