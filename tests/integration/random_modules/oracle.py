"""Checks a network: every result that Carina computes for it against a result that something else computes.

    what                                  against                                how
    float program (--no-delegate)         eager PyTorch                          but for rounding (noise.py)
    float VGF program, on the host        eager PyTorch                          but for rounding
    stream of each delegate, on the NPU   its integer graph in the interpreter   bits; poisoned memory, reads checked
    integer graph in the interpreter      the official TOSA reference model      bits; of one network in three
    program on the NPU, real inputs       the program with interpreted graphs    bits (carina accuracy)
    integer VGF program, on the host      the reference model                    bits

A Fault is what must not be: other bits, exit code 3, a report of the stream's check. A signal or a hang ends the
process, which apart.py notices. A model that Carina rejects is no fault; its message is counted.
"""

import re
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

from random_modules import noise
from random_modules.engines import Broken, Rejected
from random_modules.ways import Configuration

CALIBRATION, TESTED = (0, 1, 2), (1, 7)  # samples: the second tested one may exceed the calibrated ranges
VGF = Configuration("vgf", "int8", {"io": "int8"})
NO_NUMBERS = (
    "expected numbers",
    "NaN or infinite",
    "no output that is a tensor",
)  # what `carina accuracy` cannot compare
FLOATS = {
    "f32": np.float32,
    "fp32": np.float32,
    "f16": np.float16,
    "fp16": np.float16,
    "bf16": np.float32,
    "f64": np.float64,
    "fp64": np.float64,
}
INTEGERS = {"i8": np.int8, "i16": np.int16, "u8": np.uint8, "u16": np.uint16}


@dataclass(frozen=True)
class Fault:
    what: str  # "bits", "float", "internal", "check", "reference"
    where: str  # the options: "--target ethos-u85-256 --quantize int8"
    detail: str


@dataclass
class Verdict:
    faults: list = field(default_factory=list)
    rejected: list = field(default_factory=list)  # messages
    compared: int = 0  # results that were compared


class Oracle:
    def __init__(self, network, engine, reference=False):
        self.network, self.engine, self.reference, self.verdict = network, engine, reference, Verdict()

    def export(self):
        """Gives the bytes of the exported model, or None if torch.export does not take the module."""
        network = self.network
        try:
            with torch.no_grad():
                exported = torch.export.export(network.module(), network.sample(0), strict=False)
            with tempfile.TemporaryFile() as file:
                torch.export.save(exported, file)
                file.seek(0)
                self.pt2 = file.read()
        except Exception as error:  # the exporter raises what it likes
            self.verdict.rejected.append(f"torch.export: {type(error).__name__}")
            return None
        self.names = [spec.arg.name for spec in exported.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
        return self.pt2

    def compare(self, ways, floats=True, vgf=True):
        if self.export() is None:
            return self.verdict
        self.samples = {number: self.network.sample(number) for number in {*CALIBRATION, *TESTED}}
        self.wanted = {number: noise.eager(self.network, self.samples[number]) for number in TESTED}
        with tempfile.TemporaryDirectory() as folder:
            if floats:
                self.guard(
                    "float", lambda: self.float_program(f"{folder}/float", "float", "ethos-u55-128", no_delegate=True)
                )
                self.guard(
                    "--target vgf", lambda: self.float_program(f"{folder}/vgf", "--target vgf", "vgf", quantize="none")
                )
            for number, way in enumerate(ways):
                self.guard(
                    " ".join(way.flags()),
                    lambda way=way, number=number: self.integer_program(way, f"{folder}/{number}"),
                )
            if vgf:
                self.guard(" ".join(VGF.flags()), lambda: self.vgf_program(VGF, f"{folder}/vgf8"))
        return self.verdict

    def guard(self, where, check):
        try:
            check()
        except Broken as error:
            self.fault("broken", where, str(error))
        except Rejected as error:
            self.verdict.rejected.append(str(error).splitlines()[0] if str(error) else "no message")

    def must(self, function, *arguments):
        """The result of a call that may not be rejected, because it is about what Carina has compiled."""
        try:
            return function(*arguments)
        except Rejected as error:
            if any(text in str(error) for text in NO_NUMBERS):
                raise
            raise Broken(f"what was compiled does not run: {error}") from error

    def fault(self, what, where, detail):
        self.verdict.faults.append(Fault(what, where, detail[:1500]))

    def arrays(self, number):
        return [array_of(value) for value in self.samples[number]]

    def compile(self, folder, target, **options):
        Path(folder).mkdir()
        if hasattr(self.engine, "program"):
            options["names"] = self.names
        self.engine.compile(self.pt2, folder, target, **options)

    # --- floats ---

    def float_program(self, folder, where, target, **options):
        self.compile(folder, target, **options)
        for number in TESTED:
            sample, wanted = self.samples[number], self.wanted[number]
            outputs, _ = self.must(self.engine.run, folder, self.arrays(number))
            got = [torch.as_tensor(np.array(value)) for value in outputs]
            if len(got) != len(wanted):
                return self.fault("float", where, f"{len(got)} outputs, PyTorch gives {len(wanted)}")
            for index, different in enumerate(noise.differences(self.network, sample, got, wanted)):
                self.verdict.compared += 1
                if different:
                    self.fault("float", where, f"output {index}: {different}")

    # --- integers ---

    def quantized(self, way, folder):
        self.compile(
            folder,
            way.target,
            quantize=way.scheme,
            calibration=[self.arrays(number) for number in CALIBRATION],
            **way.options,
        )
        return delegates_in(folder)

    def integer_program(self, way, folder):
        where, delegates = " ".join(way.flags()), self.quantized(way, folder)
        for number, tosa in enumerate(delegates):
            self.stream(where, tosa, Path(folder, f"output_tag{number}_vela.npz"))
        if delegates:
            self.whole_program(where, folder)

    def stream(self, where, tosa, stream):
        """The bits of one delegate, on random inputs and on the ends of their range."""
        types = self.engine.inputs_of(tosa)
        for draw in range(2):
            inputs = inputs_of(types, self.network.seed + draw, extremes=draw == 1)
            try:
                expected = self.engine.interpret(tosa, inputs)
            except Rejected:
                continue  # these inputs break a REQUIRE, so no result is wrong
            got, findings = self.must(self.engine.npu, stream, inputs)
            for index, (wanted, result) in enumerate(zip(expected, got, strict=True)):
                if result.size == wanted.size:
                    result = result.reshape(wanted.shape)  # a stream has at most four axes, and ones in front
                self.same("bits", where, f"{tosa.name} output {index}", result, wanted)
            for finding in findings:
                self.fault("check", where, finding)
            if self.reference and draw == 0:
                self.against_reference(where, tosa, inputs, expected)

    def whole_program(self, where, folder):
        """Real inputs: `carina accuracy` counts the samples whose outputs, of each delegate and of the program, have
        the same bits. Beyond the ranges of calibration, a scaling may give more than 32 bits; TOSA does not define
        such results."""
        data = {name: np.stack([self.arrays(number)[i] for number in TESTED]) for i, name in enumerate(self.names)}
        measured = self.must(self.engine.accuracy, self.pt2, folder, data)
        self.verdict.compared += 1
        if measured["npu_equals_integer"] + measured.get("integer_undefined", 0) != measured["samples"]:
            self.fault(
                "bits",
                where,
                f"carina accuracy: NPU and integer graph agree on {measured['npu_equals_integer']} of {measured['samples']} samples",
            )

    def vgf_program(self, way, folder):
        """The interpreter of `carina run`, which fuses operators, against the reference model: the delegate is the
        whole program."""
        where = " ".join(way.flags())
        for tosa in self.quantized(way, folder):
            inputs = inputs_of(self.engine.inputs_of(tosa), self.network.seed, extremes=False)
            try:
                results, cpu_kernels = self.engine.run(folder, inputs)
            except Rejected:
                return  # the program has other inputs than the delegate
            if not cpu_kernels:
                self.against_reference(where, tosa, inputs, results, in_order=False)

    def against_reference(self, where, tosa, inputs, results, in_order=True):
        """With in_order=False, each output of the graph is one of the results, in any order: a program has other
        outputs too, which are constants."""
        import tosa_reference_model as model

        try:
            expected, status = model.run(
                tosa.read_bytes(), [np.ascontiguousarray(value) for value in inputs], verbosity="NONE"
            )
        except ValueError:
            return  # bf16, empty tensors
        if status != model.GraphStatus.TOSA_VALID:
            return
        for index, wanted in enumerate(map(np.asarray, expected)):
            got = results[index] if in_order else nearest(wanted, results)
            self.same("reference", where, f"{tosa.name} output {index}", got, wanted)

    def same(self, what, where, name, got, wanted):
        self.verdict.compared += 1
        if got.shape != wanted.shape:
            return self.fault(what, where, f"{name}: shape {got.shape}, expected {wanted.shape}")
        wrong = differing(got, wanted)
        if len(wrong):
            place = tuple(int(i) for i in wrong[0])
            values = f"at {place} {got[place]}, expected {wanted[place]}"
            self.fault(what, where, f"{name}: {len(wrong)} of {wanted.size} elements differ, {values}")


def differing(got, wanted):
    """The places at which two arrays of one shape differ: in their bits, floats by more than rounding."""
    return np.argwhere(~np.isclose(got, wanted, 1e-4, 1e-5, equal_nan=True) if got.dtype.kind == "f" else got != wanted)


def nearest(wanted, results):
    """The result with the fewest elements that differ, of those that have the shape, if any has."""
    same_shape = [got for got in results if got.shape == wanted.shape]
    return min(same_shape or results, key=lambda got: len(differing(got, wanted)) if same_shape else 0)


def array_of(tensor):
    return np.ascontiguousarray((tensor.float() if tensor.dtype == torch.bfloat16 else tensor).detach().numpy())


def delegates_in(folder):
    """The TOSA files of the delegates, in order."""
    return sorted(
        Path(folder).glob("output_tag*.tosa"), key=lambda path: int(re.match(r"output_tag(\d+)", path.name)[1])
    )


def inputs_of(types, seed, extremes):
    """Random inputs of a TOSA graph: all integers of the type, or only its ends and zero. 32 bits are indices or
    counts: small."""
    draw = np.random.default_rng(seed)
    arrays = []
    for name, shape in types:
        if name in FLOATS:
            arrays.append(draw.standard_normal(shape).astype(FLOATS[name]))
        elif name in INTEGERS:
            ends = np.iinfo(INTEGERS[name])
            values = (
                draw.choice([ends.min, ends.max, 0], shape)
                if extremes
                else draw.integers(ends.min, ends.max + 1, shape)
            )
            arrays.append(np.asarray(values).astype(INTEGERS[name]))
        elif name in ("bool", "i1"):
            arrays.append(np.asarray(draw.integers(0, 2, shape)).astype(bool))
        else:
            arrays.append(np.asarray(draw.integers(0, 8, shape)).astype(np.int64 if "64" in name else np.int32))
    return arrays
