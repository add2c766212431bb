"""Two ways to reach Carina with the same functions: the Python package in this process, and a program, $CARINA_BIN or
another build's.

    engine.compile(pt2, options)          a Program: .pte, .tosa_files, .stream_files; files are in `folder`
    engine.run(folder, inputs)            the outputs of a program, and the kernels that the CPU ran
    engine.interpret(tosa, inputs)        the outputs of an integer graph
    engine.npu(stream, inputs)            the outputs of a command stream, and what the simulator's check found
    engine.accuracy(...)                  the numbers of `carina accuracy --json`

All raise Rejected for exit code 1 or 2, and Broken for exit code 3, a signal or a hang. The package costs a third of
the program's processor time, because it starts no process. The program's crashes are outcomes here; those of the
package end this process (apart.py).
"""

import json
import re
import subprocess
from pathlib import Path

import numpy as np

SECONDS = 60  # of one command


class Rejected(Exception):
    """The model, the data or the options are not supported."""


class Broken(Exception):
    """An internal error, a signal, a hang."""


class Package:
    """carina's Python package."""

    def __init__(self):
        import carina

        self.carina = carina

    def _call(self, function, *arguments, **options):
        try:
            return function(*arguments, note=lambda diagnostic: None, **options)
        except self.carina.InternalError as error:
            raise Broken(str(error)) from error
        except self.carina.CarinaError as error:
            raise Rejected(str(error)) from error

    def compile(self, pt2, folder, target, quantize=None, calibration=None, **options):
        program = self._call(
            self.carina.compile, pt2, target=target, quantize=quantize, calibration=calibration, dump=folder, **options
        )
        Path(folder, "program.pte").write_bytes(program.pte)

    def run(self, folder, inputs):
        done = self._call(self.carina.run, Path(folder, "program.pte"), inputs)
        return list(done), done.details["cpu_kernels"]

    def interpret(self, tosa, inputs):
        return list(self._call(self.carina.interpret, tosa, inputs))

    def npu(self, stream, inputs):
        done = self._call(self.carina.npu, stream, inputs, check=True, poison=True)
        return list(done), done.details.get("findings", [])

    def accuracy(self, pt2, folder, data):
        Path(folder, "model.pt2").write_bytes(pt2)
        np.savez(Path(folder, "tested.npz"), **data)
        return self._call(
            self.carina.accuracy,
            Path(folder, "model.pt2"),
            Path(folder, "program.pte"),
            data=Path(folder, "tested.npz"),
            dump=folder,
        ).details

    def inputs_of(self, tosa):
        from carina import _native

        return input_types(_native.inspect(str(tosa)))


class Command:
    """A `carina` program."""

    def __init__(self, program):
        self.program = str(program)

    def _call(self, *words):
        command = [self.program, *map(str, words)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS)
        except subprocess.TimeoutExpired:
            raise Broken(f"more than {SECONDS} s") from None
        if done.returncode == 0:
            return done.stdout
        text = (done.stderr or done.stdout).strip()
        lines = [line for line in text.splitlines() if "error:" in line] or [text]
        if done.returncode in (1, 2):
            raise Rejected(lines[0])
        raise Broken(f"exit code {done.returncode}: {text[:600]}")

    def compile(self, pt2, folder, target, quantize=None, calibration=None, names=(), **options):
        model = Path(folder, "model.pt2")
        model.write_bytes(pt2)
        words = ["--target", target, *flags_of(options)]
        words += ["--quantize", quantize] if quantize else []
        if calibration:
            np.savez(
                Path(folder, "calibration.npz"),
                **{name: np.stack([sample[i] for sample in calibration]) for i, name in enumerate(names)},
            )
            words += ["--calibrate", Path(folder, "calibration.npz")]
        self._call("compile", model, *words, "--dump", folder, "-o", Path(folder, "program.pte"))

    def run(self, folder, inputs):
        out = Path(folder, "run")
        text = self._call("run", Path(folder, "program.pte"), *self._inputs(folder, inputs), "--json", "-o", out)
        return self._outputs(out), json.loads(text)["cpu_kernels"]

    def interpret(self, tosa, inputs):
        out = tosa.parent / "interpreted"
        self._call("interpret", tosa, *self._inputs(tosa.parent, inputs), "-o", out)
        return self._outputs(out)

    def npu(self, stream, inputs):
        out = stream.parent / "npu"
        text = self._call(
            "npu", "run", stream, *self._inputs(stream.parent, inputs), "--check", "--poison", "--json", "-o", out
        )
        return self._outputs(out), json.loads(text).get("findings", [])

    def accuracy(self, pt2, folder, data):
        np.savez(Path(folder, "tested.npz"), **data)
        return json.loads(
            self._call(
                "accuracy",
                Path(folder, "model.pt2"),
                Path(folder, "program.pte"),
                "--data",
                Path(folder, "tested.npz"),
                "--dump",
                folder,
                "--json",
            )
        )

    def inputs_of(self, tosa):
        return input_types(self._call("inspect", tosa, "--json"))

    def _inputs(self, folder, inputs):
        words = []
        for number, value in enumerate(inputs):
            path = Path(folder, f"input_{number}.npy")
            np.save(path, value)
            words += ["-i", path]
        return words

    def _outputs(self, folder):
        """In order, and removed."""
        files = sorted(folder.glob("output_*.npy"), key=lambda path: int(re.match(r"output_(\d+)", path.name)[1]))
        arrays = [np.load(path) for path in files]
        for path in files:
            path.unlink()
        return arrays


def flags_of(options):
    """The words of the command line for keyword arguments of carina.compile."""
    words = []
    for name, value in options.items():
        words += [f"--{name.replace('_', '-')}"] if value is True else [f"--{name.replace('_', '-')}", str(value)]
    return words


def input_types(text):
    """Types and shapes of a graph's inputs, from the text of `carina inspect`: [("i8", (1, 8))]."""
    return [
        (name, tuple(int(size) for size in shape.split(",") if size))
        for name, shape in re.findall(r"input %[^ ]+: (\w+)\[([0-9,]*)\]", text)
    ]
