"""Programs as firmware of an emulated Cortex-M55: the outputs of a host run, the log of ExecuTorch's runner, and the device's messages
about errors. The NPU is simulated by the host or in the image."""

import os
import re
import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np
import operator_graphs
import pytest
import torch
from test_bundled_programs import events_of

ROOT = Path(__file__).resolve().parents[3]
DIGITS = ROOT / "models" / "digits"
IMAGES = Path(os.environ["CARINA_FIRMWARE"])
HOST, IMAGE, FLASH = "corstone300-host", "corstone300-image", "corstone300-flash"

pytestmark = [
    pytest.mark.skipif(
        shutil.which("qemu-system-arm") is None, reason="not run: no qemu-system-arm (scripts/setup.sh --full)"
    ),
    pytest.mark.skipif(
        shutil.which("arm-none-eabi-g++") is None, reason="not run: no arm-none-eabi-g++ (scripts/setup.sh --full)"
    ),
]


@pytest.fixture(scope="session", autouse=True)
def images():
    assert (IMAGES / f"{HOST}.elf").exists(), f"no firmware images in {IMAGES}: run `make build`"
    os.environ["CARINA_FIRMWARE"] = str(IMAGES)


@pytest.fixture(scope="session")
def digits(run_carina, tmp_path_factory):
    """digits(target) -> (its .pte, an input)."""
    folder = tmp_path_factory.mktemp("digits")
    image = folder / "image.npy"
    np.save(image, np.load(DIGITS / "test.npz")["x"][:1])

    def make(target="ethos-u55-128", *options):
        pte = folder / f"{target}{''.join(options)}.pte"
        if not pte.exists():
            run_carina(
                [
                    "compile",
                    DIGITS / "digits.pt2",
                    "--calibrate",
                    DIGITS / "calibration.npz",
                    "-t",
                    target,
                    "-o",
                    pte,
                    *options,
                ]
            )
        return pte, image

    return make


@pytest.fixture
def firmware(run_carina, tmp_path):
    def make(pte, image=HOST, *options):
        elf = tmp_path / f"{image}.elf"
        run_carina(["firmware", pte, "--image", image, "-o", elf, *options])
        return elf

    return make


@pytest.fixture
def same_bytes(run_carina, firmware, tmp_path):
    """Runs a program on the host and as firmware, and checks that the output files are equal."""

    def check(pte, image, sample):
        run_carina(["run", pte, "--portable-kernels", "-i", sample, "-o", tmp_path / "host"])
        log = run_carina(["qemu", firmware(pte, image), "-i", sample, "-o", tmp_path / "device"]).stdout
        names = sorted(p.name for p in (tmp_path / "host").iterdir())
        assert names and names == sorted(p.name for p in (tmp_path / "device").iterdir())
        for name in names:
            assert (tmp_path / "host" / name).read_bytes() == (tmp_path / "device" / name).read_bytes(), name
        return log

    return check


@pytest.mark.parametrize("image", [HOST, IMAGE, FLASH])
def test_digits_gives_the_host_s_bytes(digits, same_bytes, image):
    pte, sample = digits()
    assert "NPU delegations: 1 (1.00 per inference)" in same_bytes(pte, image, sample)


@pytest.mark.parametrize("target", ["ethos-u65-256", "ethos-u85-256"])
def test_other_npus_beside_the_image(digits, same_bytes, target):
    pte, sample = digits(target)
    same_bytes(pte, HOST, sample)


@pytest.mark.parametrize("image", [HOST, IMAGE])
def test_digits_without_npu(digits, same_bytes, image):
    pte, sample = digits("ethos-u55-128", "--no-delegate")
    assert "NPU delegations: 0 (0.00 per inference)" in same_bytes(pte, image, sample)


@pytest.mark.cases("kws", "lstm", "ds_cnn", "resnet8", "softmax", either=True)
@pytest.mark.parametrize("image", [HOST, IMAGE])
def test_case_gives_the_host_s_bytes(case, run_carina, same_bytes, tmp_path, image):
    pte = tmp_path / "model.pte"
    run_carina(["compile", case.path / "model_int8.pt2", "-t", "ethos-u55-128", "-o", pte])
    same_bytes(pte, image, case.path / "input_0.npy")


@pytest.mark.cases("mobilenet_v2", either=True)
def test_mobilenet_gives_the_host_s_bytes(case, run_carina, same_bytes, tmp_path):
    pte = tmp_path / "model.pte"
    run_carina(["compile", case.path / "model_int8.pt2", "-t", "ethos-u55-128", "-o", pte])
    same_bytes(pte, HOST, case.path / "input_0.npy")


@pytest.mark.cases("kws", either=True)
@pytest.mark.parametrize("model", ["model.pt2", "model_int8.pt2"])
def test_kws_undelegated(case, run_carina, same_bytes, tmp_path, model):
    pte = tmp_path / "model.pte"
    run_carina(["compile", case.path / model, "-t", "ethos-u55-128", "--no-delegate", "-o", pte])
    same_bytes(pte, HOST, case.path / "input_0.npy")


def test_the_peer_s_program(cases_folder, same_bytes):
    folder = cases_folder / "kws"
    same_bytes(folder / "ethos-u55-128" / "model.pte", HOST, folder / "input_0.npy")


FAMILY = "ethos-u55"  # the family of the simulator in the image
ROWS = [row for row in operator_graphs.ROWS if FAMILY in row.families]
PARTS = 4  # each part is a test of its own
SEED = int(os.environ.get("SEED", "0"))


@pytest.mark.parametrize("part", range(PARTS))
def test_every_operator_in_the_image(part, run_carina, firmware, tmp_path):
    """Compares the simulator in the image with the host's, which test_plan.py compares with the reference model."""
    for number, row in list(enumerate(ROWS))[part::PARTS]:
        config = f"{FAMILY}-{(32, 64, 128, 256)[number % 4]}"
        sample = operator_graphs.generate(row, SEED, config)
        folder = tmp_path / f"{number}_{row.name}"
        folder.mkdir()
        (folder / "model.tosa").write_bytes(sample.tosa)
        run_carina(["compile", folder / "model.tosa", "-t", config, "-o", folder / "model.pte"])
        inputs = []
        for i, array in enumerate(sample.inputs):
            np.save(folder / f"in{i}.npy", np.ascontiguousarray(array))
            inputs += ["-i", folder / f"in{i}.npy"]
        run_carina(["run", folder / "model.pte", *inputs, "-o", folder / "host"])
        run_carina(["qemu", firmware(folder / "model.pte", IMAGE), *inputs, "-o", folder / "device"])
        for output in (folder / "host").iterdir():
            assert output.read_bytes() == (folder / "device" / output.name).read_bytes(), (
                f"{row.name}, {config}, {output.name}"
            )


# --- the log -------------------------------------------------------------------------------------------------------

LOG = [
    r"PTE @ 0x70000040 \[----ET12\]",
    r"PTE Model data loaded\. Size: \d+ bytes\.",
    r"Model buffer loaded, has 1 methods",
    r"Running method forward",
    r"Setup Method allocator pool\. Size: \d+ bytes\.",
    r"Setting up planned buffer 0, size \d+\.",
    r"Loading method\.",
    r"Method 'forward' loaded\.",
    r"Preparing inputs\.\.\.",
    r"Input prepared\.",
    r"Starting running 3 inferences\.\.\.",
    r"3 inferences finished",
    r"NPU Inferences : 3",
    r"NPU delegations: 3 \(1\.00 per inference\)",
    r"Profiler report, CPU cycles per operator:",
    r"quantized_decomposed::quantize_per_tensor\.out : cycle_cnt : \d+ cycles \(\d+\.\d\d per inference\)",
    r"quantized_decomposed::dequantize_per_tensor\.out : cycle_cnt : \d+ cycles \(\d+\.\d\d per inference\)",
    r"ethos-u : cycle_cnt : (\d+) cycles \(\d+\.\d\d per inference\)",
    r"Operator\(s\) total : \d+ CPU cycles \(\d+\.\d\d per inference\)",
    r"Inference runtime : (\d+) CPU cycles total \(\d+\.\d\d per inference\)",
    r"NOTE: CPU cycles are an estimate: QEMU counts instructions, not what they cost",
    r"NOTE: the ratios assume that CPU and NPU run at the same frequency",
    r"Inference CPU ratio: \d+\.\d\d %",
    r"Inference NPU ratio: \d+\.\d\d %",
    r"cpu_wait_for_npu_cntr : \d+ CPU cycles \(\d+\.\d\d per inference\)",
    r"Ethos-U PMU report:",
    r"ethosu_pmu_cycle_cntr : (\d+)",
    r"ethosu_pmu_cntr0 : (\d+)",
    r"ethosu_pmu_cntr1 : (\d+)",
    r"ethosu_pmu_cntr2 : (\d+)",
    r"ethosu_pmu_cntr3 : (\d+)",
    r"Ethos-U PMU Events:\[ETHOSU_PMU_AXI0_RD_DATA_BEAT_RECEIVED, ETHOSU_PMU_AXI1_RD_DATA_BEAT_RECEIVED, ETHOSU_PMU_AXI0_WR_DATA_BEAT_WRITTEN, ETHOSU_PMU_NPU_IDLE\]",
    r"model_pte_program_size:     (\d+) bytes",
    r"model_pte_loaded_size:      (\d+) bytes",
    r"method_allocator_used:      (\d+) / \d+  free: \d+ \( used: \d+ % \)",
    r"method_allocator_planned:   (\d+) bytes",
    r"method_allocator_loaded:    (\d+) bytes",
    r"method_allocator_input:     (\d+) bytes",
    r"method_allocator_executor:  (\d+) bytes",
    r"temp_allocator:             (\d+) / \d+  free: \d+ \( used: \d+ % \)",
    r"stack:                      (\d+) / \d+  free: \d+ \( used: \d+ % \)",
    r"1 outputs:",
]


def test_the_log_is_that_of_executorch_s_runner(digits, firmware, run_carina):
    pte, sample = digits()
    timed = run_carina(["run", pte, "-i", sample, "--timed", "--json"]).json
    log = run_carina(["qemu", firmware(pte), "-i", sample, "-n", 3, "--json"]).json["console"]
    lines = [line.removeprefix("I [carina] ") for line in log]
    found = [re.fullmatch(pattern, line) for pattern, line in zip(LOG, lines)]
    assert all(found), [(pattern, line) for pattern, line, match in zip(LOG, lines, found) if not match]
    values = {pattern: int(match[1]) for pattern, match in zip(LOG, found) if match.lastindex}
    # The NPU's figures are three times those of a timed run on the host.
    assert values[r"ethosu_pmu_cycle_cntr : (\d+)"] == 3 * timed["npu"]["cycles"]
    events = ["AXI0_RD_DATA_BEAT_RECEIVED", "AXI1_RD_DATA_BEAT_RECEIVED", "AXI0_WR_DATA_BEAT_WRITTEN", "NPU_IDLE"]
    for i, event in enumerate(events):
        assert values[rf"ethosu_pmu_cntr{i} : (\d+)"] == 3 * timed["npu"]["pmu"].get(event, 0), event
    # The program's figures equal the host's, except that tables of pointers are half as large.
    assert values[r"model_pte_loaded_size:      (\d+) bytes"] == timed["memory"]["model_pte_loaded_size"]
    assert (
        values[r"temp_allocator:             (\d+) / \d+  free: \d+ \( used: \d+ % \)"]
        == timed["memory"]["temp_allocator"]
    )
    assert 0 < values[r"stack:                      (\d+) / \d+  free: \d+ \( used: \d+ % \)"] < 8192
    outputs = lines[len(LOG) :]
    assert [line.split(":")[0] for line in outputs[:-2]] == [f"Output[0][{i}]" for i in range(10)]
    assert all(re.fullmatch(r"Output\[0\]\[\d\]: \(float\) -?\d+\.\d{6}", line) for line in outputs[:-2])
    assert outputs[-2:] == ["Model run: 1", "Program complete, exiting."]


def test_records_of_a_run_in_the_image(digits, firmware, run_carina, tmp_path):
    """The layers of the NPU are those of a run on the host, and the times of kernels those of the console."""
    pte, sample = digits()
    image = firmware(pte)
    run_carina(["run", pte, "-i", sample, "--timed", "--per-layer", tmp_path / "host.csv", "-o", tmp_path / "host"])
    words = [
        "-i",
        sample,
        "-n",
        2,
        "--per-layer",
        tmp_path / "device.csv",
        "--etdump",
        tmp_path / "run.etdp",
        "-o",
        tmp_path / "device",
    ]
    console = run_carina(["qemu", image, *words, "--json"]).json["console"]
    assert (tmp_path / "device.csv").read_text() == (tmp_path / "host.csv").read_text()
    events = events_of(tmp_path / "run.etdp")
    kernels = [re.search(r"::(\S+) : cycle_cnt : (\d+) cycles", line) for line in console]
    expected = {f"native_call_{found[1]}": int(found[2]) / 2 * 1e9 / 500e6 for found in kernels if found}
    assert len(expected) == 2
    for name, nanoseconds in expected.items():
        (event,) = (event for event in events if event.name == name)
        assert event.perf_data.raw[0] == pytest.approx(nanoseconds, abs=2)
    cycles = next(int(line.split(" : ")[1]) for line in console if "ethosu_pmu_cycle_cntr" in line)
    (call,) = (event for event in events if event.name == "DELEGATE_CALL")
    assert call.perf_data.raw[0] == pytest.approx(cycles / 2 * 2, abs=2)
    assert sum(event.is_delegated_op for event in events) == len((tmp_path / "host.csv").read_text().splitlines()) - 1
    untimed = run_carina(["qemu", image, "-i", sample, "--no-cycles", "-o", tmp_path / "untimed"]).stdout
    assert "ethosu_pmu_cycle_cntr : 0" in untimed
    outputs = [(tmp_path / folder / "output_0.npy").read_bytes() for folder in ("host", "device", "untimed")]
    assert outputs[0] == outputs[1] == outputs[2]
    run_carina(
        [
            "run",
            pte,
            "--on",
            "qemu",
            "-i",
            sample,
            "--etdump",
            tmp_path / "of_run.etdp",
            "--per-layer",
            tmp_path / "of_run.csv",
        ]
    )
    assert (tmp_path / "of_run.csv").read_text() == (tmp_path / "host.csv").read_text()
    assert [event.name for event in events_of(tmp_path / "of_run.etdp")] == [event.name for event in events]


def test_two_runs_give_the_same_log(digits, firmware, run_carina):
    elf = firmware(digits()[0])
    first, second = (run_carina(["qemu", elf, "--json"]).json["console"] for _ in range(2))
    assert first == second


def test_run_on_qemu_does_both(digits, run_carina, tmp_path):
    pte, sample = digits()
    run_carina(["run", pte, "-i", sample, "-o", tmp_path / "host"])
    done = run_carina(["run", pte, "--on", "qemu", "-i", sample, "-o", tmp_path / "device"])
    assert "Program complete, exiting." in done.stdout and f"-> {tmp_path / 'device' / 'output_0.npy'}" in done.stdout
    assert (tmp_path / "host/output_0.npy").read_bytes() == (tmp_path / "device/output_0.npy").read_bytes()


# --- errors --------------------------------------------------------------------------------------------------------


def failure(run_carina, arguments, code=1):
    done = run_carina(arguments, expect=code)
    assert done.stderr.startswith("carina: error: "), done.stderr
    return done.stderr


def with_pools(elf, **sizes):
    """Changes the sizes of pools in the header of an image's model: `carina firmware` writes none that are too small."""
    data = bytearray(elf.read_bytes())
    fields = {"method": 12, "temp": 16, "fast": 20}  # offsets in ModelHeader (facts/firmware.h)
    for name, size in sizes.items():
        struct.pack_into("<I", data, data.rindex(b"CARM") + fields[name], size)
    elf.write_bytes(data)
    return elf


@pytest.mark.parametrize(
    ("pool", "size", "says"),
    [
        ("method", 256, "cannot set up a planned buffer: out of memory: the method pool of 256 bytes lacks at least"),
        ("method", 704, "cannot load the method: out of memory: the method pool of 704 bytes lacks at least"),
        ("temp", 2048, "EthosUBackend: out of memory: the temp pool of 2048 bytes lacks at least"),
    ],
)
def test_too_little_memory_says_where_and_how_much(digits, firmware, run_carina, pool, size, says):
    assert says in failure(run_carina, ["qemu", with_pools(firmware(digits()[0], HOST), **{pool: size})])


@pytest.mark.parametrize(("pool", "size"), [("method", 704), ("temp", 2048)])
def test_pools_that_are_too_small_are_rejected_before_the_image_is_written(digits, run_carina, tmp_path, pool, size):
    says = failure(run_carina, ["firmware", digits()[0], f"--{pool}-pool", size, "-o", tmp_path / "a.elf"])
    assert (
        f"does not fit into the {pool} pool of the image: expected at most {size} bytes, got" in says
        and not (tmp_path / "a.elf").exists()
    )


class Mean(torch.nn.Module):
    def forward(self, x):
        return x.mean((2, 3))


@pytest.fixture(scope="session")
def convolutions(run_carina, tmp_path_factory):
    """convolutions(size) -> a program of two convolutions of an image of this size."""
    folder = tmp_path_factory.mktemp("convolutions")

    def make(size):
        torch.manual_seed(0)
        module = torch.nn.Sequential(
            torch.nn.Conv2d(8, 12, 3, padding=1), torch.nn.Conv2d(12, 4, 3, padding=1), Mean()
        ).eval()
        torch.export.save(torch.export.export(module, (torch.rand(1, 8, size, size),)), folder / f"{size}.pt2")
        run_carina(
            [
                "compile",
                folder / f"{size}.pt2",
                "-t",
                "ethos-u55-128",
                "--calibrate",
                "random",
                "--io",
                "int8",
                "-Os",
                "-o",
                folder / f"{size}.pte",
            ]
        )
        return folder / f"{size}.pte"

    return make


def memory_of(run_carina, pte):
    return next(part for part in run_carina(["inspect", pte, "--json"]).json["parts"] if part["kind"] == "memory")


def test_pools_are_divided_as_the_program_needs(convolutions, firmware, run_carina):
    """The scratch of the NPU is more than half of the memory: with equal pools the program does not run."""
    pte = convolutions(356)
    scratch = memory_of(run_carina, pte)["scratch_bytes"]
    assert "NPU delegations: 1" in run_carina(["qemu", firmware(pte, FLASH)]).stdout
    total = 4 * 1024 * 1024 - 256 * 1024  # firmware/corstone300/flash.ld
    assert total // 2 < scratch < total
    assert "out of memory: the temp pool" in failure(run_carina, ["qemu", with_pools(firmware(pte, FLASH), method=0)])


def test_a_program_that_needs_more_memory_than_the_image_has(convolutions, run_carina, tmp_path):
    pte = convolutions(512)
    says = failure(run_carina, ["firmware", pte, "--image", FLASH, "-o", tmp_path / "a.elf"])
    assert f"expected at most {4 * 1024 * 1024 - 256 * 1024} bytes, got" in says and not (tmp_path / "a.elf").exists()
    assert f"{(memory_of(run_carina, pte)['scratch_bytes'] + 63) // 64 * 64} the scratch of the NPU" in says
    run_carina(["firmware", pte, "--image", IMAGE, "-o", tmp_path / "a.elf"])


def test_weights_that_the_image_s_simulator_has_no_memory_for(run_carina, tmp_path):
    """Said before the image is written, with the numbers that the device gives."""
    torch.export.save(
        torch.export.export(torch.nn.Linear(512, 400).eval(), (torch.rand(1, 512),)), tmp_path / "wide.pt2"
    )
    run_carina(
        ["compile", tmp_path / "wide.pt2", "-t", "ethos-u55-128", "--calibrate", "random", "-o", tmp_path / "wide.pte"]
    )
    says = failure(run_carina, ["firmware", tmp_path / "wide.pte", "--image", FLASH, "-o", tmp_path / "a.elf"])
    assert "expected at most 131072 weights, got 204800 weights" in says and not (tmp_path / "a.elf").exists()
    for image in (IMAGE, HOST):
        run_carina(["firmware", tmp_path / "wide.pte", "--image", image, "-o", tmp_path / "a.elf"])


@pytest.mark.parametrize("image", [HOST, IMAGE])
def test_too_little_memory_is_an_error_at_every_size(digits, firmware, run_carina, image):
    """In each run, a later allocation is the first to fail. With enough memory, none fails."""
    pte = digits()[0]
    ran = []
    for size in (*range(64, 1280, 64), 4096):
        done = run_carina(["qemu", with_pools(firmware(pte, image), method=size)], expect=None)
        ran.append(done.code == 0)
        assert ran[-1] or "out of memory" in done.stderr or "no memory for it" in done.stderr, done.stderr
        assert "the CPU met a fault" not in done.stderr
    assert ran[-1] and not ran[0] and ran == sorted(ran)


def test_pools_beyond_the_image_s_memory(digits, run_carina, tmp_path):
    says = failure(
        run_carina, ["firmware", digits()[0], "--image", FLASH, "--temp-pool", "8M", "-o", tmp_path / "a.elf"], code=2
    )
    assert "the pools do not fit: expected at most" in says


@pytest.mark.parametrize("image", [HOST, IMAGE])
def test_a_program_for_another_npu(digits, firmware, run_carina, image):
    pte = digits()[0]
    on_host = image == HOST
    elf = firmware(pte, image, *([] if on_host else ["-t", "ethos-u55-256"]))
    says = failure(run_carina, ["qemu", elf, *(["-t", "ethos-u55-256"] if on_host else [])])
    assert (
        "the program was compiled for ethos-u55-128 (CONFIG 0x00001807), this NPU is ethos-u55-256 (CONFIG 0x00003008)"
        in says
    )


def test_an_npu_that_the_image_cannot_be(digits, firmware, run_carina):
    assert "of another NPU family" in failure(run_carina, ["qemu", firmware(digits("ethos-u85-256")[0], IMAGE)])


def test_wrong_inputs(digits, firmware, run_carina, tmp_path):
    elf = firmware(digits()[0])
    short, whole = tmp_path / "short.bin", tmp_path / "whole.bin"
    short.write_bytes(bytes(100))
    whole.write_bytes(bytes(256))
    assert "input 0 does not fit: the program takes 256 bytes, the file in0 has 100" in failure(
        run_carina, ["qemu", elf, "-i", short]
    )
    says = failure(run_carina, ["qemu", elf, "-i", whole, "-i", whole])
    assert "wrong number of inputs: the program takes 1, given are 2" in says
    np.save(tmp_path / "wrong.npy", np.zeros((1, 1, 4, 4), np.float32))
    assert "expected fp32 [1,1,8,8]" in failure(run_carina, ["qemu", elf, "-i", tmp_path / "wrong.npy"])


@pytest.mark.parametrize("image", [HOST, IMAGE])
def test_a_damaged_command_stream(digits, firmware, run_carina, tmp_path, image):
    elf = bytearray(firmware(digits()[0], image).read_bytes())
    stream = elf.rindex(b"COP1")
    struct.pack_into("<I", elf, stream + 32, 0x0000FFFF)
    damaged = tmp_path / "damaged.elf"
    damaged.write_bytes(elf)
    says = failure(run_carina, ["qemu", damaged])
    assert "ethosu: " in says and "delegate failed" in says


def run_qemu(elf):
    """Runs QEMU without carina, because carina would reject the program first."""
    semihosting = "enable=on,target=native,arg=app"
    quiet = ["-display", "none", "-serial", "null", "-monitor", "none"]
    command = ["qemu-system-arm", "-M", "mps3-an547", *quiet, "-kernel", elf, "-semihosting-config", semihosting]
    return subprocess.run(
        command, capture_output=True, text=True, errors="replace", timeout=60, stdin=subprocess.DEVNULL
    )


@pytest.mark.parametrize("options", [[], ["--no-delegate"]], ids=["npu", "cpu"])
def test_damaged_programs_on_the_device(digits, firmware, tmp_path, options):
    """Changes some bytes of the program. The device runs it or reports why not; it never faults or hangs."""
    pte = digits("ethos-u55-128", *options)[0].read_bytes()
    elf = firmware(digits("ethos-u55-128", *options)[0], IMAGE).read_bytes()
    start = elf.rindex(pte[:64])
    random = np.random.default_rng(SEED)
    rejected = 0
    for _ in range(int(os.environ.get("N", "40"))):
        damaged = bytearray(elf)
        for _ in range(random.choice([1, 1, 2, 4])):
            at = start + int(random.integers(0, len(pte) - 4)) // 4 * 4
            word = random.choice([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, random.integers(0, 1 << 32), len(pte)])
            struct.pack_into("<I", damaged, at, int(word))
        (tmp_path / "damaged.elf").write_bytes(damaged)
        done = run_qemu(tmp_path / "damaged.elf")
        said = any(line.startswith("E [carina] ") for line in done.stderr.splitlines())
        assert "the CPU met a fault" not in done.stderr and done.returncode == (1 if said else 0), done.stderr
        rejected += said
    assert rejected > 0


def test_an_image_that_is_none(digits, run_carina, tmp_path):
    pte = digits()[0]
    assert "this is an ExecuTorch program" in failure(run_carina, ["qemu", pte])
    assert "unknown firmware image" in failure(
        run_carina, ["firmware", pte, "--image", "no-such", "-o", tmp_path / "a.elf"]
    )
    assert "the image has no model" in failure(run_carina, ["qemu", IMAGES / f"{HOST}.elf"])
    elf = tmp_path / "a.elf"
    run_carina(["firmware", pte, "-o", elf])
    assert "already contains a model" in failure(
        run_carina, ["firmware", pte, "--image", elf, "-o", tmp_path / "b.elf"]
    )
    elf.write_bytes(elf.read_bytes()[:5000])
    assert "cut off" in failure(run_carina, ["qemu", elf])


def test_an_image_that_takes_too_long_is_stopped(digits, firmware, run_carina):
    says = failure(run_carina, ["qemu", firmware(digits()[0], IMAGE), "-n", 10000, "--timeout", 1])
    assert "did not end within 1 s and was stopped" in says


def test_qemu_that_is_missing(digits, firmware, run_carina):
    done = run_carina(["qemu", firmware(digits()[0])], expect=1, env={"PATH": "/nonexistent"})
    assert "qemu-system-arm: is not installed" in done.stderr and "apt install" in done.stderr


# --- the image as a file -------------------------------------------------------------------------------------------


def segments(elf):
    offset, count = struct.unpack_from("<I", elf, 28)[0], struct.unpack_from("<H", elf, 44)[0]
    return [struct.unpack_from("<8I", elf, offset + 32 * i) for i in range(count)]


def test_model_is_an_additional_segment_of_the_image(digits, firmware):
    pte = digits()[0].read_bytes()
    plain, filled = (IMAGES / f"{HOST}.elf").read_bytes(), firmware(digits()[0]).read_bytes()
    *before, model = segments(filled)
    assert before == segments(plain)
    kind, offset, virtual, physical, in_file, in_memory, _, alignment = model
    assert (kind, virtual, physical) == (1, 0x70000000, 0x70000000) and in_file == in_memory == 64 + len(pte)
    assert offset % alignment == 0 and filled[offset + 64 : offset + in_file] == pte
    assert filled[52 : len(plain)] == plain[52:]  # everything after the header


def test_sizes_known_at_run_time_are_the_planned_ones_on_the_device(run_carina, tmp_path):
    import torch
    from executorch.exir import to_edge

    shapes = ({0: torch.export.Dim("rows", min=1, max=4)},)
    exported = torch.export.export(
        torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Softmax(-1)).eval(), (torch.ones(3, 5),), dynamic_shapes=shapes
    )
    to_edge(exported).to_executorch().save(str(tmp_path / "model.pte"))
    x = np.random.default_rng(4).normal(size=(4, 5)).astype(np.float32)
    for rows, name in ((4, "whole"), (2, "part")):
        np.save(tmp_path / f"{name}.npy", x[:rows])
        run_carina(
            ["run", tmp_path / "model.pte", "--portable-kernels", "-i", tmp_path / f"{name}.npy", "-o", tmp_path / name]
        )
        assert np.load(tmp_path / name / "output_0.npy").shape == (rows, 5)
    run_carina(["run", tmp_path / "model.pte", "--on", "qemu", "-i", tmp_path / "whole.npy", "-o", tmp_path / "device"])
    assert (tmp_path / "whole" / "output_0.npy").read_bytes() == (tmp_path / "device" / "output_0.npy").read_bytes()
    rejected = run_carina(["run", tmp_path / "model.pte", "--on", "qemu", "-i", tmp_path / "part.npy"], expect=1).stderr
    assert (
        "smaller than planned, which the firmware does not support" in rejected
        and "expected 80 bytes, got 40" in rejected
    )


def test_a_batch_on_the_device(digits, run_carina, tmp_path):
    pte, _ = digits()
    np.save(tmp_path / "batch.npy", np.load(DIGITS / "test.npz")["x"][:3])
    run_carina(["run", pte, "--portable-kernels", "-i", tmp_path / "batch.npy", "-o", tmp_path / "host"])
    done = run_carina(["run", pte, "--on", "qemu", "-i", tmp_path / "batch.npy", "-o", tmp_path / "device", "--json"])
    assert done.json["samples"] == 3 and sum("Program complete" in line for line in done.json["console"]) == 1
    assert (tmp_path / "host" / "output_0.npy").read_bytes() == (tmp_path / "device" / "output_0.npy").read_bytes()


def test_test_cases_on_the_device(digits, run_carina, tmp_path):
    pte, image = digits()
    bundle = tmp_path / "model.bpte"
    run_carina(["run", pte, "-i", image, "--bundle", bundle])
    tests = run_carina(["run", bundle, "--on", "qemu", "--json", "-o", tmp_path / "out"]).json["tests"]
    assert [(case["method"], case["passed"]) for case in tests["cases"]] == [("forward", True)]
    assert (tmp_path / "out" / "forward_0" / "output_0.npy").exists()
    expected = run_carina(["run", pte, "-i", image, "-o", tmp_path / "host"]) and np.load(
        tmp_path / "host" / "output_0.npy"
    )
    content = bundle.read_bytes()
    assert content.count(expected.tobytes()) == 1
    bundle.write_bytes(content.replace(expected.tobytes(), (expected + 1).tobytes()))
    failed = run_carina(["run", bundle, "--on", "qemu", "--json"], expect=1).json["tests"]
    assert not failed["cases"][0]["passed"] and failed["cases"][0]["outputs"][0]["wrong"] == expected.size


def test_tensors_outside_of_the_program_are_rejected_before_it_runs(run_carina, tmp_path):
    import torch
    from executorch.exir import ExecutorchBackendConfig, to_edge

    edge = to_edge(torch.export.export(torch.nn.Linear(3, 2).eval(), (torch.ones(1, 3),)))
    (tmp_path / "model.pte").write_bytes(edge.to_executorch(ExecutorchBackendConfig(external_constants=True)).buffer)
    rejected = run_carina(["firmware", tmp_path / "model.pte", "-o", tmp_path / "app.elf"], expect=1)
    assert ".ptd" in rejected.stderr and "external_constants" in rejected.stderr


def test_two_images_are_equal(digits, firmware, tmp_path):
    first = firmware(digits()[0]).read_bytes()
    assert firmware(digits()[0]).read_bytes() == first
