"""Tests each option of the Arm backend's scripts: its effect, its rejection or its note. The options come from the rows of the parsers. A
row without a case here fails.
Commands of `carina` are recorded and not run, unless the result is the effect: test_arm_scripts.py and the tests below run some."""

# ruff: noqa: F811  fixtures of another file
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import ROOT
from test_arm_scripts import MODEL, environment, model, ours, package, script  # noqa: F401

PAGE = ROOT / "docs" / "guide" / "script-options.md"
SETUP = ROOT / "scripts" / "setup.sh"


# --- the tables -----------------------------------------------------------------------------------------------------------


def test_the_page_has_the_parsers_rows(ours):
    """The page is short, and that of `make docs` has every option."""
    with_tables, setup = ours("carina_arm.scripts.option_tables").with_tables, SETUP.read_text()
    page = PAGE.read_text()
    assert with_tables(page, setup) == page, (
        "PYTHONPATH=build/release/python python -m carina_arm.scripts.option_tables docs/guide/script-options.md scripts/setup.sh"
    )
    assert len(page.splitlines()) <= 100 and "build/pages/script-options.md" in page
    whole = with_tables(page, setup, whole=True)
    for name in ("--direct_drive", "ET_NUM_INFERENCES", "--i-agree-to-the-contained-eula", "--portable_kernels"):
        assert f"`{name}`" in whole


# Source: examples/arm/setup.sh of ExecuTorch at cff6f4dd.
SETUP_SH = """--i-agree-to-the-contained-eula --root-dir --enable-baremetal-toolchain --target-toolchain --enable-fvps --enable-vela --enable-model-converter
    --enable-vgf-lib --enable-emulation-layer --enable-vulkan-sdk --disable-ethos-u-deps --install-mlsdk-deps-with-pip --install-mlsdk-deps-from-src
    --mlsdk-manifest-url --mlsdk-manifest-tag --enable-mlsdk-deps"""


def test_every_option_of_setup_sh(ours, tmp_path):
    """The system's package tool has no packages, so each missing package is named and nothing is installed."""
    rows = {
        name: (effect, text)
        for name, effect, text in ours("carina_arm.scripts.option_tables").setup_rows(SETUP.read_text())
    }
    assert set(SETUP_SH.split()) <= set(rows)
    for name, (effect, text) in rows.items():
        value = "=gnu" if name == "--target-toolchain" else ""
        done = subprocess.run(
            ["bash", SETUP, name + value], env={"PATH": str(bare_tools(tmp_path))}, capture_output=True, text=True
        )
        if effect.name == "REJECTED":
            assert done.returncode == 2 and f"{name}: not supported: {text}" in done.stderr
        elif effect.name == "NONE":
            assert f"{name} makes no difference: {text}" in done.stdout and "gcc-arm-none-eabi" not in done.stderr
        else:
            assert "gcc-arm-none-eabi" in done.stderr, name
    assert subprocess.run(["bash", SETUP, "--target-toolchain", "zephyr"], capture_output=True).returncode == 2
    assert subprocess.run(["bash", SETUP, "--no-such"], capture_output=True).returncode == 2


def bare_tools(folder):
    """A PATH without a package manager. setup.sh names the packages that it would install."""
    tools = folder / "tools"
    if not tools.exists():
        tools.mkdir()
        for name in ("bash", "sed"):
            (tools / name).symlink_to(shutil.which(name))
    return tools


# --- arm-run and arm-build --------------------------------------------------------------------------------------------------


@pytest.fixture
def commands(ours, monkeypatch, tmp_path):
    """The commands that the scripts would run: [["qemu", ...], ...]. aot writes a placeholder file instead of a program."""
    taken = []
    for name in ("run", "image"):
        home = ours(f"carina_arm.scripts.{name}")
        monkeypatch.setattr(
            home, "carina", lambda words, environment=None: taken.append([*words, *(environment or {})]) or 0
        )
    run = ours("carina_arm.scripts.run")
    monkeypatch.setattr(run, "carina_bundle", run.carina)
    monkeypatch.setattr(run, "python", lambda module, words: taken.append(["python", module, *words]) or 0)

    def compile_nothing(arguments):
        taken.append(["aot", *arguments])
        (target,) = (word.partition("=")[2] for word in arguments if word.startswith("--output="))
        Path(target).write_bytes(b"")
        Path(target).with_name("output_tag0_TOSA-1.0+INT.tosa").write_bytes(b"")
        return 0

    monkeypatch.setattr(run.aot_arm_compiler, "main", compile_nothing)
    return taken


@pytest.fixture
def arm_run(script, commands, model):
    """arm_run("--etdump", ...) -> the words of all commands, and the messages."""

    def call(*options, expect=0, own=True):
        commands.clear()
        done = script("arm_run", *([f"--model_name={model}"] if own else []), *options, expect=expect)
        return [" ".join(map(str, words)) for words in commands], done.stdout + done.stderr

    return call


QEMU = "--on=qemu"
# option -> options to pass, the start of the command, the words that it then contains.
EFFECTS = {
    "--on": (["--on=vulkan"], "run ", "--on vulkan"),
    "--inferences": ([QEMU, "--inferences=3"], "qemu ", "--inferences 3"),
    "--model_name": ([], "aot ", "--model_name="),
    "--model_input": (["--model_input=IN"], "aot ", "--model_input=IN"),
    "--trust_data": (["--trust_data"], "aot ", "--trust_data"),
    "--aot_arm_compiler_flags": (["--aot_arm_compiler_flags=--debug -s x.so"], "aot ", "--debug -s x.so"),
    "--target": (["--target=ethos-u85-256"], "aot ", "--target=ethos-u85-256"),
    "--output": (["--output=OUT"], "run ", "OUT/net_arm_delegate_ethos-u55-128.pte -o OUT/outputs"),
    "--et_build_root": (["--et_build_root=ROOT"], "run ", "ROOT/net/net_arm"),
    "--bundleio": (["--bundleio"], "aot ", "--bundleio"),
    "--system_config": (["--system_config=A"], "aot ", "--system_config=A"),
    "--memory_mode": (["--memory_mode=B"], "aot ", "--memory_mode=B"),
    "--config": (["--config=C.ini"], "aot ", "--config=C.ini"),
    "--pte_placement": ([QEMU, "--pte_placement=0x28000000"], "firmware ", "--image corstone300-flash"),
    "--perf_overlay": (["--perf_overlay"], "run ", "layers.json"),
    "--select_ops_list": (
        [QEMU, "--select_ops_list=aten::_softmax.out"],
        "firmware ",
        "--ops aten::_softmax.out,quantized_decomposed::quantize_per_tensor.out",
    ),
    "--portable_kernels": ([QEMU, "--portable_kernels=aten::add.out"], "firmware ", "--ops aten::add.out,"),
    "--extra_build_flags": ([QEMU, "--extra_build_flags=-DET_NUM_INFERENCES=10"], "qemu ", "--inferences 10"),
    "--etdump": (["--etdump"], "run ", "--etdump arm_test/net/etdump.etdp"),
    "--timeout": ([QEMU, "--timeout=9"], "qemu ", "--timeout 9"),
    "--trace_file": (["--trace_file=t.csv"], "run ", "--per-layer t.csv"),
    "--etrecord": (
        ["--etdump", "--etrecord=r.bin"],
        "python ",
        "--etdump_path arm_test/net/etdump.etdp --etrecord_path r.bin",
    ),
}
# The words that an option removes.
LESS = {
    "--no_delegate": ("aot ", "--delegate"),
    "--no_quantize": ("aot ", "--quantize"),
    "--build_only": ("run ", ""),
    "--fast": ("run ", "--timed"),
}
ELSEWHERE = {
    "--elf",
    "--data",
    "--bundle",
    "--model_explorer",
    "--visualize_pte",
    "--visualize_tosa",
}  # options with tests of their own


@pytest.mark.parametrize("name", sorted(EFFECTS))
def test_an_option_of_arm_run_has_its_effect(arm_run, tmp_path, name):
    options, start, words = EFFECTS[name]
    torch.save((torch.zeros(1, 3, 12, 12),), tmp_path / "IN")
    made, said = arm_run(*options)
    assert any(command.startswith(start) and words in command for command in made), f"{made}\n{said}"
    assert "makes no difference" not in said
    plain, _ = arm_run(*([QEMU] if QEMU in options else []))
    if name not in ("--model_name",):
        assert not any(command.startswith(start) and words in command for command in plain)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--etdump"], "--etdump arm_test/net/etdump.etdp"),
        (["--trace_file=t.csv"], "--per-layer t.csv"),
        (["--perf_overlay"], "--per-layer arm_test/net/layers.json"),
        (["--fast"], "--no-cycles"),
    ],
)
def test_records_of_a_run_as_firmware(arm_run, options, words):
    made, said = arm_run(QEMU, *options)
    assert any(command.startswith("qemu ") and words in command for command in made), f"{made}\n{said}"
    assert not any(words in command for command in arm_run(QEMU)[0])


@pytest.mark.parametrize("name", sorted(LESS))
def test_an_option_of_arm_run_takes_something_away(arm_run, name):
    start, words = LESS[name]
    assert any(command.startswith(start) and words in command for command in arm_run()[0])
    assert not any(command.startswith(start) and words in command for command in arm_run(name)[0])


VALUES = {
    "--build_type": "Debug",
    "--build-dir": "x",
    "--toolchain": "arm-none-eabi-gcc",
    "--scratch-dir": "x",
    "--semihosting-cwd": "x",
    "--ethosu_tools_dir": "x",
}


def test_every_row_of_arm_run_has_a_case(ours):
    rows = ours("carina_arm.scripts.runner_options").RUN_OPTIONS
    with_effect = {row.names[-1] for row in rows if row.effect.name == "HAS"}
    assert with_effect == {*EFFECTS, *LESS, *ELSEWHERE}


def test_options_of_arm_run_without_effect_are_noted(ours, arm_run):
    rows = [row for row in ours("carina_arm.scripts.runner_options").RUN_OPTIONS if row.effect.name == "NONE"]
    assert len(rows) >= 6
    for row in rows:
        value = [] if row.given.get("action") == "store_true" else [VALUES[row.name]]
        if value == [row.given.get("default")]:
            continue  # it has only one value
        _, said = arm_run(row.name, *value)
        assert f"{row.name} makes no difference: " in said


# Options and their messages.
REJECTED = [
    ([QEMU, "--etdump", "--extra_build_flags=-DET_DUMP_OUTPUTS=ON"], "ET_DUMP_OUTPUTS: not supported for firmware"),
    (
        [QEMU, "--pte_placement=0x38000000"],
        "no image has memory for models at 0x38000000: 0x70000000 to 0x7fffffff (corstone300-host)",
    ),
    ([QEMU, "--pte_placement=bogus"], "bogus: expected elf or an address"),
    ([QEMU, "--extra_build_flags=-DTARGET_CPU=cortex-m4"], "TARGET_CPU=cortex-m4: images are built for"),
    (["--etrecord=r"], "--etrecord requires --etdump"),
    (["--visualize_pte"], "require --model_explorer"),
    (["--model_explorer", "--visualize_pte", "--visualize_tosa"], "exclude each other"),
    (["--extra_build_flags=-DNO_SUCH=1"], "NO_SUCH: unknown variable"),
    (["--extra_build_flags=ET_NUM_INFERENCES=1"], "expected -DNAME=VALUE"),
    (["--extra_build_flags=-DET_PTE_FILE_PATH=x"], "ET_PTE_FILE_PATH: not supported"),
    (["--extra_build_flags=-DET_BUNDLE_IO=perhaps"], "expected ON or OFF, got perhaps"),
    (["--elf=a.elf"], "--model_name excludes --elf"),
    (["--data=a@0x1"], "--data requires --elf"),
]


@pytest.mark.parametrize(("options", "says"), REJECTED)
def test_arm_run_rejects_unsupported_options(arm_run, options, says):
    made, said = arm_run(*options, expect=1)
    assert says in said and not made


def test_the_toolchain_is_gcc(arm_run):
    assert "invalid choice: 'arm-zephyr-eabi-gcc'" in arm_run("--toolchain=arm-zephyr-eabi-gcc", expect=2)[1]


# CMake variable -> value, further options, the start of the command, the words that it then contains.
VARIABLES = {
    "ET_NUM_INFERENCES": ("10", [QEMU], "qemu ", "--inferences 10"),
    "ET_ARM_BAREMETAL_METHOD_ALLOCATOR_POOL_SIZE": ("60000", [QEMU], "firmware ", "--method-pool 60000"),
    "ET_ARM_BAREMETAL_SCRATCH_TEMP_ALLOCATOR_POOL_SIZE": ("0x200000", [QEMU], "firmware ", "--temp-pool 2097152"),
    "ET_ARM_BAREMETAL_FAST_SCRATCH_TEMP_ALLOCATOR_POOL_SIZE": ("393216", [QEMU], "firmware ", "--fast-pool 393216"),
    "EXECUTORCH_SELECT_OPS_LIST": (
        "aten::add.out;aten::mul.out",
        [QEMU],
        "firmware ",
        "--ops aten::add.out,aten::mul.out,",
    ),
    "SYSTEM_CONFIG": ("A", [], "aot ", "--system_config=A"),
    "MEMORY_MODE": ("B", [], "aot ", "--memory_mode=B"),
    "ETHOSU_TARGET_NPU_CONFIG": ("ethos-u85-128", [], "aot ", "--target=ethos-u85-128"),
    "TARGET_CPU": ("cortex-m85", [QEMU], "firmware ", "--image corstone320-host"),
    "ET_MODEL_PTE_ADDR": ("0x28000000", [QEMU], "firmware ", "--image corstone300-flash"),
    "ET_BUNDLE_IO": ("ON", [QEMU], "run ", ".bpte --on qemu"),
    "ET_ATOL": ("0.5", ["--bundleio"], "run ", "--atol 0.5"),
    "ET_RTOL": ("0.25", ["--bundleio"], "run ", "--rtol 0.25"),
    "EXECUTORCH_ENABLE_EVENT_TRACER": ("ON", [], "run ", "--etdump"),
    "ET_DUMP_OUTPUTS": ("ON", ["--etdump"], "run ", "--debug-buffer"),
    "ET_DUMP_INTERMEDIATE_OUTPUTS": ("ON", ["--etdump"], "run ", "--debug-buffer"),
}


@pytest.mark.parametrize("name", sorted(VARIABLES))
def test_a_variable_has_its_effect(arm_run, name):
    value, options, start, words = VARIABLES[name]
    made, said = arm_run(*options, f"--extra_build_flags=-D{name}:STRING={value}")
    assert any(command.startswith(start) and words in command for command in made), f"{made}\n{said}"
    assert not any(command.startswith(start) and words in command for command in arm_run(*options)[0])


def test_every_variable_has_a_case(ours, arm_run):
    rows = ours("carina_arm.scripts.build_variables").VARIABLES
    with_effect = {row.name for row in rows if row.effect.name == "HAS"}
    assert with_effect == {
        *VARIABLES,
        "ET_LOG_DUMP_OUTPUT",
        "ET_LOG_DUMP_INPUT",
    }  # test_all_values_of_outputs_are_shown tests the last two
    idle = [row.name for row in rows if row.effect.name == "NONE"]
    _, said = arm_run("--extra_build_flags=" + " ".join(f"-D{name}=x" for name in idle))
    assert len(idle) > 20 and all(f"{name} makes no difference: " in said for name in idle)


def test_options_of_firmware_are_noted_on_the_host(arm_run):
    _, said = arm_run("--timeout=3", "--select_ops_list=aten::add.out", "--inferences=2", "--pte_placement=0x70000000")
    for name in ("--timeout", "--select_ops_list", "--inferences", "--pte_placement"):
        assert f"{name} makes no difference on the host" in said
    assert (
        "--select_ops_list makes no difference for a bundle"
        in arm_run(QEMU, "--bundleio", "--select_ops_list=aten::add.out")[1]
    )


def test_bundles_run_as_firmware(arm_run):
    assert arm_run(QEMU, "--bundle=b.bpte", own=False)[0] == ["run b.bpte --on qemu"]
    assert arm_run("--target=cortex-m55", "--bundle=b.bpte", own=False)[0] == ["run b.bpte --on qemu"]
    assert arm_run("--bundle=b.bpte", own=False)[0] == ["run b.bpte --timed"]


def test_an_image_runs_on_the_npu_that_is_asked_for(arm_run, carina, tmp_path):
    assert arm_run("--elf=a.elf", own=False)[0] == ["qemu a.elf"]
    assert arm_run("--elf=a.elf", "--target=ethos-u85-128", own=False)[0] == ["qemu a.elf -t ethos-u85-128"]
    image = carina.parents[1] / "share" / "carina" / "firmware" / "corstone300-host.elf"
    made, _ = arm_run(f"--elf={image}", "--data=m.pte@0x70000000", own=False)
    assert made == [f"firmware m.pte --image {image} -o m.elf", "qemu m.elf"]
    assert (
        "has its memory for models at 0x70000000, not at 0x70000010"
        in arm_run(f"--elf={image}", "--data=m.pte@0x70000010", own=False, expect=1)[1]
    )


def test_model_explorer_is_named_with_its_file(arm_run):
    _, tosa = arm_run("--model_explorer", "--build_only")
    assert re.search(
        r"model-explorer arm_test/net/output_tag0_\S+\.tosa --extensions=tosa_adapter_model_explorer", tosa
    )
    _, pte = arm_run("--model_explorer", "--visualize_pte", "--build_only")
    assert re.search(r"model-explorer arm_test/net/\S+\.pte --extensions=pte_adapter_model_explorer", pte)


@pytest.fixture
def arm_build(script, commands):
    def call(*options, expect=0):
        commands.clear()
        done = script("arm_build", *options, expect=expect)
        return [" ".join(map(str, words)) for words in commands], done.stdout + done.stderr

    return call


# Source: backends/arm/scripts/build_executor_runner.sh of ExecuTorch at cff6f4dd.
BUILD_SH = """--pte --target --build_type --bundleio --system_config --memory_mode --etdump --extra_build_flags --output --et_build_root --ethosu_tools_dir --toolchain
    --select_ops_list"""


def test_every_option_of_arm_build(ours, arm_build, carina):
    rows = {row.names[-1]: row for row in ours("carina_arm.scripts.runner_options").BUILD_OPTIONS}
    assert set(BUILD_SH.split()) <= set(rows)
    assert arm_build("--pte=m.pte")[0] == [
        "firmware m.pte --image corstone300-host -o m/cmake-out/arm_executor_runner.elf -t ethos-u55-128"
    ]
    assert (
        "-o out/arm_executor_runner.elf -t ethos-u55-256"
        in arm_build("--pte=m.pte", "--output=out", "--target=ethos-u55-256")[0][0]
    )
    assert "--ops aten::add.out," in arm_build("--pte=m.pte", "--select_ops_list=aten::add.out")[0][0]
    assert "--ops aten::mul.out," in arm_build("--pte=m.pte", "--portable_kernels=aten::mul.out")[0][0]
    assert (
        "--method-pool 99"
        in arm_build("--pte=m.pte", "--extra_build_flags=-DET_ARM_BAREMETAL_METHOD_ALLOCATOR_POOL_SIZE=99")[0][0]
    )
    assert "--image corstone320-host" in arm_build("--pte=m.pte", "--extra_build_flags=-DTARGET_CPU=cortex-m85")[0][0]
    made, said = arm_build("--pte=m.pte", "--target=ethos-u85-128")
    assert "corstone300-host" in made[0] and "-t ethos-u85-128" in made[0] and "in place of cortex-m85" in said
    made, said = arm_build("--pte=0x70000000", "--et_build_root=root")
    image = Path("root/ethos-u55-128_0x70000000/cmake-out/arm_executor_runner.elf")
    assert (
        not made
        and image.read_bytes()
        == (carina.parents[1] / "share" / "carina" / "firmware" / "corstone300-host.elf").read_bytes()
    )
    assert "--pte=semihosting: not supported" in arm_build("--pte=semihosting", expect=1)[1]
    assert "`carina qemu --etdump` takes it" in arm_build("--pte=m.pte", "--etdump")[1]
    assert (
        "ET_DUMP_OUTPUTS: not supported for firmware"
        in arm_build("--pte=m.pte", "--extra_build_flags=-DET_DUMP_OUTPUTS=ON", expect=1)[1]
    )
    for name in ("--system_config", "--memory_mode"):
        assert "makes no difference to an image" in arm_build("--pte=m.pte", name, "x")[1]
    for name in ("--bundleio", "--ethosu_tools_dir", "--build_type"):
        value = [] if name == "--bundleio" else [VALUES[name]]
        assert f"{name} makes no difference: " in arm_build("--pte=m.pte", name, *value)[1]


# --- the options of aot -----------------------------------------------------------------------------------------------------


def test_direct_drive_and_old_options_are_rejected_with_the_reason(script, model):
    assert "COP1" in script("aot_arm_compiler", "-m", model, "-d", "-q", "--direct_drive", expect=1).stderr
    assert "--reorder_inputs: not supported" in script("aot_arm_compiler", "-m", model, "-r", "1,0", expect=1).stderr


# Sram_Only under another name, and a system configuration of 250 MHz.
OWN_INI = """
[System_Config.Own]
core_clock=250e6
axi0_port=Sram
axi1_port=OffChipFlash
Sram_clock_scale=1.0
OffChipFlash_clock_scale=0.125
[Memory_Mode.Mine]
const_mem_area=Axi0
arena_mem_area=Axi0
cache_mem_area=Axi0
"""


def test_memories_of_aot(script, run_carina, model, tmp_path):
    """A program runs at the clock of its system configuration; its bytes depend on the memory mode."""

    def made(*options):
        script("aot_arm_compiler", "-m", model, "-d", "-q", "-o", tmp_path / "net.pte", *options)
        (clock,) = re.findall(r"total: .* at (\d+) MHz", run_carina(["run", tmp_path / "net.pte", "--timed"]).stdout)
        return clock, (tmp_path / "net.pte").read_bytes()

    clock, shared = made()
    assert clock == "500"
    assert made("--system_config=Ethos_U55_Deep_Embedded")[0] == "200"
    assert made("--memory_mode=Sram_Only")[1] != shared
    (tmp_path / "own.ini").write_text(OWN_INI)
    names = ("--system_config=Own", "--memory_mode=Mine")
    assert made(*names, f"--config={tmp_path / 'own.ini'}")[1] != shared
    assert "Own" in script("aot_arm_compiler", "-m", model, "-d", "-q", *names, expect=2).stderr


def test_strict_exports_and_traces_of_errors_of_aot(script, run_carina, tmp_path):
    """The model is exp() if Dynamo traces it, as strict exports do, and else sin()."""
    traced = "torch.exp(x) if torch.compiler.is_dynamo_compiling() else torch.sin(x)"
    (tmp_path / "way.py").write_text(
        f"import torch\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return {traced}\n\nModelUnderTest = Model().eval()\nModelInputs = (torch.ones(4),)\n"
    )
    for options, kernel in (((), "aten::exp.out"), (("--non_strict_export",), "aten::sin.out")):
        script("aot_arm_compiler", "-m", tmp_path / "way.py", "-o", tmp_path / "way.pte", *options)
        assert re.findall(r"kernel (\S+)", run_carina(["inspect", tmp_path / "way.pte"]).stdout) == [kernel]
    assert "Traceback" in script("aot_arm_compiler", "-m", "gone.py", "--debug", expect=1).stderr
    assert "Traceback" not in script("aot_arm_compiler", "-m", "gone.py", expect=1).stderr


def test_the_record_leads_from_the_program_to_the_model(script, model, tmp_path):
    from executorch.devtools.etrecord import parse_etrecord

    said = script("aot_arm_compiler", "-m", model, "-d", "-q", "--etrecord", "-o", tmp_path / "net.pte").stdout
    assert f"ETRecord saved as {tmp_path / 'net_etrecord.bin'}" in said
    record = parse_etrecord(str(tmp_path / "net_etrecord.bin"))
    targets = {str(node.target) for node in record.edge_dialect_program.graph.nodes}
    assert any("convolution" in target for target in targets)


def test_quantized_cortex_m_programs_call_its_kernels(script, run_carina, model, tmp_path):
    """The bytes equal those of `carina compile --cpu-kernels cortex-m`."""
    script("aot_arm_compiler", "-m", model, "-q", "-t", "cortex-m55", "-o", tmp_path / "aot.pte", "-i", tmp_path / "i")
    kernels = re.findall(r"kernel (\S+)", run_carina(["inspect", tmp_path / "aot.pte"]).stdout)
    assert "cortex_m::quantized_conv2d_nhwc.out" in kernels or "cortex_m::quantized_conv2d.out" in kernels, kernels
    np.save(tmp_path / "x.npy", __import__("runpy").run_path(str(model))["ModelInputs"][0].numpy())
    options = ["--no-delegate", "--cpu-kernels", "cortex-m", "-q", "int8", "--calibrate", tmp_path / "x.npy"]
    run_carina(
        [
            "compile",
            tmp_path / "i" / "net_exported_program.pt2",
            "-t",
            "ethos-u55-128",
            *options,
            "-o",
            tmp_path / "cli.pte",
        ]
    )
    assert (tmp_path / "aot.pte").read_bytes() == (tmp_path / "cli.pte").read_bytes()
    script("aot_arm_compiler", "-m", model, "-t", "cortex-m55", "-o", tmp_path / "float.pte")
    assert "cortex_m::" not in run_carina(["inspect", tmp_path / "float.pte"]).stdout


def test_the_quantized_kernels_need_no_library(script, model, tmp_path):
    for path in ("", "cmake-out/libquantized_ops_aot_lib.so"):
        said = script(
            "aot_arm_compiler", "-m", model, "-d", "-q", "-o", tmp_path / "x.pte", f"--so_library={path}"
        ).stderr
        assert "quantized_ops_aot_lib is not needed" in said
    assert script("aot_arm_compiler", "-m", model, "-o", tmp_path / "x.pte", "--so_library=other.so", expect=1).stderr


# --- whole runs ---------------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_all_values_of_outputs_are_shown(run_carina, environment, tmp_path):
    """Firmware with three inferences, selected kernels and pools of given sizes; and a bundle of the same model."""
    (tmp_path / "wide.py").write_text(MODEL.replace("nn.Linear(8, 5)", "nn.Linear(8, 40)"))
    flags = "-DET_LOG_DUMP_OUTPUT=ON -DET_LOG_DUMP_INPUT=ON -DET_NUM_INFERENCES=3 -DET_ARM_BAREMETAL_METHOD_ALLOCATOR_POOL_SIZE=65536"
    done = run_carina(
        [
            "arm-run",
            f"--model_name={tmp_path / 'wide.py'}",
            "--on=qemu",
            f"--output={tmp_path / 'o'}",
            f"--extra_build_flags={flags}",
        ],
        env=environment,
    )
    assert "3 inferences" in done.stdout and "/ 65536" in done.stdout
    shown = dict(re.findall(r"^Output\[0\]\[(\d+)\]: \(float\) (\S+)$", done.stdout, flags=re.MULTILINE))
    written = np.load(tmp_path / "o" / "outputs" / "output_0.npy").reshape(-1)
    np.testing.assert_allclose([float(shown[str(place)]) for place in range(40)], written, atol=1e-6)
    run_carina(["run", tmp_path / "o" / "wide_arm_delegate_ethos-u55-128.pte", "-o", tmp_path / "host"])
    assert np.array_equal(
        np.load(tmp_path / "host" / "output_0.npy").reshape(-1), written
    )  # the third inference has the inputs of the first
    assert len(re.findall(r"^Input\[0\]\[\d+\]: \(float\) 1\.000000$", done.stdout, flags=re.MULTILINE)) == 3 * 12 * 12
    done = run_carina(
        ["arm-run", f"--model_name={tmp_path / 'wide.py'}", "--on=qemu", "--bundleio", f"--output={tmp_path / 'b'}"],
        env=environment,
    )
    assert re.search(r"1 of 1 pass", done.stdout)
    lines = done.stdout.splitlines()
    assert [line for line in lines if "BundleIO" in line or "Model run" in line] == [
        "TEST: BundleIO index[0] Test_result: PASS",
        "Model run: 1",
    ]


@pytest.mark.long
def test_etdump_and_record_are_a_table(run_carina, environment, model, tmp_path):
    options = [f"--model_name={model}", f"--output={tmp_path / 'o'}", "--aot_arm_compiler_flags=--etrecord"]
    run_carina(["arm-run", *options, "--build_only"], env=environment)
    (record,) = (tmp_path / "o").glob("*_etrecord.bin")
    done = run_carina(["arm-run", *options, "--etdump", f"--etrecord={record}"], env=environment)
    assert "quantize_per_tensor" in done.stdout and (tmp_path / "o" / "etdump.etdp").stat().st_size > 100
