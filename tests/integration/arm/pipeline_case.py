"""The test case of a complete pipeline of the Arm backend's tests (executorch/backends/arm/test/tester/test_pipeline.py)."""

from dataclasses import dataclass

import torch

BASES = {
    "TosaPipelineINT": "INT",
    "EthosU55PipelineINT": "U55",
    "EthosU85PipelineINT": "U85",
    "EthosU65PipelineINT": "U65",
}
COUNTED = {"PassPipeline": "PASS", "QuantizationPipeline": "QUANT", "TransformAnnotationPassPipeline": "TRANSFORM"}
DELEGATE = "torch.ops.higher_order.executorch_call_delegate"
BITS = {torch.int8: 8, torch.uint8: 8, torch.int16: 16, torch.int32: 32}


@dataclass
class Case:
    """A pipeline when its test calls run(). The test may change stages until then."""

    pipeline: object
    module: torch.nn.Module
    inputs: tuple
    dynamic: object
    kind: str
    facts: dict  # tolerances, delegates, the TOSA specification: stored in the cache for the comparison

    @property
    def quantize_stage(self):
        return stage(self.pipeline, "quantize")


def stage(pipeline, name):
    return next((s for s in pipeline._stages if s.id == name), None)


def read(pipeline):
    tester = pipeline.tester
    facts = {"pipeline": type(pipeline).__name__, "spec": specification(tester), "dynamic": bool(tester.dynamic_shapes)}
    facts["delegates"] = expected_delegates(pipeline)
    facts.update(tolerances(pipeline))
    inputs = facts.pop("inputs", None)
    return Case(
        pipeline=pipeline,
        module=tester.original_module,
        inputs=tuple(pipeline.test_data if inputs is None else inputs),
        dynamic=tester.dynamic_shapes,
        kind=classify(pipeline, facts["spec"]),
        facts=facts,
    )


def specification(tester):
    try:
        return str(tester.compile_spec.tosa_spec)
    except AttributeError:
        return ""


def expected_delegates(pipeline):
    """The number of delegates; None if the test does not give it."""
    count = stage(pipeline, "check_count.exir")
    return count.args[0].get(DELEGATE) if count is not None and count.args else None


def closed_over(function):
    if not function or not function.__closure__:
        return {}
    return dict(zip(function.__code__.co_freevars, [cell.cell_contents for cell in function.__closure__]))


def tolerances(pipeline):
    """The suite's tolerances (atol, rtol, qtol). It compares the lowered graph with PyTorch's graph, and a quantized one with the float
    model."""
    found = {
        "atol": 1e-3,
        "rtol": 1e-3,
        "qtol": 0 if "FP" in type(pipeline).__name__ else 1,
        "frobenius": 0.15,
        "cosine": 0.9,
    }
    found["float_checked"] = False
    for s in pipeline._stages:
        if s.id.split(".")[0] != "run_method_and_compare_outputs":
            continue
        if s.id.endswith("original_model"):
            limits = closed_over(s.kwargs.get("compare_callback"))
            for ours, theirs in (("frobenius", "frobenius_threshold"), ("cosine", "cosine_threshold")):
                if limits.get(theirs) is not None:
                    found[ours], found["float_checked"] = limits[theirs], True
        else:
            found.update(atol=s.kwargs.get("atol", 1e-3), rtol=s.kwargs.get("rtol", 1e-3), qtol=s.kwargs.get("qtol", 0))
            found["inputs"] = s.kwargs.get("inputs")
    return found


def quantizer_config(pipeline):
    """The quantizer's global settings at the time of run()."""
    s = stage(pipeline, "quantize")
    if s is None or not s.args:
        return None
    quantizer = getattr(s.args[0], "quantizer", None)
    return getattr(quantizer, "global_config", None) or getattr(s.args[0], "quantization_config", None)


def bits(config):
    """(bits of activations, bits of weights)."""
    activation = getattr(getattr(config, "input_activation", None), "dtype", None)
    largest = getattr(getattr(config, "weight", None), "quant_max", None)
    return BITS.get(activation, 8), 4 if largest is not None and largest <= 7 else 8


def suffix(pipeline):
    activations, weights = bits(quantizer_config(pipeline))
    if activations == 16:
        return "-A16W8"
    if activations == 32:
        return "-Q32"
    return "-A8W4" if weights == 4 else ""


def classify(pipeline, spec):
    """The kind of the case in the tables."""
    name = type(pipeline).__name__
    if name == "TosaPipelineFP":
        return "FP"
    if name == "OpNotSupportedPipeline":
        return "NS-U55" if "u55" in spec else "NS-INT" if "INT" in spec else "NS-FP"
    if name == "VgfPipeline":
        return "VGF-INT" if stage(pipeline, "quantize") is not None else "VGF-FP"
    if name in BASES:
        return BASES[name] + suffix(pipeline)
    return COUNTED.get(name, name)
