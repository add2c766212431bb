"""Tests the Python package: same bytes as the command line, errors as exceptions, arrays without copies, threads, Ctrl-C, types.

References: the command line, PyTorch's own exporter, NumPy's views, mypy and ruff.
"""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from conftest import PACKAGE, ROOT
from torch.utils.data import DataLoader, TensorDataset

DIGITS = ROOT / "models" / "digits"
TARGET = "ethos-u55-128"


@pytest.fixture(scope="session")
def calibration():
    return np.load(DIGITS / "calibration.npz")["x"]


@pytest.fixture(scope="session")
def image():
    return np.load(DIGITS / "test.npz")["x"][:1]


@pytest.fixture(scope="session")
def program(package, calibration):
    return package.compile(DIGITS / "digits.pt2", target=TARGET, calibration=calibration)


@pytest.fixture(scope="session")
def cli_bytes(run_carina, tmp_path_factory):
    """The command line's program for models/digits with these options, and its folder."""

    def compile(*options):
        folder = tmp_path_factory.mktemp("cli")
        run_carina(
            [
                "compile",
                DIGITS / "digits.pt2",
                "--target",
                TARGET,
                "--calibrate",
                DIGITS / "calibration.npz",
                *options,
                "-o",
                folder / "model.pte",
            ]
        )
        return (folder / "model.pte").read_bytes()

    return compile


def in_a_process(code, *arguments):
    """Runs Python code with the package in a separate process and returns its result."""
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )


@pytest.mark.parametrize(
    "form",
    [
        "path",
        "arrays",
        "array",
        "samples",
        "tensor",
        "loader",
        "batches",
        "dicts",
        "data set",
        "rows",
        "pairs of a dict",
        "lists of pairs",
    ],
)
def test_calibration_in_every_form_gives_the_bytes_of_the_command_line(form, package, calibration, cli_bytes):
    given = {
        "path": DIGITS / "calibration.npz",
        "arrays": {"x": calibration},
        "array": calibration,
        "samples": [(sample[None],) for sample in calibration],
        "tensor": torch.from_numpy(calibration),
        "loader": DataLoader(
            TensorDataset(torch.from_numpy(calibration), torch.arange(len(calibration))), batch_size=24
        ),
        "batches": DataLoader(torch.from_numpy(calibration), batch_size=24),
        "dicts": [{"x": sample, "label": 3, "path": "a.png"} for sample in calibration],
        "data set": TensorDataset(torch.from_numpy(calibration), torch.arange(len(calibration))),
        "rows": list(calibration),
        "pairs of a dict": [({"x": sample[None]}, 3) for sample in calibration],
        "lists of pairs": DataLoader([(sample, 3) for sample in calibration], batch_size=24, collate_fn=list),
    }[form]
    assert package.compile((DIGITS / "digits.pt2").read_bytes(), target=TARGET, calibration=given).pte == cli_bytes()


def test_rows_of_a_loader_are_batches_of_the_model(package, calibration):
    """A model that takes four at once, from 62 rows in batches of 10: fifteen samples, as from one array; a note says what is left."""
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 4)).eval()
    example = (torch.zeros(4, 1, 8, 8),)
    loader = DataLoader(TensorDataset(torch.from_numpy(calibration[:62]), torch.arange(62)), batch_size=10)
    program = package.compile(model, example, target=TARGET, calibration=loader)
    assert program.pte == package.compile(model, example, target=TARGET, calibration=calibration[:60]).pte
    texts = [str(note) for note in program.notes if note.where == "calibration"]
    assert (
        len(texts) == 2
        and "array 2 of each sample: taken for labels, not used" in texts[0]
        and "the last 2 rows are not used" in texts[1]
    )


def test_samples_of_a_model_with_two_inputs(package):
    torch.manual_seed(0)
    samples = [(torch.rand(4, 8), torch.rand(4, 8)) for _ in range(8)]
    model, inputs = Sum().eval(), samples[0]
    wanted = package.compile(
        model,
        inputs,
        target=TARGET,
        calibration={"x": torch.stack([x for x, _ in samples]), "y": torch.stack([y for _, y in samples])},
    ).pte
    assert package.compile(model, inputs, target=TARGET, calibration=samples).pte == wanted
    assert (
        package.compile(model, inputs, target=TARGET, calibration=[{"y": y, "x": x} for x, y in samples]).pte == wanted
    )
    assert package.compile(model, inputs, target=TARGET, calibration=[(pair, 1) for pair in samples]).pte == wanted, (
        "the pair is the inputs, 1 is the label"
    )
    with pytest.raises(package.InputError, match="too few arrays: expected 2 .x float32.4, 8.*got 1"):
        package.compile(model, inputs, target=TARGET, calibration=[(x,) for x, _ in samples])
    with pytest.raises(package.InputError, match="no array for the input y: expected x, y, got x, z"):
        package.compile(model, inputs, target=TARGET, calibration=[{"x": x, "z": z} for x, z in samples])
    with pytest.raises(package.InputError, match="no sample"):
        package.compile(model, inputs, target=TARGET, calibration=[])
    with pytest.raises(package.UsageError, match="a DataLoader"):
        package.compile(model, inputs, target=TARGET, calibration=5)


@pytest.mark.parametrize(
    "words, options",
    [
        (["--quantize", "int16x8", "--io", "int16"], {"quantize": "int16x8", "io": "int16"}),
        (["--no-delegate"], {"no_delegate": True}),
        (["--no-delegate", "--cpu-kernels", "cortex-m"], {"no_delegate": True, "cpu_kernels": "cortex-m"}),
        (
            ["--cpu-op", "linear", "--cpu-module", "stem", "-Os"],
            {"cpu_op": "linear", "cpu_module": ["stem"], "optimize": "size"},
        ),
        (
            ["--memory-mode", "Sram_Only", "--arena-cache-size", "1M"],
            {"memory_mode": "Sram_Only", "arena_cache_size": "1M"},
        ),
        (["--extra-flag", "--optimise Size"], {"extra_flag": "--optimise Size"}),
    ],
)
def test_options_mean_what_they_mean_on_the_command_line(words, options, package, calibration, cli_bytes):
    assert package.compile(DIGITS / "digits.pt2", target=TARGET, calibration=calibration, **options).pte == cli_bytes(
        *words
    )


@pytest.mark.parametrize(
    "old, new", [({"optimise": "size"}, {"optimize": "size"}), ({"fix": True}, {"legalize": True})]
)
def test_old_spellings_are_taken_with_a_warning(old, new, package, calibration):
    with pytest.warns(FutureWarning, match=f"{next(iter(old))} is called {next(iter(new))} now"):
        told = package.compile(DIGITS / "digits.pt2", target=TARGET, calibration=calibration, **old)
    assert told.pte == package.compile(DIGITS / "digits.pt2", target=TARGET, calibration=calibration, **new).pte


class Sum(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, 8)

    def forward(self, x, y):
        return self.first(x).relu() + y


def test_a_module_and_its_export_and_its_file_are_one(package, run_carina, tmp_path):
    torch.manual_seed(0)
    module, inputs = Sum(), (torch.randn(4, 8), torch.randn(4, 8))
    exported = torch.export.export(module.eval(), inputs)
    torch.export.save(exported, tmp_path / "model.pt2")
    run_carina(["tosa", tmp_path / "model.pt2", "-o", tmp_path / "model.tosa"])
    expected = (tmp_path / "model.tosa").read_bytes()
    with pytest.warns(package.CarinaWarning, match="training mode"):
        assert package.tosa(module.train(), inputs) == expected
    assert module.training, "the mode is given back"
    assert package.tosa(exported) == expected
    np.testing.assert_allclose(package.interpret(expected, inputs)[0], module.eval()(*inputs).detach(), rtol=1e-5)


def test_results_of_a_type_that_export_cannot_save_are_flat(package):
    class Model(torch.nn.Module):
        def forward(self, x):
            return {"sum": x + 1, "max": torch.max(x, 1)}

    x = torch.tensor([[1.0, 3.0], [5.0, 2.0]])
    with pytest.raises(NotImplementedError):
        torch.export.save(torch.export.export(Model(), (x,)), os.devnull)
    run = package.compile(torch.export.export(Model(), (x,)), target="TOSA-1.0+FP").run(x)
    expected = Model()(x)
    for mine, its in zip(run, [expected["sum"], *expected["max"]], strict=True):
        np.testing.assert_array_equal(np.asarray(mine), its.numpy())


def test_a_run_is_that_of_the_command_line(package, program, image, run_carina, tmp_path):
    program.save(tmp_path / "model.pte")
    np.save(tmp_path / "x.npy", image)
    told = run_carina(
        ["run", tmp_path / "model.pte", "-i", tmp_path / "x.npy", "-o", tmp_path, "--timed", "--json"]
    ).json
    run = package.Program.load(tmp_path / "model.pte").run(image, timed=True)
    np.testing.assert_array_equal(run[0], np.load(tmp_path / "output_0.npy"))
    assert run.cycles == told["npu"]["cycles"] and run.names == ["output_0"] and len(list(run)) == 1
    assert program.run(image).cycles is None


def test_the_report_is_that_of_the_command_line(program, package, calibration, run_carina):
    words = ["explain", DIGITS / "digits.pt2", "--target", TARGET, "--calibrate", DIGITS / "calibration.npz", "--json"]
    told = run_carina(words).json["nodes"]
    assert program.explain().nodes == told
    assert package.explain(DIGITS / "digits.pt2", target=TARGET, calibration=calibration).nodes == told
    assert "conv2d_4" in str(program.explain()) and "cycles per inference" in str(program.report())
    assert "conv2d_4" in program.report()._repr_html_()


def test_dense_arrays_are_not_copied_and_others_are_taken(package, program, image):
    run = program.run(image)
    output = run[0]
    assert not output.flags.owndata, "a view of the run's memory"
    again = run[0]
    assert np.shares_memory(output, again)
    expected = output.copy()
    del run, again
    np.testing.assert_array_equal(output, expected)  # the array keeps its memory alive
    padded = np.zeros((1, 1, 8, 16), np.float32)
    padded[..., ::2] = image
    np.testing.assert_array_equal(program.run(padded[..., ::2])[0], expected)
    frozen = image.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(program.run(frozen)[0], expected)


def rejection(action, kind):
    with pytest.raises(kind) as caught:
        action()
    return caught.value


def test_errors_say_what_where_expected_and_got(package, program, image, tmp_path):
    wrong = rejection(lambda: program.run(image.astype(np.float64)), package.InputError)
    (said,) = wrong.diagnostics
    assert (said.expected, said.got, said.fault, said.severity) == (
        "fp32 [1,1,8,8]",
        "fp64 [1,1,8,8]",
        "input",
        "error",
    )
    assert "astype(np.float32)" in said.hint and said.hint in str(wrong)
    assert (
        "ethos-u85-2048"
        in rejection(lambda: package.compile(DIGITS / "digits.pt2", target="u99"), package.UsageError)
        .diagnostics[0]
        .expected
    )
    assert (
        rejection(lambda: package.compile(tmp_path / "none.pt2", target=TARGET), package.EnvironmentFailure)
        .diagnostics[0]
        .fault
        == "environment"
    )
    assert rejection(lambda: package.compile(b"no model", target=TARGET), package.InputError)
    assert (
        rejection(lambda: package.compile(object(), target=TARGET), package.UsageError).diagnostics[0].got == "object"
    )
    assert rejection(lambda: package.run(program.pte[:100], image), package.InputError)
    assert rejection(lambda: package.accuracy(DIGITS / "digits.pt2", data={"x": image}), package.UsageError)
    with pytest.raises(TypeError, match="unknown option 'cpu_nodes'.*cpu_node"):
        package.compile(DIGITS / "digits.pt2", target=TARGET, cpu_nodes=["linear"])
    assert issubclass(package.InternalError, package.CarinaError)


def test_warnings_and_notes_reach_the_caller(package):
    with pytest.warns(package.CarinaWarning, match="nothing runs on the NPU"):
        program = package.compile(DIGITS / "digits.pt2", target=TARGET)
    assert [note.severity for note in program.notes] == ["warning"]
    heard, steps = [], set()
    package.compile(
        DIGITS / "digits.pt2", target=TARGET, note=heard.append, progress=lambda step, done, total: steps.add(step)
    )
    assert heard and "not quantized" in heard[0].what
    assert steps, "passes over the graph at least"


def test_an_exception_of_a_listener_ends_the_call(package, calibration):
    def listener(step, done, total):
        raise ZeroDivisionError(step)

    with pytest.raises(ZeroDivisionError):
        package.compile(DIGITS / "digits.pt2", target=TARGET, calibration=calibration, progress=listener)


def test_threads_compile_at_once_and_others_go_on(package, calibration, program):
    made, expected = {}, {}
    targets = [TARGET, "ethos-u85-256", "ethos-u65-512"]

    def work(target):
        made[target] = package.compile(DIGITS / "digits.pt2", target=target, calibration=calibration).pte

    for target in targets:
        expected[target] = package.compile(DIGITS / "digits.pt2", target=target, calibration=calibration).pte
    threads = [threading.Thread(target=work, args=[target]) for target in targets * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == expected


def test_the_gil_is_let_go_while_a_call_works():
    done = in_a_process(
        """
        import sys, threading, time, numpy, carina
        ticks, over = [], threading.Event()
        def tick():
            while not over.is_set():
                ticks.append(time.monotonic())
                time.sleep(0.001)
        thread = threading.Thread(target=tick, daemon=True)
        thread.start()
        x = numpy.random.default_rng(0).random((500, 1, 8, 8), "f4")
        start = time.monotonic()
        carina.compile(sys.argv[1], target="ethos-u55-128", calibration=x)
        end = time.monotonic()
        over.set()
        print(sum(start < t < end for t in ticks) > 5)  # one who holds the GIL lets another in at most once
        """,
        DIGITS / "digits.pt2",
    )
    assert done.stdout.strip() == "True", done.stderr


def test_ctrl_c_ends_a_compile_and_leaves_a_working_process():
    done = in_a_process(
        """
        import os, signal, sys, numpy, carina
        heard = []
        def interrupt(step, done, total):
            heard.append(step)
            if len(heard) == 5:
                os.kill(os.getpid(), signal.SIGINT)
        x = numpy.random.default_rng(0).random((16, 1, 8, 8), "f4")
        try:
            carina.compile(sys.argv[1], target="ethos-u55-128", calibration=x, progress=interrupt)
        except KeyboardInterrupt:
            print("interrupted", len(heard) <= 6)
        print(len(carina.compile(sys.argv[1], target="ethos-u55-128", calibration=x).pte) > 1000)
        """,
        DIGITS / "digits.pt2",
    )
    assert done.stdout.split() == ["interrupted", "True", "True"], done.stderr


def test_a_signal_from_outside_ends_a_compile_too():
    code = textwrap.dedent(
        """
        import sys, numpy, carina
        x = numpy.random.default_rng(0).random((20000, 1, 8, 8), "f4")
        print("ready", flush=True)
        carina.compile(sys.argv[1], target="ethos-u55-128", calibration=x)
        """
    )
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(DIGITS / "digits.pt2")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout.readline() == "ready\n"
    threading.Timer(0.3, process.send_signal, [signal.SIGINT]).start()
    _, errors = process.communicate(timeout=120)
    assert process.returncode != 0 and "KeyboardInterrupt" in errors


def test_ctrl_c_ends_a_run_on_the_simulator_and_one_in_the_interpreter():
    done = in_a_process(
        """
        import os, signal, torch, carina

        class Deep(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = torch.nn.Conv2d(32, 32, 3, padding=1)

            def forward(self, x):
                for _ in range(60):
                    x = self.conv(x)
                return x

        model, inputs = Deep().eval(), (torch.rand(1, 32, 96, 96),)
        program = carina.compile(model, inputs, target="ethos-u55-128", calibration=[inputs])
        tosa = carina.tosa(model, inputs, quantize="none")
        for run in (lambda **listener: program.run(*inputs, **listener), lambda **listener: carina.interpret(tosa, **listener)):
            heard = []
            def interrupt(step, done, total):
                heard.append(step)
                os.kill(os.getpid(), signal.SIGINT)
            try:
                run(progress=interrupt)
            except KeyboardInterrupt:
                print(*heard)
        """
    )
    assert done.stdout.split() == ["run", "run"], done.stderr


def test_importing_loads_neither_torch_nor_numpy_nor_the_compiler():
    done = in_a_process(
        "import carina, sys; print([m for m in ('torch', 'numpy', 'carina._native') if m in sys.modules], 'compile' in dir(carina))"
    )
    assert done.stdout.strip() == "[] True", done.stderr
    done = in_a_process(
        "import carina, sys; carina.compile(sys.argv[1], target='ethos-u55-128', no_delegate=True); print('torch' in sys.modules)",
        DIGITS / "digits.pt2",
    )
    assert done.stdout.strip() == "False", done.stderr


def test_accuracy_compare_and_npu_are_the_commands(package, program, calibration, run_carina, tmp_path):
    program.save(tmp_path / "model.pte")
    told = run_carina(
        ["accuracy", DIGITS / "digits.pt2", tmp_path / "model.pte", "--data", DIGITS / "test.npz", "--json"]
    ).json
    test = np.load(DIGITS / "test.npz")
    measured = package.accuracy(DIGITS / "digits.pt2", program, data={"x": test["x"], "y": test["y"]})
    assert {k: v for k, v in measured.details.items() if k != "program"} == {
        k: v for k, v in told.items() if k != "program"
    }
    smaller = package.compile(
        DIGITS / "digits.pt2", target=TARGET, calibration=calibration, optimize="size", dump=tmp_path / "dump"
    )
    smaller.save(tmp_path / "smaller.pte")
    told = run_carina(["compare", tmp_path / "model.pte", tmp_path / "smaller.pte", "--json"]).json
    assert package.compare(program, smaller).details["layers"] == told["layers"]
    stream = tmp_path / "dump" / "output_tag0_vela.npz"
    run_carina(["npu", "run", stream, "-o", tmp_path / "zeros", "--check"])
    run = package.npu(stream, check=True, timed=True)
    np.testing.assert_array_equal(run[0], np.load(tmp_path / "zeros" / "output_0.npy"))
    assert run.details["findings"] == [] and run.cycles > 0
    (tosa,) = (tmp_path / "dump").glob("*.tosa")
    np.testing.assert_array_equal(package.interpret(tosa)[0].ravel(), run[0].ravel())


def test_parts_of_the_library_make_the_command_line_s_delegate(package, calibration, program, image, cli_bytes):
    """The steps of a plug-in. A TOSA file does not contain the names of layers, so the whole program differs."""
    from carina import _native

    model = _native.import_pt2((DIGITS / "digits.pt2").read_bytes())
    (taken,) = _native.inputs(model)
    assert (taken.dtype, taken.shape) == ("float32", (1, 1, 8, 8))
    model = _native.quantize(model, [[sample[None]] for sample in calibration])
    flags = _native.read_flags("--accelerator-config=ethos-u55-128 --optimise Performance --config Arm/vela.ini")
    assert flags.optimize == "speed"
    cut = _native.partition(model, flags.target)
    assert all(decision.runs_on_npu for decision in cut.decisions) and {"conv2d", "linear"} <= {
        decision.user_node for decision in cut.decisions
    }
    blobs = [_native.compile_delegate(tosa, flags.target) for tosa in cut.delegates]
    assert [blob.backend_id for blob in blobs] == ["EthosUBackend"] and blobs[0].cycles > 0
    assert blobs[0].blob in cli_bytes()
    np.testing.assert_array_equal(package.run(_native.package(cut, blobs), image)[0], program.run(image)[0])
    kept = _native.partition(model, flags.target, cpu_ops=["linear"])
    assert [decision.rule for decision in kept.decisions if decision.user_node == "linear"] != [""]
    with pytest.raises(TypeError, match="unknown option 'cpu_op'"):
        _native.partition(model, flags.target, cpu_op=["linear"])
    with pytest.raises(TypeError, match="'dynamic_weights' does not take"):
        _native.compile_delegate(cut.delegates[0], flags.target, dynamic_weights=[])
    with pytest.raises(package.UsageError, match="speed, search, size"):
        _native.compile_delegate(cut.delegates[0], flags.target, optimize="fast")


def test_mypy_strict_accepts_the_package():
    """mypy --strict accepts the package, including the stubs of the module."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml"]
        + ["-p", "carina", "-p", "carina_arm", "-p", "carina_plugins"],
        cwd=PACKAGE,
        env={**os.environ, "MYPYPATH": str(ROOT / "python" / "plugins")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_ruff_accepts_the_package():
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--no-cache", ROOT / "python"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_python_is_formatted():
    folders = ["bench", "models", "python", "scripts", "tests"]
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--check", "--no-cache", *folders],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, "run ruff format\n" + done.stdout + done.stderr


def test_programs_are_copied_and_pickled(package, program):
    import copy
    import pickle

    for again in (pickle.loads(pickle.dumps(program)), copy.deepcopy(program)):
        assert again.pte == program.pte and str(again.report()) == str(program.report())
        assert (
            again.explain().nodes == program.explain().nodes and again.report().to_html() == program.report().to_html()
        )
        assert [str(note) for note in again.notes] == [str(note) for note in program.notes]
    assert pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(program)))).pte == program.pte


def test_runs_are_copied_and_pickled(package, program, image):
    import copy
    import pickle

    done = program.run(image, timed=True)
    for again in (pickle.loads(pickle.dumps(done)), copy.deepcopy(done), pickle.loads(pickle.dumps(copy.copy(done)))):
        assert [array.tobytes() for array in again] == [array.tobytes() for array in done] and again.names == done.names
        assert (again.cycles, again.details, str(again), repr(again)) == (
            done.cycles,
            done.details,
            str(done),
            repr(done),
        )
        assert [str(note) for note in again.notes] == [str(note) for note in done.notes]


@pytest.mark.parametrize("names", [("wrong",), ("x", "wrong")])
def test_wrong_names_of_calibration_are_errors(package, calibration, names):
    with pytest.raises(package.InputError, match="wrong: not an input of the model.*: expected x") as raised:
        package.compile(DIGITS / "digits.pt2", target=TARGET, calibration=dict.fromkeys(names, calibration))
    assert "name the arrays as the inputs: x" in str(raised.value)
    labeled = {"x": calibration, "y": np.zeros(len(calibration), "i8")}
    assert (
        package.compile(DIGITS / "digits.pt2", target=TARGET, calibration=labeled).pte
        == package.compile(DIGITS / "digits.pt2", target=TARGET, calibration=calibration).pte
    )


def test_zero_threads_are_an_error_of_usage(package, program):
    for call in (
        lambda: program.run(threads=0),
        lambda: package.compile(DIGITS / "digits.pt2", target=TARGET, threads=0),
    ):
        with pytest.raises(package.UsageError, match="threads: not a number of threads: expected 1 to 256"):
            call()


def test_hints_speak_of_python(package, program):
    with pytest.raises(package.UsageError, match="give calibration=") as raised:
        package.compile(DIGITS / "digits.pt2", target=TARGET, quantize="int8")
    assert "--calibrate" not in str(raised.value)
    assert "give calibration=array with" in str(raised.value) and 'calibration="random" shows' in str(raised.value)
    with pytest.raises(package.InputError, match=r"convert it: array.astype\(np.float32\); NumPy") as raised:
        program.run(np.zeros((1, 1, 8, 8)))
    with pytest.raises(package.InputError, match=r"convert it: array.astype\(np.float32\)$"):
        program.run(np.zeros((1, 1, 8, 8), np.uint8))


def test_no_temporary_path_is_shown(package, program):
    data = dict(np.load(DIGITS / "test.npz"))
    measured = package.accuracy(DIGITS / "digits.pt2", program, data=data)
    assert (
        str(measured).startswith("program.pte on 450 labeled samples") and measured.details["program"] == "program.pte"
    )


def test_warnings_name_the_callers_line(package):
    import warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        package.compile(DIGITS / "digits.pt2", target=TARGET, calibration=np.zeros((4, 1, 1, 8, 8), "f4"))
    assert caught and all(Path(warning.filename).name == "test_python.py" for warning in caught)


def test_hints_of_warnings_speak_of_python(package):
    with pytest.warns(package.CarinaWarning, match="give calibration=array"):
        package.compile(DIGITS / "digits.pt2", target=TARGET)


@pytest.mark.parametrize("wrong", ["abc", [["a"]], None])
def test_what_is_no_array_is_an_error_of_usage(package, program, wrong):
    with pytest.raises(
        package.UsageError, match="not an array of numbers: expected an array or a tensor for each input"
    ):
        program.run(wrong)


def test_a_file_of_another_kind_is_no_program(package, program, tmp_path):
    with pytest.raises(package.InputError, match="README.md: not an ExecuTorch program"):
        package.Program.load(ROOT / "README.md")
    program.save(tmp_path / "x.pte")
    assert package.Program.load(tmp_path / "x.pte").pte == program.pte


@pytest.mark.parametrize("size", [10**30, "9999999999T", -1])
def test_sizes_beyond_their_type_are_errors_of_usage(package, calibration, size):
    with pytest.raises(package.UsageError, match="sram_budget: not a number of bytes"):
        package.compile(DIGITS / "digits.pt2", target=TARGET, calibration=calibration, sram_budget=size)


def test_errors_and_notes_show_no_temporary_path(package, program):
    x, notes = np.load(DIGITS / "calibration.npz")["x"], []
    with pytest.raises(package.InputError) as raised:
        package.accuracy(DIGITS / "digits.pt2", program, data={"x": x[:0]})
    assert str(raised.value).startswith("data.npz: ")
    package.accuracy(DIGITS / "digits.pt2", program, data={"x": x, "more": x}, note=notes.append)
    assert [str(note) for note in notes] and str(notes[0]).startswith("data.npz: more: not an input")


def test_dir_lists_the_names_of_the_package(package):
    listed = dir(package)
    assert {"arm", "compile", "Program"} <= set(listed) and not {"Any", "TYPE_CHECKING", "importlib"} & set(listed)


def test_a_batch_runs_sample_by_sample_as_on_the_command_line(package, program, run_carina, tmp_path):
    images = np.load(DIGITS / "test.npz")["x"][:6]
    program.save(tmp_path / "model.pte")
    np.save(tmp_path / "x.npy", images)
    run_carina(["run", tmp_path / "model.pte", "-i", tmp_path / "x.npy", "-o", tmp_path])
    run = program.run(images)
    np.testing.assert_array_equal(run[0], np.load(tmp_path / "output_0.npy"))
    assert run[0].shape == (6, 10) and run.details["samples"] == 6
    np.testing.assert_array_equal(run[0][2:3], program.run(images[2:3])[0])
    timed = program.run(images, timed=True)
    assert timed.cycles == program.run(images[:1], timed=True).cycles, "of one inference"
    with pytest.raises(package.InputError, match="expected fp32 .1,1,8,8."):
        program.run(images[:, 0])


def test_inputs_are_given_in_order_by_name_or_as_a_dict(package):
    torch.manual_seed(0)
    inputs = (torch.rand(4, 8), torch.rand(4, 8))
    program = package.compile(Sum().eval(), inputs, target=TARGET, calibration=[inputs])
    wanted = program.run(*inputs)[0].copy()
    x, y = inputs
    for run in (
        program(x, y),
        program.run(y=y, x=x),
        program.run(x, y=y),
        program.run({"y": y, "x": x}),
        program.run({"input_1": y, "x": x}),
        program.run([x, y]),
    ):
        np.testing.assert_array_equal(run[0], wanted)
    np.testing.assert_array_equal(package.run(program.pte, {"input_1": y, "input_0": x})[0], wanted)
    for call in (lambda: program.run(x, z=y), lambda: program.run(x, y, y=y), lambda: program.run({"x": x, "why": y})):
        with pytest.raises(TypeError, match="is no input"):
            call()
    with pytest.raises(TypeError, match="'thread' is no input: did you mean 'threads'"):
        program.run(x, y, thread=2)
    with pytest.raises(package.UsageError, match="no array for the input y"):
        program.run({"x": x})
    single = package.compile(torch.nn.ReLU().eval(), (x,), target="TOSA-1.0+FP")
    np.testing.assert_array_equal(single.run({"x": x})[0], single.run(x)[0])


def test_a_program_says_what_it_takes_gives_and_costs(package, program, calibration, tmp_path):
    (taken,), (given,) = program.inputs, program.outputs
    assert (taken.name, taken.dtype, taken.shape, taken.scale) == ("x", "float32", (1, 1, 8, 8), None)
    assert (given.dtype, given.shape) == ("float32", (1, 10))
    assert (program.target, program.cycles) == (TARGET, program.report().details["cycles"])
    raw = package.compile(DIGITS / "digits.pt2", target=TARGET, calibration=calibration, io="int8")
    (port,) = raw.inputs
    assert (port.dtype, port.zero_point) == ("int8", -128) and abs(port.scale - 1 / 255) < 1e-4
    image = np.load(DIGITS / "test.npz")["x"][:1]
    integers = np.clip(np.rint(image / port.scale) + port.zero_point, -128, 127).astype(np.int8)
    (result,) = raw.outputs
    np.testing.assert_array_equal(
        (raw(integers)[0].astype(np.float32) - result.zero_point) * np.float32(result.scale), program(image)[0]
    )
    program.save(tmp_path / "model.pte")
    loaded = package.Program.load(tmp_path / "model.pte")
    assert loaded == program and hash(loaded) == hash(program) and loaded != raw and loaded != loaded.pte
    assert (loaded.inputs[0].name, loaded.inputs[0].shape, loaded.target, loaded.cycles) == (
        "input_0",
        (1, 1, 8, 8),
        TARGET,
        None,
    )
    with pytest.raises(package.UsageError, match="a program from a file has no report.*\n.*carina.compile"):
        loaded.report()
    assert "input_0" in loaded._repr_html_() and "<iframe" in program._repr_html_()
    on_cpu = package.compile(DIGITS / "digits.pt2", target=TARGET, no_delegate=True)
    assert on_cpu.target == "" and package.compile(DIGITS / "digits.pt2", target="vgf").target == "vgf"


def test_every_object_has_a_short_representation(package, program, image):
    objects = [
        program,
        program.report(),
        program.explain(),
        program.run(image),
        program.run(image, timed=True),
        package.accuracy(DIGITS / "digits.pt2", program, data=DIGITS / "test.npz"),
    ]
    for each in objects:
        text = repr(each)
        assert (
            text.startswith(f"<carina.{type(each).__name__}")
            and text.endswith(">")
            and len(text) < 200
            and "0x" not in text
            and "\n" not in text
        ), text
    assert "14 of 14 nodes on the NPU" in repr(program.explain()) and TARGET in repr(program)


@pytest.mark.parametrize(
    "options, kind, near",
    [
        ({"quantise": "int8"}, "TypeError", "'quantize'"),
        ({"cpu_nodes": "a"}, "TypeError", "'cpu_node'"),
        ({"memorymode": "a"}, "TypeError", "'memory_mode'"),
        ({"target": "u55-128"}, "UsageError", "ethos-u55-128"),
        ({"target": "ethos-u55-129"}, "UsageError", "ethos-u55-128"),
        ({"target": "ethos_u65_256"}, "UsageError", "ethos-u65-256"),
        ({"memory_mode": "SramOnly"}, "UsageError", "Sram_Only"),
        ({"system_config": "Ethos_U55_High_Endembedded"}, "UsageError", "Ethos_U55_High_End_Embedded"),
        ({"quantize": "in8"}, "UsageError", "int8"),
        ({"quantize": "int8+min-max"}, "UsageError", "minmax"),
    ],
)
def test_the_nearest_name_is_offered(package, options, kind, near):
    with pytest.raises(TypeError if kind == "TypeError" else package.UsageError, match=f"did you mean {near}\\?"):
        package.compile(DIGITS / "digits.pt2", **{"target": TARGET, **options})


def test_a_bar_changes_at_most_ten_times_a_second(package, calibration, monkeypatch):
    """tqdm's place is taken by a class that counts."""
    import types

    from carina import _listeners

    made, texts, clock = [], [], [100.0]

    class Bar:
        def __init__(self, **options):
            made.append(options)

        def set_description_str(self, text):
            texts.append((clock[0], text))

        def close(self):
            made.append("closed")

    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Bar))
    monkeypatch.setattr(_listeners.time, "monotonic", lambda: clock.__setitem__(0, clock[0] + 0.02) or clock[0])
    package.compile(DIGITS / "digits.pt2", target=TARGET, calibration=calibration, progress=True)
    assert len(made) == 2 and made[1] == "closed", "one bar for the call"
    times = [when for when, _ in texts]
    assert len(times) > 3 and min(b - a for a, b in zip(times, times[1:])) >= 0.1 - 1e-9
    assert any(text.startswith("calibrating ") for _, text in texts), "the words of the command line"


def test_what_torch_cannot_export_is_an_error_with_a_hint(package):
    class Branch(torch.nn.Module):
        def forward(self, x):
            return x + 1 if x.sum() > 0 else x - 1

    with pytest.raises(package.InputError, match="torch.cond") as raised:
        package.compile(Branch().eval(), (torch.ones(2, 2),), target=TARGET)
    assert raised.value.diagnostics[0].where == "Branch" and raised.value.__cause__ is not None
    scripted = torch.jit.script(torch.nn.ReLU())
    with pytest.raises(package.InputError, match="TorchScript"):
        package.compile(scripted, (torch.ones(2, 2),), target=TARGET)
    with pytest.raises(package.InputError, match="torch.export cannot export the model"):
        package.compile(torch.nn.Linear(3, 3).eval(), (torch.ones(2, 2),), target=TARGET)


class Digits(torch.nn.Module):
    """A module with the shapes of models/digits."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.conv, self.linear = torch.nn.Conv2d(1, 4, 3), torch.nn.Linear(144, 10)

    def forward(self, x):
        return self.linear(torch.flatten(torch.relu(self.conv(x)), 1))


def test_accuracy_of_a_module_on_a_loader(package, calibration):
    model = Digits().eval()
    test = np.load(DIGITS / "test.npz")
    x, y = torch.from_numpy(test["x"]), torch.from_numpy(test["y"])
    program = package.compile(
        model, (x[:1],), target=TARGET, calibration=DataLoader(TensorDataset(x, y), batch_size=50)
    )
    wanted = package.accuracy(model, program, data={"x": test["x"], "y": test["y"]}, inputs=(x[:1],)).details
    assert wanted["samples"] == 450 and "npu_right" in wanted
    assert package.accuracy(model, program, data=DataLoader(TensorDataset(x, y), batch_size=64)).details == wanted
    assert package.accuracy(model, program, data=TensorDataset(x, y)).details == wanted
    with pytest.raises(package.UsageError, match="carina.accuracy.model, program, inputs="):
        package.accuracy(model, layers=True, data={"x": test["x"]})


@pytest.mark.parametrize(
    "form", ["one-hot", "one-hot rows", "lists", "dicts of labels", "dicts", "dicts of rows", "two workers"]
)
def test_labels_in_every_form(form, package, calibration):
    """What collate functions and data sets give: labels one-hot, as lists, in dicts with other things beside them."""
    model = Digits().eval()
    test = np.load(DIGITS / "test.npz")
    x, y = torch.from_numpy(test["x"][:96]), torch.from_numpy(test["y"][:96])
    program = package.compile(model, (x[:1],), target=TARGET, calibration=calibration)
    wanted = package.accuracy(model, program, data={"x": x, "y": y}).details
    hot = torch.nn.functional.one_hot(y, 10).float()
    rows = [
        {"image": image, "label": int(label), "index": n, "path": f"{n}.png"}
        for n, (image, label) in enumerate(zip(x, y, strict=True))
    ]
    given = {
        "one-hot": DataLoader(TensorDataset(x, hot), batch_size=10),
        "one-hot rows": TensorDataset(x, hot),
        "lists": DataLoader(
            TensorDataset(x, y),
            batch_size=10,
            collate_fn=lambda pairs: (torch.stack([image for image, _ in pairs]), [int(label) for _, label in pairs]),
        ),
        "dicts of labels": DataLoader(
            [(row["image"], {"label": row["label"], "path": row["path"]}) for row in rows], batch_size=10
        ),
        "dicts": DataLoader(rows, batch_size=10),
        "dicts of rows": DataLoader(rows, batch_size=None),
        "two workers": DataLoader(TensorDataset(x, y), batch_size=10, num_workers=2),
    }[form]
    for metric in ("", "top1") if form == "one-hot" else ("",):
        found = package.accuracy(model, program, data=given, metric=metric).details
        assert found["npu_right"] == wanted["npu_right"] and found["samples"] == 96


def test_rows_of_python_numbers_are_samples(package, calibration):
    model, example = torch.nn.Sequential(torch.nn.Linear(64, 4)).eval(), (torch.zeros(1, 64),)
    rows = calibration.reshape(-1, 64)
    wanted = package.compile(model, example, target=TARGET, calibration=rows).pte
    assert package.compile(model, example, target=TARGET, calibration=rows.tolist()).pte == wanted
    assert package.compile(model, example, target=TARGET, calibration=[(row, 3) for row in rows.tolist()]).pte == wanted


@pytest.mark.parametrize(
    "model, target, text",
    [
        (Digits, TARGET, r"this is a class: Digits\(\)"),
        ({"weight": 1}, TARGET, "load_state_dict"),
        (len, TARGET, "forward"),
        (DIGITS / "digits.pt2", [TARGET], "carina.sweep"),
    ],
)
def test_what_is_no_model_or_target_has_a_hint(package, model, target, text):
    with pytest.raises(package.UsageError, match=text):
        package.compile(model, (torch.zeros(1, 1, 8, 8),), target=target)


def test_what_is_no_label_is_left_out(package, calibration):
    x = torch.from_numpy(calibration[:24])
    model = Digits().eval()
    program = package.compile(model, (x[:1],), target=TARGET, calibration=calibration)
    boxes = [torch.rand(n % 3 + 1, 4) for n in range(24)]
    for others in ([f"{n}.png" for n in range(24)], boxes, [{"boxes": each} for each in boxes]):
        found = package.accuracy(model, program, data=list(zip(x, others, strict=True))).details
        assert "npu_right" not in found and found["samples"] == 24


def test_a_sweep_is_that_of_the_command_line(package, calibration, run_carina, tmp_path):
    words = [
        "sweep",
        DIGITS / "digits.pt2",
        "--targets",
        "ethos-u55-128,ethos-u85-256",
        "--quantize",
        "int8,int16x8",
        "--calibrate",
        DIGITS / "calibration.npz",
    ]
    told = run_carina([*words, "--json"]).json
    result = package.sweep(
        DIGITS / "digits.pt2",
        targets=["ethos-u55-128", "ethos-u85-256"],
        quantize=["int8", "int16x8"],
        calibration=list(calibration),
        report=tmp_path / "page.html",
    )
    key = ("quantization", "target", "cycles", "sram_bytes", "program_bytes", "program_sha256")
    assert [[row[name] for name in key] for row in result.rows] == [[row[name] for name in key] for row in told["rows"]]
    assert "4 of 4 combinations" in repr(result) and "ethos-u85-256" in str(result) and str(tmp_path) not in str(result)
    assert (tmp_path / "page.html").read_text() == result.to_html() and "<iframe" in result._repr_html_()
    with pytest.raises(package.UsageError, match="unknown target"):
        package.sweep(DIGITS / "digits.pt2", targets="ethos-u56")
    model = Digits().eval()
    assert (
        package.sweep(model, (torch.zeros(1, 1, 8, 8),), targets="ethos-u55-128", calibration=calibration).rows[0][
            "status"
        ]
        == "compiled"
    )


@pytest.fixture
def photos(tmp_path):
    """Digits as PNG files in a folder per class, and the same values as arrays for std=0.5."""
    from PIL import Image

    data = np.load(DIGITS / "test.npz")
    pixels = np.clip(np.round(data["x"][:40].reshape(40, 8, 8) / data["x"].max() * 255), 0, 255).astype(np.uint8)
    order = sorted(range(40), key=lambda n: (data["y"][n], n))
    for n in order:
        (tmp_path / "photos" / str(data["y"][n])).mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels[n]).save(tmp_path / "photos" / str(data["y"][n]) / f"{n:03}.png")
    x = (pixels[order].astype(np.float64) / 255 / 0.5).astype(np.float32).reshape(40, 1, 8, 8)
    return tmp_path / "photos", {"x": x, "y": data["y"][:40][order]}


def test_a_folder_of_images_is_calibration_and_data(package, photos, run_carina, tmp_path):
    """Images in folders by class give the program and the figures of the arrays, and the bytes of the command line."""
    folder, arrays = photos
    model = DIGITS / "digits.pt2"
    program = package.compile(model, target=TARGET, calibration=folder, std=0.5)
    run_carina(["compile", model, "-t", TARGET, "--calibrate", folder, "--std", "0.5", "-o", tmp_path / "x.pte"])
    assert (
        program.pte
        == (tmp_path / "x.pte").read_bytes()
        == package.compile(model, target=TARGET, calibration=arrays["x"]).pte
    )
    of_images = package.accuracy(model, program, data=folder, std=[0.5]).details
    assert of_images == package.accuracy(model, program, data=arrays).details and of_images["classes"]
    assert (
        package.accuracy(model, layers=True, data=str(folder), std=0.5).details
        == package.accuracy(model, layers=True, data={"x": arrays["x"]}).details
    )
    assert (
        package.sweep(model, targets=TARGET, calibration=folder, data=folder, std=0.5).rows[0]["accuracy"]["metric"]
        == "top1"
    )
    assert package.tosa(model, calibration=folder, std=0.5) == package.tosa(model, calibration=arrays["x"])
    for wrong in (0, "half", [0.5, float("nan")], []):
        with pytest.raises(package.UsageError, match="std: not a number for each channel"):
            package.compile(model, target=TARGET, calibration=folder, std=wrong)
    with pytest.raises(package.UsageError, match="differs from the number of channels"):
        package.compile(model, target=TARGET, calibration=folder, mean=[0.1, 0.2, 0.3])


def test_a_board_stands_in_the_place_of_the_target(package, calibration, run_carina, tmp_path):
    model = DIGITS / "digits.pt2"
    run_carina(
        ["compile", model, "--board", "Alif_E7_HP", "--calibrate", DIGITS / "calibration.npz", "-o", tmp_path / "x.pte"]
    )
    program = package.compile(model, board="Alif_E7_HP", calibration=calibration)
    assert program.pte == (tmp_path / "x.pte").read_bytes() and program.target == "ethos-u55-256"
    details = package.explain(model, board="Alif_E7_HP", sram_budget=0, calibration=calibration).details
    assert (details["sram_budget_bytes"], details["flash_budget_bytes"]) == (0, 5632 << 10)
    assert {row["target"] for row in package.sweep(model, board="Alif_E7_HE", calibration="random").rows} == {
        "ethos-u55-128"
    }
    with pytest.raises(package.UsageError, match="did you mean Alif_E7_HE"):
        package.compile(model, board="Alif_E7_HB")
    with pytest.raises(package.UsageError, match="neither a target nor a board"):
        package.compile(model)


def test_disassembly_is_that_of_the_command_line(package, program, run_carina, tmp_path):
    program.save(tmp_path / "program.pte")
    told = run_carina(["disasm", tmp_path / "program.pte"]).stdout
    assert package.disasm(program) == told.replace(f"{tmp_path}/", "") == package.disasm(tmp_path / "program.pte")
    with pytest.raises(package.InputError, match="no Ethos-U delegate"):
        package.disasm(package.compile(DIGITS / "digits.pt2", target=TARGET, no_delegate=True))


@pytest.mark.skipif(
    shutil.which("qemu-system-arm") is None, reason="not run: no qemu-system-arm (scripts/setup.sh --full)"
)
def test_firmware_and_qemu_run_a_program(package, program, image, tmp_path):
    report = package.firmware(program, tmp_path / "app.elf")
    assert report["program_bytes"] == len(program.pte) and (tmp_path / "app.elf").exists()
    wanted = package.run(program.pte, image, portable_kernels=True)[0]
    for run in (package.qemu(tmp_path / "app.elf", image), package.qemu(program, image)):
        np.testing.assert_array_equal(run[0], wanted)
        assert any("NPU Inferences" in line for line in run.console) and repr(run).startswith(
            "<carina.DeviceRun float32[1, 10]"
        )
    with pytest.raises(package.CarinaError, match="unknown firmware image"):
        package.firmware(program, tmp_path / "x.elf", image="corstone999")


@pytest.mark.parametrize("ending", ["h", "c"])
def test_a_saved_array_is_that_of_the_command_line(package, calibration, run_carina, tmp_path, ending):
    words = [
        "compile",
        DIGITS / "digits.pt2",
        "--target",
        TARGET,
        "--calibrate",
        DIGITS / "calibration.npz",
        "--io",
        "int8",
    ]
    run_carina([*words, "-o", tmp_path / f"digits.{ending}"])
    (tmp_path / "python").mkdir()
    package.compile(DIGITS / "digits.pt2", target=TARGET, calibration=calibration, io="int8").save(
        tmp_path / "python" / f"digits.{ending}"
    )
    files = sorted(path.name for path in tmp_path.glob("digits.*"))
    assert files == (["digits.h"] if ending == "h" else ["digits.c", "digits.h"])
    for name in files:
        assert (tmp_path / name).read_bytes() == (tmp_path / "python" / name).read_bytes()


ARM_TYPES = """
from carina.arm import EthosUCompileSpec
from carina.arm.partitioner import EthosUPartitioner
import carina

reveal_type(EthosUCompileSpec("ethos-u55-128"))
reveal_type(EthosUPartitioner)
EthosUCompileSpec(3, bogus=1)
carina.compile("m.pt2", target="ethos-u55-129")
carina.compile("m.pt2", target="ethos-u55-128", optimize="sizes")
program = carina.compile("m.pt2", target="ethos-u55-128", optimize="size")
reveal_type(program.run(timed=True).cycles)
reveal_type(program.run().cycles)
"""


def test_types_of_names_and_of_carina_arm(tmp_path):
    """mypy knows the classes behind carina.arm, the names of targets, and that a timed run has cycles."""
    (tmp_path / "use.py").write_text(ARM_TYPES)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", tmp_path / "use.py"],
        cwd=PACKAGE,
        capture_output=True,
        text=True,
        check=False,
    )
    said = [line.split("use.py:")[1] for line in done.stdout.splitlines() if "use.py:" in line]
    text = "\n".join(said)
    assert 'Revealed type is "carina_arm.ethosu_compile_spec.EthosUCompileSpec"' in text and "def (" in next(
        line for line in said if line.startswith("7:")
    )
    assert any(line.startswith("8:") and "error" in line for line in said), text
    assert any(line.startswith("9:") and "Literal" in line for line in said) and any(
        line.startswith("10:") and "Literal" in line for line in said
    ), text
    assert next(line for line in said if line.startswith("12:")).endswith('"int"') and next(
        line for line in said if line.startswith("13:")
    ).endswith('"int | None"'), text


def test_modules_of_carina_arm_are_current():
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "generate_arm_modules.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
