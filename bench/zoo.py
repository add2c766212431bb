"""Measures trained models: does the task still work in integers, and what does it cost? Writes docs/zoo.md, its charts and docs/zoo.json.

usage: zoo.py [--work FOLDER] [--models NAME,NAME] [--page] [--carina PATH]

Each file in bench/zoo_models gives one or more models: `MODELS = [Entry(...)]` (zoo_model.py). A model is quantized with calibration samples
alone; every figure is of test samples that neither training nor calibration has seen. Programs run on the simulated NPU. "peer" is the PT2E
quantizer of ExecuTorch's Arm backend; its graph is compiled by Carina, so that only the quantizer differs. Packages with weights are
installed into FOLDER/packages: they and their data never enter the repository. With --page, the page is written; without, a table is printed.
"""

import argparse
import importlib
import json
import shutil
import sys
from pathlib import Path

import numpy as np
import torch
from against_vela import SETTINGS, table
from dot_chart import dot_chart
from processes import BUILD, ROOT, commit
from range_rules import decibels, run
from streams import compare, same_sram
from zoo_model import Trained, packages

sys.path[:0] = [str(ROOT / "scripts"), str(BUILD.parent / "python")]
import format_markdown  # noqa: E402

PAGE, NUMBERS = ROOT / "docs" / "zoo.md", ROOT / "docs" / "zoo.json"
NEARNESS, CYCLES = ROOT / "docs" / "zoo-sqnr.svg", ROOT / "docs" / "zoo-cycles.svg"
TARGET, SPARSE, TARGETS = "ethos-u55-128", "ethos-u85-256", ("ethos-u55-128", "ethos-u65-256", "ethos-u85-256")
SCHEMES = {
    "int8": ["-q", "int8"],
    "int8-only": ["-q", "int8-only"],
    "int16x8": ["-q", "int16x8"],
    "int16x16": ["-q", "int16x16"],
    "auto 105 %": ["-q", "auto", "--max-cycles", "105%"],
    "auto 150 %": ["-q", "auto", "--max-cycles", "150%"],
    "int8x4": ["-q", "int8x4+rounded-for-inputs"],
}
# Schemes, and how they are trained for (carina.finetune).
TRAINED = {
    "int8x4": {"scheme": "int8x4", "epochs": 10, "lr": 5e-4},
    "2:4": {"scheme": "int8", "prune": "2:4", "epochs": 30, "lr": 1e-3},
}
ALSO_WITHOUT_LABELS = "2:4"
UNTRAINED = {"int8x4": SCHEMES["int8x4"], "2:4": ["-q", "int8+pruned-2:4"]}
RESAMPLED = 400  # for the interval of a metric


def interval(model, outputs):
    """The metric with its 95 % interval over the samples."""
    rng, count = np.random.default_rng(0), len(model.truth)
    figures = []
    for _ in range(RESAMPLED):
        chosen = rng.integers(0, count, count)
        figures.append(model.metric([output[chosen] for output in outputs], model.truth[chosen]))
    low, high = np.percentile(figures, (2.5, 97.5))
    return {"value": float(model.metric(outputs, model.truth)), "low": float(low), "high": float(high)}


class Runner:
    def __init__(self, carina, work, model):
        self.carina, self.model, self.work = carina, model, work / model.name
        self.work.mkdir(parents=True, exist_ok=True)
        self.source, self.calibration = self.work / "model.pt2", self.work / "calibration.npz"
        first = torch.from_numpy(model.calibration[:1])
        torch.export.save(torch.export.export(model.module, (first,)), self.source)
        np.savez(self.calibration, x=model.calibration)
        np.savez(self.work / "test.npz", x=model.test)
        with torch.no_grad():
            outputs = model.module(torch.from_numpy(model.test))
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        self.floats = [output.numpy() for output in outputs]

    def outputs_of(self, program):
        folder = self.work / "outputs"
        shutil.rmtree(folder, ignore_errors=True)
        run(self.carina, "run", program, "-i", self.work / "test.npz", "-o", folder)
        files = sorted(folder.glob("*.npy"))
        return [np.load(file).reshape(one.shape) for file, one in zip(files, self.floats, strict=True)]

    def compiled(self, source, target, *words):
        program, dump = self.work / "program.pte", self.work / "dump"
        shutil.rmtree(dump, ignore_errors=True)
        report = run(self.carina, "compile", source, "-t", target, "-o", program, "--dump", dump, "--json", *words)
        return program, json.loads(report.stdout)

    def figures(self, program, report):
        outputs = self.outputs_of(program)
        return {
            **interval(self.model, outputs),
            "sqnr_db": min(
                float(decibels(wanted, got - wanted)) for wanted, got in zip(self.floats, outputs, strict=True)
            ),
            "cycles": report["cycles"],
            "cpu_cycles": report["cpu_cycles"],
            "milliseconds": 1e3 * report["cycles"] / report["clock_hz"],
            "sram_bytes": report["sram_bytes"],
            "flash_bytes": report["program_bytes"],
        }

    def same_bits(self, target):
        """Whether the NPU's outputs are the integer graph's: (samples that are, samples). And Vela's cycles for that graph, in as much SRAM."""
        program, report = self.compiled(self.source, target, "-q", "int8", "--calibrate", self.calibration)
        setting = next(one for one in SETTINGS if one.target == target)
        graphs = sorted((self.work / "dump").glob("*.tosa"))
        streams = self.work / "streams"
        streams.mkdir(exist_ok=True)
        pair = compare(
            setting, self.model.name, graphs, "Performance", lambda vela: same_sram(setting, vela.sram), streams
        )
        words = ["accuracy", self.source, program, "--data", self.work / "test.npz", "--dump", self.work / "dump"]
        measured = json.loads(run(self.carina, *words, "--json").stdout)
        return {
            "cycles": report["cycles"],
            "same": measured["npu_equals_integer"],
            "samples": measured["samples"],
            "vela_cycles": None if pair.rejected else pair.vela.cycles,
            "of_velas_cycles": None if pair.rejected else pair.ratio(),
        }

    def trained(self):
        """By scheme: the figures on an Ethos-U85 of the model as it is, and after training for the scheme."""
        training = self.model.training
        x, y = torch.from_numpy(training.x), torch.from_numpy(training.y)
        found = {"int8": self.compressed(self.source, ["-q", "int8"])}
        for name, words in TRAINED.items():
            found[name] = self.compressed(self.source, UNTRAINED[name])
            found[f"{name} trained"] = self.finetuned((x, y), training.loss, words)
            if name == ALSO_WITHOUT_LABELS:
                found[f"{name} without labels"] = self.finetuned((x,), None, words)
        return found

    def compressed(self, source, scheme):
        return self.figures(*self.compiled(source, SPARSE, *scheme, "--calibrate", self.calibration))

    def finetuned(self, tensors, loss, words):
        import carina

        torch.manual_seed(0)
        data = torch.utils.data.TensorDataset(*tensors)
        loader = torch.utils.data.DataLoader(data, batch_size=64, shuffle=True)
        tuned = carina.finetune(self.model.module, loader, loss, **words)
        first = torch.from_numpy(self.model.calibration[:1])
        torch.export.save(torch.export.export(tuned.model, (first,)), self.work / "tuned.pt2")
        return self.compressed(self.work / "tuned.pt2", ["-q", tuned.scheme])

    def peer(self):
        from executorch.backends.arm.ethosu import EthosUCompileSpec
        from executorch.backends.arm.quantizer import EthosUQuantizer, get_symmetric_quantization_config
        from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

        quantizer = EthosUQuantizer(EthosUCompileSpec(TARGET))
        quantizer.set_global(get_symmetric_quantization_config(is_per_channel=True))
        prepared = prepare_pt2e(torch.export.load(self.source).module(check_guards=False), quantizer)
        for sample in self.model.calibration:
            prepared(torch.from_numpy(sample[None]))
        first = torch.from_numpy(self.model.calibration[:1])
        torch.export.save(torch.export.export(convert_pt2e(prepared), (first,)), self.work / "peer.pt2")
        return self.figures(*self.compiled(self.work / "peer.pt2", TARGET))

    def row(self):
        model = self.model
        found = {"float": interval(model, self.floats)}
        program, _ = self.compiled(self.source, TARGET, "-q", "none", "--no-delegate")
        found["float by Carina"] = interval(model, self.outputs_of(program))
        for name, words in SCHEMES.items():
            found[name] = self.figures(*self.compiled(self.source, TARGET, *words, "--calibrate", self.calibration))
        try:
            found["peer"] = self.peer()
        except Exception as error:  # of any kind, from its passes
            print(f"{model.name}: the peer's quantizer fails: {str(error).splitlines()[0][:200]}", flush=True)
        facts = {"task": model.task, "source": model.source, "licence": model.licence, "metric": model.unit}
        bits = {target: self.same_bits(target) for target in TARGETS}
        return {
            **facts,
            "samples": len(model.truth),
            "calibrated": len(model.calibration),
            "figures": found,
            "npu": bits,
            "trained": self.trained() if model.training else None,
        }


def entries(names):
    for file in sorted((ROOT / "bench" / "zoo_models").glob("*.py")):
        for entry in importlib.import_module(f"zoo_models.{file.stem}").MODELS:
            if not names or entry.name in names:
                yield entry


def share(ratio):
    return "-" if ratio is None else f"{ratio:.2f}"


def trained_head():
    return [
        "model",
        "metric",
        "float",
        "int8",
        *(label for name in TRAINED for label in (name, f"{name} trained")),
        f"{ALSO_WITHOUT_LABELS} without labels",
        "cycles int8",
        "cycles 2:4",
    ]


def trained_row(name, row):
    figures = row["trained"]
    return [
        *(name, row["metric"], f"{row['figures']['float']['value']:.2f}"),
        *(f"{figure['value']:.2f}" for figure in figures.values()),
        *(f"{figures[label]['cycles']:,}" for label in ("int8", "2:4 trained")),
    ]


def inference_cycles(figure):
    """Of the NPU and the CPU: a scheme that leaves nodes to the CPU has few of the NPU's."""
    return figure["cycles"] + figure["cpu_cycles"]


def relative_cycles(figures, column):
    return 100 * inference_cycles(figures[column]) / inference_cycles(figures["int8"])


def figure_of(figures, column, name, digits):
    return f"{figures[column][name]:.{digits}f}" if column in figures else "-"


def charts(found):
    """The charts of the page: how near the outputs are, and what schemes cost."""
    columns = ["int8", "peer", "auto 105 %", "auto 150 %", "int16x8"]
    models = [(name, row["figures"]) for name, row in found["models"].items()]
    near = [(name, {one: figures[one]["sqnr_db"] for one in columns if one in figures}) for name, figures in models]
    cost = [(name, {one: relative_cycles(figures, one) for one in columns[2:]}) for name, figures in models]
    return {
        NEARNESS: dot_chart("SQNR to the float model, worst output", near, columns, range(0, 90, 20), "dB"),
        CYCLES: dot_chart(f"Cycles on {TARGET} in relation to int8", cost, columns[2:], range(50, 300, 50), "%"),
    }


def page(found):
    columns = ["float", "int8", "int8-only", "peer", "auto 105 %", "auto 150 %", "int16x8", "int16x16", "int8x4"]
    tasks, costs, nearness = [], [], []
    for name, row in found["models"].items():
        figures = row["figures"]
        whole = figures["float"]
        tasks.append(
            [name, row["task"], f"{row['metric']}, {row['samples']}"]
            + [f"{whole['value']:.2f} ({whole['low']:.1f} to {whole['high']:.1f})"]
            + [figure_of(figures, column, "value", 2) for column in columns[1:]]
        )
        nearness.append([name, *(figure_of(figures, column, "sqnr_db", 1) for column in columns[1:])])
        int8 = figures["int8"]
        costs.append(
            [name, *(f"{row['npu'][target]['cycles']:,}" for target in TARGETS)]
            + [share(row["npu"][target]["of_velas_cycles"]) for target in TARGETS]
            + [f"{relative_cycles(figures, column):.1f} %" for column in columns[4:]]
            + [f"{int8['milliseconds']:.2f}", f"{int8['sram_bytes']:,}", f"{int8['flash_bytes']:,}"]
        )
    same = sum(npu["same"] for row in found["models"].values() for npu in row["npu"].values())
    runs = sum(npu["samples"] for row in found["models"].values() for npu in row["npu"].values())
    trained = [trained_row(name, row) for name, row in found["models"].items() if row["trained"]]
    sources = [[name, row["source"], row["licence"]] for name, row in found["models"].items()]
    cost_head = [
        "model",
        *TARGETS,
        *(f"{target[6:]} / Vela" for target in TARGETS),
        *columns[4:],
        "ms",
        "SRAM B",
        "flash B",
    ]
    return f"""# Trained models in integers

Generated by `make zoo` at {found["commit"]}: trained models of {len({row["task"] for row in found["models"].values()})} tasks, what they
still do in integers, and what they cost. Each figure is of test samples that neither training nor calibration has seen. Programs run on the
simulated NPU: in {same:,} of {runs:,} runs on {", ".join(TARGETS)} the outputs have the bits of the integer graph. `int8` is the default
([quantize.md](guide/quantize.md)); *peer* is the PT2E quantizer of ExecuTorch's Arm backend with the same samples, compiled by Carina ("-": it fails on the network).

## Does the task still work?
The metric of the task. Of the float model, the 95 % interval over the samples: differences within it may be chance.

{table(["model", "task", "metric, samples", *columns], tasks)}

## How near are the outputs?
SQNR to the float model in dB, of the worst output.

{table(["model", *columns[1:]], nearness)}

![SQNR by scheme]({NEARNESS.name})

## What does it cost?
NPU cycles with int8 on three NPUs; cycles in relation to those of Vela's stream for the same graph, in as much SRAM, with the memory mode
of [against-vela.md](against-vela.md) and one cycle model (
"-": Vela rejects the graph); cycles of NPU and CPU on {TARGET} of other schemes in relation to int8; milliseconds on the NPU, SRAM and
program with int8 on {TARGET}. Of `gestures`, an Ethos-U55 leaves products of two 16-bit matrices to the CPU.

{table(cost_head, costs)}

![Cycles by scheme]({CYCLES.name})

## Trained for integers
The metric after `carina.finetune` ([qat.md](guide/qat.md)) with the training data, on {SPARSE}: {TRAINED["int8x4"]["epochs"]} epochs for
4-bit weights, {TRAINED["2:4"]["epochs"]} for weights of which two of four are zero. Before, 4-bit weights are rounded for their inputs, and
the smallest weights are zero. Training with labels is also more training: some models become better than the float model was. `policy` learns
its few games by heart instead. Without labels, the float model's outputs are the truth.

{table(trained_head(), trained)}

## Where the models come from
Weights and data are taken from packages, or made in seconds by a script with fixed seeds. None is in the repository.

{table(["model", "source", "licence"], sources)}

All figures are in [zoo.json](zoo.json). A further model is one file of `bench/zoo_models`. `make zoo MODELS=NAME` prints the rows of some
models.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "zoo")
    parser.add_argument("--models", default="")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--carina", default=str(BUILD / "carina"))
    options = parser.parse_args()
    torch.set_num_threads(2)
    packages(options.work / "packages")
    found = {"commit": commit(), "models": {}}
    for entry in entries([name for name in options.models.split(",") if name]):
        model: Trained = entry.load()
        row = found["models"][entry.name] = Runner(options.carina, options.work, model).row()
        shown = {name: round(figure["value"], 2) for name, figure in row["figures"].items()}
        print(f"{entry.name}: {shown}, same bits {row['npu']}", flush=True)
    if options.page:
        NUMBERS.write_text(json.dumps(found, indent=1) + "\n")
        for file, chart in charts(found).items():
            file.write_text(chart)
        PAGE.write_text(format_markdown.formatted(page(found)))


if __name__ == "__main__":
    main()
