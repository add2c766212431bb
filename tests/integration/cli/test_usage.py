"""Wrong command lines and files: the message names what the user typed or gave, and what is accepted."""

import io
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import npu_graphs
import numpy as np
import pytest
import torch
from conftest import ROOT
from vela_graphs import OP, D

MODEL = ROOT / "models" / "digits" / "digits.pt2"
CALIBRATION = ROOT / "models" / "digits" / "calibration.npz"
TEST = ROOT / "models" / "digits" / "test.npz"


@pytest.fixture(scope="module")
def work(run_carina, tmp_path_factory):
    folder = tmp_path_factory.mktemp("usage")
    run_carina(
        [
            "compile",
            MODEL,
            "--target",
            "ethos-u55-128",
            "--calibrate",
            CALIBRATION,
            "--dump",
            folder / "dump",
            "-o",
            folder / "digits.pte",
        ]
    )
    (folder / "digits.tosa").write_bytes(next((folder / "dump").glob("*.tosa")).read_bytes())
    (folder / "stream.npz").write_bytes((folder / "dump" / "output_tag0_vela.npz").read_bytes())
    np.save(folder / "x.npy", np.zeros((1, 1, 8, 8), np.float32))
    return folder


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["compil"], ["unknown command compil", "did you mean compile"]),
        (["npu"], ["a command is missing", "run"]),
        (["explain", MODEL, "-t", "ethos-u55-129"], ["unknown target", "did you mean ethos-u55-128?"]),
        (["explain", MODEL, "-t", "u55-128"], ["unknown target", "did you mean ethos-u55-128?"]),
        (["explain", MODEL, "-t", "ethos-u55-128", "--memory-mode", "Shared_Srm"], ["unknown memory mode", "did you mean Shared_Sram?"]),
        (["explain", MODEL, "-t", "ethos-u55-128", "--system-config", "High_End_Embedded"], ["unknown system configuration", "did you mean Ethos_U55_High_End_Embedded?"]),
        (["compile", "m.pt2", "-t", "ethos-u55-128", "-o", "x", "-q", "in8"], ["--quantize", "did you mean int8?"]),
        (["sweep", MODEL, "--targets", "ethos-u55-129"], ["unknown target", "did you mean ethos-u55-128?"]),
        (["compile", "m.pt2", "--taget", "ethos-u55-128", "-o", "x"], ["unknown option --taget", "did you mean --target"]),
        (["compile", "m.pt2", "-t", "ethos-u55-128", "-o", "x", "-O1"], ["--optimize", "2,3,performance,s,search,size,speed", "1"]),
        (["compile", "m.pt2", "-t", "ethos-u55-128", "-o", "x", "--arena-cache-size", "big"], ["--arena-cache-size", "not a number of bytes", "big"]),
        (["compile", "m.pt2", "-t", "ethos-u55-128", "-o", "x", "-q", "int9"], ["--quantize", "int8 (a8w8), int16x8 (a16w8)", "int9"]),
        (["compile", "m.pt2", "-t", "ethos-u55-128", "-o", "x", "-q", "int8+fast"], ["--quantize", "per-channel", "fast"]),
        (["compile", "m.pt2", "-t", "ethos-u55-128", "-o", "x", "--quantize-at", "conv=int8"], ["--quantize-at", "node, op, module", "conv"]),
        (["compile", "m.pt2", "-t", "ethos-u55-128", "-o", "x", "--sram-budget", "-1"], ["--sram-budget", "not a number of bytes", "-1"]),
        (["npu", "rum", "x.npz"], ["unknown command rum", "did you mean run"]),
        (["inspect", "a", "b"], ["one argument too many: b"]),
        (["run"], ["program is required"]),
    ],
)  # fmt: skip
def test_a_wrong_command_line_names_what_was_typed(run_carina, args, words):
    done = run_carina(args, expect=2)
    assert done.stderr.startswith("carina: error: "), done.stderr
    for word in words:
        assert word in done.stderr, done.stderr
    said = json.loads(run_carina([*args, "--json"], expect=2).stdout)
    assert said["status"] == "failed" and words[0] in said["errors"][0]["what"] + said["errors"][0]["where"]


def test_the_program_alone_prints_the_help(run_carina):
    done = run_carina([], expect=2)
    assert done.stdout == run_carina(["--help"]).stdout and not done.stderr


def test_help_has_sections_with_what_is_needed_first(run_carina):
    text = run_carina(["compile", "--help"]).stdout
    places = [
        text.index(title)
        for title in (
            "Target and output:",
            "Quantization:",
            "NPU or CPU:",
            "Memory, budgets and speed:",
            "Reports:",
            "Passes",
        )
    ]
    assert places == sorted(places)
    assert (
        text.index("--target") < places[1]
        and text.index("--output") < places[1]
        and text.index("--sram-budget") > places[3]
    )


def test_the_program_is_named_after_the_model(run_carina, work, tmp_path):
    run_carina(["compile", work / "digits.tosa", "-t", "ethos-u55-128"], cwd=tmp_path)
    assert (tmp_path / "digits.pte").is_file()


def test_help_is_a_command_too(run_carina):
    assert run_carina(["help"]).stdout == run_carina(["--help"]).stdout
    assert run_carina(["help", "compile"]).stdout == run_carina(["compile", "--help"]).stdout


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("comp", {"compile", "compare", "completion"}),
        ("compile --calibr", {"--calibrate", "--calibration_data"}),
        ("compile -t ethos-u65", {"ethos-u65-256", "ethos-u65-512"}),
        ("sweep --memory-modes Sram", {"Sram_Only"}),
        ("explain -q int8", {"int8", "int8x4"}),
        ("completion f", {"fish"}),
        ("npu r", {"run"}),
        ("compile --io = ui", {"uint8"}),
        ("aot --memory_m", {"--memory_mode"}),
        ("aot -t ethos-u65", {"ethos-u65-256", "ethos-u65-512"}),
    ],
)
def test_bash_completes_commands_and_options(carina, run_carina, tmp_path, typed, completed):
    (tmp_path / "script").write_text(run_carina(["completion", "bash"]).stdout)
    words = f"carina {typed}".split()
    shell = f"source {tmp_path / 'script'}; COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _carina; echo ${{COMPREPLY[@]}}"
    env = {**os.environ, "PATH": f"{Path(carina).parent}:{os.environ['PATH']}", "CARINA_PYTHON": sys.executable}
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=True, env=env)
    assert set(done.stdout.split()) == completed


def test_completion_has_each_command_and_names_the_shells(run_carina):
    commands = re.findall(r"^  (\S+)", run_carina(["--help"]).stdout.split("Subcommands:")[1], flags=re.MULTILINE)
    fish = run_carina(["completion", "fish"]).stdout
    assert all(f"-a {command} -d" in fish for command in commands)
    zsh = run_carina(["completion", "zsh"]).stdout
    assert zsh.startswith("#compdef carina\n")
    assert "_bash_complete" in zsh.splitlines()[-1], "the first Tab, for which zsh reads the file, completes too"
    assert "fish" in run_carina(["completion", "tcsh"], expect=2).stderr


def test_manual_has_each_option_of_each_command(run_carina, tmp_path):
    commands = re.findall(r"^  (\S+)", run_carina(["--help"]).stdout.split("Subcommands:")[1], flags=re.MULTILINE)
    run_carina(["manual", "-o", tmp_path])
    assert {path.name for path in tmp_path.iterdir()} == {"carina.1", *(f"carina-{command}.1" for command in commands)}
    for command in commands:
        page = (tmp_path / f"carina-{command}.1").read_text()
        assert page == run_carina(["manual", command]).stdout
        if "(in Python)" in page:
            continue  # its --help is made by Python
        names = re.findall(r"^  (?:-\w,)?(--[\w-]+)", run_carina([command, "--help"]).stdout, flags=re.MULTILINE)
        assert names and not [name for name in names if name.replace("-", r"\-") not in page]
        assert not re.search(r"^['.](?!TH|SH|SS|TP|PP|nf|fi|ad|nh)", page, flags=re.MULTILINE), (
            "text that roff takes for a request"
        )
    assert "no command compil" in run_carina(["manual", "compil"], expect=2).stderr


def test_names_that_hands_of_the_arm_backend_know(run_carina, work, tmp_path):
    args = ["compile", "-m", MODEL, "-t", "Ethos-U55-128", "-q", "INT8", "--calibration_data", CALIBRATION, "-d", "-i", tmp_path / "dump",
            "--system_config", "Ethos_U55_High_End_Embedded", "--memory_mode", "Shared_Sram", "-o", tmp_path / "x.pte"]  # fmt: skip
    run_carina(args)
    assert (tmp_path / "x.pte").read_bytes() == (work / "digits.pte").read_bytes()
    assert list((tmp_path / "dump").glob("*.tosa"))
    assert "--intermediates" in run_carina(["compile", "--help"]).stdout


def test_what_a_program_is_made_for_stands_in_the_report(run_carina, work, tmp_path):
    args = ["compile", work / "digits.tosa", "--accelerator-config", "ethos-u55-128", "-o", tmp_path / "x.pte"]
    default = run_carina([*args, "--json"]).json
    assert (default["optimize"], default["sram_budget_bytes"], default["arena_cache_bytes"]) == ("speed", 0, 0)
    for flag, name in [
        (["-O2"], "speed"),
        (["-O3"], "search"),
        (["-Os"], "size"),
        (["--optimise", "Size"], "size"),
        (["--optimize=Performance"], "speed"),
    ]:
        assert run_carina([*args, *flag, "--json"]).json["optimize"] == name
    said = run_carina([*args, "-Os", "--arena-budget", "1M", "--arena-cache-size", "512K"]).stdout
    assert "optimized for size, at most 1,048,576 B of arena, at most 524,288 B of fast memory" in said
    assert "optimized" not in run_carina(args).stdout
    dynamic = run_carina([*args, "--dynamic-weights", "--json"])
    assert dynamic.json["dynamic_weights"] is True and "not confirmed on silicon" in dynamic.stderr
    assert default["dynamic_weights"] is False


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--arena-cache-size", "0"], ["--arena-cache-size", "at least 1 byte"]),
        (["--memory-mode", "Dedicated_Sram"], ["Dedicated_Sram", "only reads", "Shared_Sram or Sram_Only"]),
        (["--memory-mode", "Dedicated"], ["unknown memory mode", "Dedicated_Sram_512KB"]),
        (["--system-config", "Ethos_U65_High_End"], ["not for ethos-u55-128", "Ethos_U55_High_End_Embedded"]),
    ],
)  # fmt: skip
def test_memories_that_do_not_fit_the_target(run_carina, work, tmp_path, args, words):
    done = run_carina(
        ["compile", work / "digits.tosa", "-t", "ethos-u55-128", "-o", tmp_path / "x.pte", *args], expect=2
    )
    for word in words:
        assert word in done.stderr, done.stderr


def vela_flags():
    """Every option that the installed Vela lists, with a value if it takes one."""
    import subprocess
    import sys

    text = subprocess.run(
        [sys.executable, "-m", "ethosu.vela", "--help"], capture_output=True, text=True, check=True
    ).stdout
    usage = re.sub(r"\s+", " ", text[: text.index("positional arguments")])
    found = re.findall(r"\[(--[a-z0-9-]+)(?: ([^\[\]]+(?:\[[^\]]*\][^\[\]]*)*))?\]", usage)
    return {flag: value.strip("{}").split(",")[0] for flag, value in found}


def test_every_flag_of_vela_is_known(run_carina, work, tmp_path):
    flags = vela_flags()
    assert len(flags) >= 50 and flags["--optimise"] == "Size"
    for flag, value in flags.items():
        done = run_carina(
            [
                "compile",
                work / "digits.tosa",
                "-t",
                "ethos-u55-128",
                "-o",
                tmp_path / "x.pte",
                f"--extra-flag={flag} {value}",
            ],
            expect=None,
        )
        assert done.code in (0, 1, 2) and "unknown flag" not in done.stderr, (flag, done.stderr)
        assert "takes no value" not in done.stderr and "value is missing" not in done.stderr, (flag, done.stderr)


def test_flags_of_vela_mean_what_they_say(run_carina, work, tmp_path):
    args = ["compile", work / "digits.tosa", "-t", "ethos-u55-128", "-o", tmp_path / "x.pte"]
    shown = run_carina(
        [*args, "--extra_flags", "--optimise Size --verbose-config", "--extra-flag=--verbose-register-command-stream"]
    )
    assert "optimized for size" in shown.stdout and "core_clock=5e+08" in shown.stdout and "NPU_OP_CONV" in shown.stdout
    delegate = run_carina([*args, "--extra-flag", "--verbose-all", "--json"]).json["delegates"][0]
    assert list(delegate["shown"]) == [
        "config",
        "graph",
        "schedule",
        "allocation",
        "operations",
        "commands",
        "weights",
        "performance",
    ]
    assert "tosa.CONV2D" in delegate["shown"]["graph"] and "arena" in delegate["shown"]["allocation"]
    ignored = run_carina([*args, "--extra-flag", "--recursion-limit 2000 --max-block-dependency=3"])
    assert (
        "note: --recursion-limit: makes no difference" in ignored.stderr and "--max-block-dependency" in ignored.stderr
    )
    for flags, words in [("--optimse Size", ["did you mean --optimise?"]), ("--output-dir x", ["not supported by Carina", "--dump DIR"]),
                         ("--output-format tflite", ["writes no .tflite", "-o FILE.npz"]), ("--optimise Small", ["Size or Performance", "Small"]),
                         ("--arena-cache-size", ["its value is missing"]), ("--accelerator-config ethos-u85-256", ["the NPU contradicts", "ethos-u85-256"]),
                         ("Size", ["not a flag of Vela"]), ("--verbose-graph=1", ["it takes no value"])]:  # fmt: skip
        done = run_carina([*args, "--extra-flag", flags], expect=2)
        for word in words:
            assert word in done.stderr, done.stderr
    assert (
        "the level of optimization contradicts"
        in run_carina([*args, "-Os", "--extra-flag", "--optimise=Performance"], expect=2).stderr
    )


def test_a_stream_instead_of_a_program(run_carina, work, tmp_path):
    run_carina(["compile", work / "digits.tosa", "-t", "ethos-u55-128", "--dump", tmp_path, "-o", tmp_path / "x.pte"])
    report = run_carina(
        ["compile", work / "digits.tosa", "-t", "ethos-u55-128", "-o", tmp_path / "x_vela.npz", "--json"]
    ).json
    assert (tmp_path / "x_vela.npz").read_bytes() == (tmp_path / "output_tag0_vela.npz").read_bytes()
    assert (
        report["program_bytes"]
        == report["delegates"][0]["command_stream_bytes"] + report["delegates"][0]["weight_bytes"]
    )
    run_carina(["npu", "run", tmp_path / "x_vela.npz", "--check"])
    partly = run_carina(["compile", MODEL, "-t", "ethos-u55-128", "--calibrate", CALIBRATION, "-o", tmp_path / "y.npz"])
    assert "run on the CPU and are not part of the .npz" in partly.stderr
    none = run_carina(["compile", MODEL, "-t", "ethos-u55-128", "-o", tmp_path / "z.npz"], expect=1)
    assert "can hold one delegate only" in none.stderr and not (tmp_path / "z.npz").exists()


def test_targets_list_what_fits_what(run_carina, tmp_path):
    listed = run_carina(["targets", "--json"]).json
    assert {t["name"] for t in listed["targets"]} >= {"ethos-u55-32", "ethos-u65-512", "ethos-u85-2048"}
    systems = {s["name"]: s for s in listed["system_configs"]}
    assert systems["Ethos_U55_High_End_Embedded"]["memory_modes"] == ["Sram_Only", "Shared_Sram"]
    assert "Dedicated_Sram_384KB" in systems["Ethos_U65_High_End"]["memory_modes"]
    assert systems["Ethos_U65_Embedded"]["memories"] == ["Sram", "OffChipFlash"]
    board = tmp_path / "board.ini"
    board.write_text("[System_Config.Mine]\ncore_clock=250e6\naxi0_port=Sram\naxi1_port=Dram\n[Memory_Mode.Small]\nconst_mem_area=Axi1\n"
                     "arena_mem_area=Axi1\ncache_mem_area=Axi0\narena_cache_size=65536\n")  # fmt: skip
    for args in (["targets", "--config", board], ["--list-configs", board], ["compile", "--list-configs", board]):
        own = run_carina([*args, "--json"]).json
        assert own["system_configs"][0]["from"] == str(board) and own["system_configs"][0]["clock_hz"] == 250_000_000
        assert "Small" in own["system_configs"][0]["memory_modes"]
        assert own["memory_modes"][0]["arena_cache_bytes"] == 65536
    text = run_carina(["targets", "--config", board]).stdout
    assert "Mine" in text and "65,536" in text and "ethos-u85-2048" in text
    assert run_carina(["--list-configs", "Arm/vela.ini"]).stdout == run_carina(["targets"]).stdout


def test_options_of_many_values_leave_the_arguments_alone(run_carina, work, tmp_path):
    node = json.loads(run_carina(["explain", MODEL, "--target", "ethos-u55-128", "--json"]).stdout)["nodes"][0]["name"]
    run_carina(["compile", "--cpu-node", node, MODEL, "--target", "ethos-u55-128", "-o", tmp_path / "x.pte"])
    run_carina(["run", "-i", work / "x.npy", work / "digits.pte"])


def test_dump_has_its_old_name_with_a_word(run_carina, work, tmp_path):
    done = run_carina(
        ["compile", work / "digits.tosa", "-t", "ethos-u55-128", "-i", tmp_path / "dump", "-o", tmp_path / "x.pte"]
    )
    assert "-i: the option is called --dump now" in done.stderr and list((tmp_path / "dump").glob("*.npz"))
    assert "called" not in run_carina(["run", work / "digits.pte", "-i", work / "x.npy"]).stderr


def test_quiet_prints_warnings_alone_and_verbose_each_step(run_carina, work, tmp_path):
    args = ["compile", MODEL, "-t", "ethos-u55-128", "--calibrate", CALIBRATION, "-o", tmp_path / "x.pte"]
    quiet = run_carina([*args, "--quiet"])
    assert not quiet.stdout and not quiet.stderr
    assert run_carina([*args, "--quiet", "--json"]).json["target"] == "ethos-u55-128"
    assert "warning" in run_carina([*args, "--quiet", "--quantize", "none"]).stderr, "the data are not used"
    assert "no such file" in run_carina(["run", "none.pte", "--quiet"], expect=1).stderr.lower()
    verbose = run_carina([*args, "--verbose"])
    steps = [line for line in verbose.stderr.splitlines() if re.match(r"carina: +\d+\.\d{3} s: ", line)]
    assert any("calibrating" in line for line in steps) and any("writing commands" in line for line in steps)
    assert verbose.stdout == run_carina(args).stdout
    run_carina([*args, "--verbose", "--quiet"], expect=2)


@pytest.mark.parametrize(
    ("args", "file"),
    [
        (["inspect", "-"], "digits.pte"),
        (["inspect", "-"], MODEL),
        (["compile", "-", "-t", "ethos-u55-128"], "digits.tosa"),
        (["run", "-"], "digits.pte"),
        (["run", "digits.pte", "-i", "-"], "x.npy"),
        (["interpret", "-"], "digits.tosa"),
        (["compile", MODEL, "-t", "ethos-u55-128", "--calibrate", "-", "-o", "c.pte"], CALIBRATION),
        (["accuracy", MODEL, "digits.pte", "--data", "-"], TEST),
        (["npu", "run", "-"], "stream.npz"),
    ],
)  # fmt: skip
def test_a_hyphen_is_standard_input(carina, run_carina, work, tmp_path, args, file):
    """As a pipe, whose bytes are read once."""
    args = [work / arg if arg == "digits.pte" else arg for arg in args]
    named = run_carina([work / file if arg == "-" else arg for arg in args], cwd=tmp_path).stdout
    done = subprocess.run([carina, *args], input=(work / file).read_bytes(), capture_output=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = re.sub(r"\S*carina-\w+/standard-input\.\w+", str(work / file), done.stdout.decode())
    assert text.replace("standard-input.pte", "digits.pte") == named


def test_standard_input_without_bytes_is_an_error(carina, work, tmp_path):
    done = subprocess.run(
        [carina, "inspect", "-"],
        input=b"",
        capture_output=True,
        text=False,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert done.returncode == 2 and b"standard input: no bytes" in done.stderr
    done = subprocess.run(
        [carina, "inspect", "-"], input=b"nonsense", capture_output=True, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    assert done.returncode == 1 and not list(tmp_path.iterdir()), "no temporary file remains"
    done = subprocess.run(
        [carina, "inspect", "-"],
        input=b"nonsense",
        capture_output=True,
        env={**os.environ, "TMPDIR": str(tmp_path / "none")},
    )
    assert done.returncode == 2 and b"TMPDIR" in done.stderr


def test_sram_budget_takes_units(run_carina, work, tmp_path):
    args = ["compile", MODEL, "--target", "ethos-u55-128", "--calibrate", CALIBRATION, "-o", tmp_path / "x.pte"]
    run_carina([*args, "--sram-budget", "1M"])
    run_carina([*args, "--sram-budget", "0"])  # no limit
    assert "1,024" in run_carina([*args, "--sram-budget", "1K"], expect=1).stderr.replace("1024", "1,024")


# --- files of the wrong kind ----------------------------------------------------------------------------------------

COMMANDS = {
    "compile": (["compile", None, "-t", "ethos-u55-128", "-o", "out.pte"], {"pt2", "tosa"}),
    "explain": (["explain", None, "-t", "ethos-u55-128"], {"pt2", "tosa"}),
    "run": (["run", None], {"pte"}),
    "npu run": (["npu", "run", None], {"raw"}),
    "interpret": (["interpret", None], {"tosa"}),
    "disasm": (["disasm", None], {"pte", "raw"}),
    "calibrate": (["compile", MODEL, "-t", "ethos-u55-128", "-o", "out.pte", "--calibrate", None], {"npz"}),
    "-i": (["interpret", "digits.tosa", "-i", None], {"npy"}),
}  # fmt: skip
KINDS = {
    "pt2": (MODEL, "torch.export.save"),
    "pte": ("digits.pte", "an ExecuTorch program (.pte)"),
    "tosa": ("digits.tosa", "a TOSA file"),
    "raw": ("stream.npz", "a command stream (Vela's raw .npz)"),
    "npy": ("x.npy", "a NumPy array (.npy)"),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_of_another_kind_is_named(run_carina, work, command, kind):
    args, takes = COMMANDS[command]
    file, name = KINDS[kind]
    if kind in takes or (command in ("calibrate", "-i") and kind in ("raw", "npy", "npz")):
        return
    done = run_carina([file if a is None else a for a in args], expect=1, cwd=work)
    assert "this is " in done.stderr and name in done.stderr, done.stderr
    assert "damaged" not in done.stderr and "complete?" not in done.stderr


FILES_OF_OTHER_TOOLS = {
    "model.onnx": (b"\x08\x08\x12\x07pytorch\x1a\x05", "an ONNX model"),
    "exported": (b"\x08\x0a\x12\x07pytorch\x1a\x05", "an ONNX model"),
    "cut.onnx": (b"xyz", "an ONNX model"),
    "weights.h5": (b"\x89HDF\r\n\x1a\n" + bytes(8), "an HDF5 file"),
    "weights.safetensors": (b"\x08" + bytes(7) + b'{"a":{}}' + bytes(8), "safetensors"),
    "image.elf": (b"\x7fELF" + bytes(60), "an ELF file"),
    "net.py": (b"import torch\n", "a Python file"),
}


@pytest.mark.parametrize("name", FILES_OF_OTHER_TOOLS)
def test_files_of_other_tools_are_named(run_carina, tmp_path, name):
    content, kind = FILES_OF_OTHER_TOOLS[name]
    path = tmp_path / name
    path.write_bytes(content)
    for args in (
        ["compile", path, "--target", "ethos-u55-128", "-o", tmp_path / "x.pte"],
        ["inspect", path],
        ["run", path],
    ):
        done = run_carina(args, expect=1)
        assert kind in done.stderr, done.stderr
        assert "torch.export.save" in done.stderr or "carina firmware" in done.stderr, done.stderr


FILES_OF_NO_USE = {
    "model.pt2": (b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 9\n", "Git LFS", "git lfs pull"),
    "download.pt2": (b"<!DOCTYPE html><title>404</title>", "an HTML page", "error page"),
    "model.pt2.gz": (b"\x1f\x8b\x08" + bytes(20), "gzip", "gunzip"),
    "model.tar": (b"model.pt2" + bytes(248) + b"ustar" + bytes(20), "a tar archive", "tar -xf"),
    "weights.gguf": (b"GGUF" + bytes(20), "GGUF", "torch.export.save"),
    "clip.wav": (b"RIFF\x24\0\0\0WAVEfmt " + bytes(20), "a sound file", "np.savez"),
    "cat.png": (b"\x89PNG\r\n\x1a\n" + bytes(20), "an image", "--calibrate"),
    "table.csv": (b"1,2\r\n3,4\r\n", "a text file", "np.savez"),
}


@pytest.mark.parametrize("name", FILES_OF_NO_USE)
def test_other_files_are_named_with_what_to_do(run_carina, tmp_path, name):
    content, kind, advice = FILES_OF_NO_USE[name]
    path = tmp_path / name
    path.write_bytes(content)
    for args in (
        ["compile", path, "-t", "ethos-u55-128"],
        ["inspect", path],
        ["run", path],
        ["compile", MODEL, "-t", "ethos-u55-128", "--calibrate", path],
    ):
        done = run_carina(args, expect=1, cwd=tmp_path)
        assert kind in done.stderr and advice in done.stderr, done.stderr


def test_a_folder_without_samples_says_what_it_has(run_carina, tmp_path):
    (tmp_path / "clips").mkdir()
    (tmp_path / "clips" / "a.wav").write_bytes(FILES_OF_NO_USE["clip.wav"][0])
    done = run_carina(["compile", MODEL, "-t", "ethos-u55-128", "--calibrate", "clips"], expect=1, cwd=tmp_path)
    assert "no samples" in done.stderr and "a.wav, a sound file" in done.stderr and "np.savez" in done.stderr, (
        done.stderr
    )


def test_inspect_goes_by_what_a_file_holds(run_carina, work, tmp_path):
    (tmp_path / "odd.bin").write_bytes((work / "digits.pte").read_bytes())
    assert run_carina(["inspect", tmp_path / "odd.bin"]).stdout == run_carina(["inspect", work / "digits.pte"]).stdout
    assert "fp32 [1,1,8,8]" in run_carina(["inspect", work / "x.npy"]).stdout
    for content, word in [
        (b"", "an empty file"),
        (b"\x80\x02}q\x00.", "torch.save"),
        (b"\x1c\0\0\0TFL3" + bytes(40), "a version of the .tflite schema"),
    ]:
        (tmp_path / "odd.bin").write_bytes(content)
        assert word in run_carina(["inspect", tmp_path / "odd.bin"], expect=1).stderr
    with zipfile.ZipFile(tmp_path / "script.pt", "w") as archive:
        archive.writestr("m/constants.pkl", b"")
    assert (
        "TorchScript"
        in run_carina(["compile", tmp_path / "script.pt", "-t", "ethos-u55-128", "-o", tmp_path / "x"], expect=1).stderr
    )


def test_the_hint_for_a_pickle_is_a_program_that_works(run_carina, tmp_path):
    torch.save(torch.nn.Linear(4, 2), tmp_path / "model.pt")
    done = run_carina(["compile", "model.pt", "-t", "ethos-u55-128"], expect=1, cwd=tmp_path)
    lines = [line.strip() for line in done.stderr.splitlines() if line.startswith("    ")]
    assert len(lines) == 2, done.stderr
    program = "\n".join(
        ["import os, torch", f"os.chdir({str(tmp_path)!r})", "example_input = torch.zeros(1, 4)", *lines]
    )
    exec(program, {})  # noqa: S102
    run_carina(["compile", "model.pt2", "-t", "ethos-u55-128"], cwd=tmp_path)


def test_numbers_are_numbers_in_json(run_carina, work):
    program = run_carina(["inspect", work / "digits.pte", "--json"]).json["parts"][0]
    assert program["bytes"] == (work / "digits.pte").stat().st_size
    command = run_carina(["disasm", work / "digits.pte", "--json"]).json["parts"][0]
    assert command["offset"] == 0 and isinstance(command["command"], str)


@pytest.mark.parametrize("args", [["compile", "none.pt2", "-t", "ethos-u55-128", "-o", "x"], ["explain", "none.pt2", "-t", "ethos-u55-128"],
                                  ["run", "none.pte"], ["accuracy", "none.pt2", "none.pte", "--data", "none.npz"], ["inspect", "none.pte"],
                                  ["disasm", "none.pte"], ["tosa", "none.pt2", "-o", "x"], ["npu", "run", "none.npz"], ["interpret", "none.tosa"]])  # fmt: skip
def test_every_error_is_an_object_with_json(run_carina, tmp_path, args):
    said = run_carina([*args, "--json"], expect=1, cwd=tmp_path).json
    assert said["status"] == "failed" and "No such file" in said["errors"][0]["what"]


# --- data -----------------------------------------------------------------------------------------------------------


def test_archives_without_arrays(run_carina, tmp_path):
    args = ["compile", MODEL, "-t", "ethos-u55-128", "-o", tmp_path / "x.pte", "--calibrate", tmp_path / "d.npz"]
    np.savez(tmp_path / "d.npz")
    assert "an empty archive" in run_carina(args, expect=1).stderr
    np.savez(tmp_path / "d.npz", x=np.array([np.zeros(2), None], dtype=object))
    assert "only arrays of objects or text (x)" in run_carina(args, expect=1).stderr


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.uint8])
def test_another_type_comes_with_the_remedy(run_carina, work, tmp_path, dtype):
    np.save(tmp_path / "x.npy", np.zeros((1, 1, 8, 8), dtype))
    assert ".astype(np.float32)" in run_carina(["run", work / "digits.pte", "-i", tmp_path / "x.npy"], expect=1).stderr
    args = ["compile", MODEL, "-t", "ethos-u55-128", "-o", tmp_path / "x.pte", "--calibrate", tmp_path / "x.npy"]
    assert ".astype(np.float32)" in run_carina(args, expect=1).stderr


def test_inputs_by_name_and_from_one_archive(run_carina, work, tmp_path):
    x = np.random.default_rng(1).normal(size=(1, 1, 8, 8)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "x.npz", x=x)
    plain = run_carina(["run", work / "digits.pte", "-i", tmp_path / "x.npy"]).stdout
    assert run_carina(["run", work / "digits.pte", "-i", f"input_0={tmp_path / 'x.npy'}"]).stdout == plain
    assert run_carina(["run", work / "digits.pte", "-i", tmp_path / "x.npz"]).stdout == plain


def two_inputs(path, batch=1):
    import torch

    class Two(torch.nn.Module):
        def forward(self, sensor, ctx):
            return torch.relu(sensor @ torch.ones(4, 4) + ctx)

    torch.export.save(torch.export.export(Two(), (torch.ones(batch, 4), torch.ones(batch, 4))), path)


def test_a_folder_of_one_file_per_input(run_carina, tmp_path):
    two_inputs(tmp_path / "m.pt2")
    folder = tmp_path / "c"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for name in ("ctx", "sensor"):
        np.save(folder / f"{name}.npy", rng.normal(size=(32, 4)).astype(np.float32))
    report = run_carina(
        [
            "compile",
            tmp_path / "m.pt2",
            "-t",
            "ethos-u55-128",
            "--calibrate",
            folder,
            "-o",
            tmp_path / "x.pte",
            "--json",
        ]
    ).json
    assert "32 samples" in report["quantization"]


def test_batches_of_calibration_data(run_carina, tmp_path):
    two_inputs(tmp_path / "m.pt2", batch=4)
    data = np.random.default_rng(0).normal(size=(32, 4)).astype(np.float32)
    args = [
        "compile",
        tmp_path / "m.pt2",
        "-t",
        "ethos-u55-128",
        "--calibrate",
        tmp_path / "c.npz",
        "-o",
        tmp_path / "x.pte",
        "--json",
    ]
    np.savez(tmp_path / "c.npz", sensor=data, ctx=data)
    assert "8 samples" in run_carina(args).json["quantization"]
    np.savez(tmp_path / "c.npz", sensor=data[:31], ctx=data[:31])
    rejected = run_carina(args, expect=1)
    assert "[N,4,4]" in rejected.stderr and "[4*N,4]" in rejected.stderr


def test_accuracy_rejects_nonsense(run_carina, work, tmp_path):
    data = dict(np.load(TEST))
    x, y = data["x"][:20], data["y"][:20]

    def accuracy(expect, **arrays):
        np.savez(tmp_path / "d.npz", **arrays)
        return run_carina(["accuracy", MODEL, work / "digits.pte", "--data", tmp_path / "d.npz"], expect=expect)

    for labels in (y + 100, y * 0 - 1, y + 0.5):
        assert "is not a class of the model" in accuracy(1, x=x, y=labels).stderr
    bad = x.copy()
    bad[7, 0, 0, 0] = np.nan
    assert "sample 7 of the input x has NaN" in accuracy(1, x=bad, y=y).stderr
    unlabeled = accuracy(0, x=x).stdout
    assert "20 unlabeled samples" in unlabeled and "SQNR" in unlabeled and "right" not in unlabeled


def test_a_dump_folder_is_of_one_program(run_carina, work, tmp_path):
    two_inputs(tmp_path / "m.pt2")
    dump = tmp_path / "dump"
    dump.mkdir()
    stale = ["output_tag7_TOSA-1.0+INT.tosa", "output_tag7_vela.npz"]
    for name in [*stale, "mine.txt", "output_tags.tosa"]:
        (dump / name).write_bytes(b"old")
    run_carina(
        ["compile", MODEL, "-t", "ethos-u55-128", "--calibrate", CALIBRATION, "--dump", dump, "-o", tmp_path / "x.pte"]
    )
    names = {p.name for p in dump.iterdir()}
    assert not names & set(stale) and {"mine.txt", "output_tags.tosa", "output_tag0_vela.npz"} <= names


def test_compile_warns_first_if_nothing_runs_on_the_npu(run_carina, tmp_path):
    args = ["compile", MODEL, "-t", "ethos-u55-128", "-o", tmp_path / "x.pte"]
    first = run_carina(args).stderr
    assert "warning" in first and "nothing runs on the NPU" in first and "--calibrate" in first
    ignored = run_carina([*args, "--quantize", "none", "--calibrate", CALIBRATION]).stderr
    assert "the calibration data are not used" in ignored
    assert run_carina([*args, "--no-delegate"]).stderr == ""


def test_threads_beyond_the_machine_are_silent(run_carina, work):
    assert run_carina(["run", work / "digits.pte", "--timed", "--threads", "256"]).stderr == ""
    assert run_carina(["npu", "run", work / "stream.npz", "--threads", "256"]).stderr == ""


def test_layers_are_folded_unless_all_are_asked_for(run_carina, work):
    def rows(*args):
        table = run_carina(["npu", "run", work / "stream.npz", "--timed", *args]).stdout
        return [line.split()[0] for line in table[table.index("  layer") :].splitlines()[1:] if line.startswith("  ")]

    each = run_carina(["npu", "run", work / "stream.npz", "--timed", "--json"]).json["npu"]["layers"]
    assert len(rows("--all")) == len(each)
    folded = run_carina(["run", work / "digits.pte", "--timed"]).stdout
    names = [
        layer["name"] for layer in run_carina(["run", work / "digits.pte", "--timed", "--json"]).json["npu"]["layers"]
    ]
    assert len(set(names)) < len(names)  # digits has layers of several operations
    table = folded[folded.index("  layer") : folded.index("total:")].splitlines()[1:]
    assert len(table) == len(set(names))


def test_a_header_that_is_cut_in_a_word(run_carina, tmp_path):
    file = io.BytesIO()
    np.save(file, np.zeros((2, 2), np.float32))
    (tmp_path / "x.npy").write_bytes(file.getvalue().replace(b"False", b"Fals\0"))
    run_carina(["inspect", tmp_path / "x.npy"], expect=1)


def a_product(g):
    a, b = g.input([1, 64, 64], D.INT8), g.input([1, 64, 64], D.INT8)
    y = g.op(
        OP.MATMUL, [a, b, g.zero_point(D.INT8, 0), g.zero_point(D.INT8, 0)], [1, 64, 64], D.INT32, "MatMulAttribute"
    )
    return g.finish(y)


def test_dynamic_weights_need_a_flag_and_are_warned_of(run_carina, tmp_path):
    (tmp_path / "product.tosa").write_bytes(npu_graphs.generate(0, "ethos-u55-128", a_product).tosa)
    cycles = {}
    for flags in ((), ("--dynamic-weights",)):
        done = run_carina(
            [
                "compile",
                tmp_path / "product.tosa",
                "--target",
                "ethos-u55-128",
                *flags,
                "-o",
                tmp_path / "x.pte",
                "--json",
            ]
        )
        cycles[flags] = json.loads(done.stdout)["cycles"]
        assert ("not confirmed on silicon" in done.stderr) == bool(flags)
    assert 4 * cycles["--dynamic-weights",] < cycles[()]


class Applied(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


X, Y = torch.linspace(-1, 1, 12).reshape(4, 3), torch.linspace(2, -2, 15).reshape(5, 3)
IMAGE = torch.zeros(1, 3, 8, 8)
REMEDIES = [
    ("cdist", torch.cdist, (X, Y), "y.mT"),
    ("pdist", torch.nn.functional.pdist, (X,), "above the diagonal"),
    ("masked_scatter", lambda x: x.masked_scatter(x > 0, torch.zeros(12)), (X,), "torch.where(mask, source, x)"),
    (
        "bilinear",
        lambda x: torch.nn.functional.interpolate(x, scale_factor=2, mode="bilinear", antialias=True),
        (IMAGE,),
        "leave out antialias=True",
    ),
    (
        "bicubic",
        lambda x: torch.nn.functional.interpolate(x, scale_factor=2, mode="bicubic", antialias=True),
        (IMAGE,),
        "leave out antialias=True",
    ),
    ("mask", lambda x: x[:, torch.tensor([True, False, True])], (X,), "x[:, torch.tensor([0, 2])]"),
]


@pytest.mark.parametrize(
    ("function", "inputs", "says"), [row[1:] for row in REMEDIES], ids=[row[0] for row in REMEDIES]
)
def test_an_operator_without_a_way_is_answered_with_what_to_write(run_carina, tmp_path, function, inputs, says):
    torch.export.save(torch.export.export(Applied(function).eval(), inputs), tmp_path / "m.pt2")
    failed = run_carina(
        ["compile", tmp_path / "m.pt2", "-t", "ethos-u55-128", "--no-delegate", "-o", tmp_path / "m.pte"], expect=1
    )
    assert says in failed.stderr


def test_the_advice_for_cdist_compiles_and_is_right(run_carina, tmp_path):
    def advised(x, y):
        return ((x * x).sum(-1, True) - 2 * x @ y.mT + (y * y).sum(-1, True).mT).clamp(min=0).sqrt()

    torch.export.save(torch.export.export(Applied(advised).eval(), (X, Y)), tmp_path / "m.pt2")
    run_carina(["compile", tmp_path / "m.pt2", "-t", "ethos-u55-128", "--no-delegate", "-o", tmp_path / "m.pte"])
    np.savez(tmp_path / "in.npz", input_0=X.numpy(), input_1=Y.numpy())
    run_carina(["run", tmp_path / "m.pte", "-i", tmp_path / "in.npz", "-o", tmp_path / "out"])
    assert np.allclose(np.load(tmp_path / "out" / "output_0.npy"), torch.cdist(X, Y).numpy(), atol=1e-5)


def test_operators_are_found_by_a_part_of_their_name(run_carina):
    text = run_carina(["ops", "Conv2D"]).stdout
    assert "| aten.conv2d.default |" in text and "| tosa.CONV2D |" in text and "aten.conv1d" not in text
    assert "no operator has this text" in run_carina(["ops", "conv7d"], expect=2).stderr


def test_explain_says_why_the_scheme_leaves_a_node_float(run_carina):
    words = ["explain", MODEL, "-t", "ethos-u55-128", "--calibrate", CALIBRATION, "--json"]
    name = run_carina(words).json["nodes"][0]["name"]
    nodes = run_carina([*words, "--quantize-at", f"node:{name}=float"]).json["nodes"]
    assert {row["reason"] for row in nodes if row["name"] == name} == {
        f"--quantize-at node:{name}=float keeps it float"
    }


def test_show_prints_the_parts_that_it_names(run_carina, work, tmp_path):
    words = ["compile", work / "digits.tosa", "-t", "ethos-u55-128", "-o", tmp_path / "x.pte"]
    shown = run_carina([*words, "--show", "allocation", "--show", "config"]).stdout
    assert "--- allocation of delegate 0\n" in shown and "System_Config.Ethos_U55_High_End_Embedded" in shown
    assert (
        run_carina([*words, "--show", "weights"]).stdout
        == run_carina([*words, "--extra-flag", "--verbose-weights"]).stdout
    )
    wrong = run_carina([*words, "--show", "alocation"], expect=2).stderr
    assert "expected config, graph, schedule, allocation" in wrong and "did you mean allocation?" in wrong
