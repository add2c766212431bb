"""Programs of test_arm_masks.py: attention with masks in PyTorch's PT2E flow. Each model is quantized by the Arm backend's quantizer and by
Carina's, with the same samples. Carina's SQNR to the float model must be at least as high, and the program that carina.arm compiles must have
the numbers of the converted model on the simulator.

`arm_masks.py PROGRAM...` prints the figures, and notes each program that passes.
"""

import functools
import sys
import traceback
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import carina
import carina.arm
from arm_programs import note_passed
from carina.arm import (
    ArmPassPipelineConfig,
    EthosUCompileSpec,
    EthosUPartitioner,
    EthosUQuantizer,
    get_symmetric_a16w8_quantization_config,
    get_symmetric_quantization_config,
)
from executorch.backends.arm.ethosu import EthosUCompileSpec as PeersSpec
from executorch.backends.arm.quantizer import EthosUQuantizer as PeersQuantizer
from executorch.backends.arm.quantizer import get_symmetric_a16w8_quantization_config as peers_a16w8
from executorch.backends.arm.quantizer import get_symmetric_quantization_config as peers_int8
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower
from tier_plugin import export_quickly, every, in_turn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e, prepare_qat_pt2e

F = torch.nn.functional
INFINITY, LOWEST = float("inf"), torch.finfo(torch.float32).min
L, HEADS, SIZE = 7, 4, 8
TARGETS = ("ethos-u55-128", "ethos-u65-256", "ethos-u85-256")


class Attention(torch.nn.Module):
    """`function` gets q, k, v of [batch, heads, L, size] and the further inputs of the model."""

    def __init__(self, function):
        super().__init__()
        self.function = function
        self.q, self.k, self.v, self.o = (torch.nn.Linear(HEADS * SIZE, HEADS * SIZE) for _ in range(4))

    def forward(self, x, *more):
        q, k, v = (layer(x).view(x.shape[0], L, HEADS, SIZE).transpose(1, 2) for layer in (self.q, self.k, self.v))
        return self.o(self.function(q, k, v, *more).transpose(1, 2).reshape(x.shape))


def upper(value):
    return torch.full((L, L), value).triu(1)


def flags():
    return torch.ones(L, L, dtype=torch.bool).tril()


def scores(q, k):
    return q @ k.transpose(2, 3) * SIZE**-0.5


sdpa = F.scaled_dot_product_attention
MASKS = {
    "none": sdpa,
    "causal": lambda q, k, v: sdpa(q, k, v, is_causal=True),
    "flags": lambda q, k, v: sdpa(q, k, v, attn_mask=flags()),
    "infinity": lambda q, k, v: sdpa(q, k, v, attn_mask=upper(-INFINITY)),
    "lowest": lambda q, k, v: sdpa(q, k, v, attn_mask=upper(LOWEST)),
    "1e9": lambda q, k, v: sdpa(q, k, v, attn_mask=upper(-1e9)),
    "1e4": lambda q, k, v: sdpa(q, k, v, attn_mask=upper(-1e4)),
    "100": lambda q, k, v: sdpa(q, k, v, attn_mask=upper(-100.0)),
    "masked_fill": lambda q, k, v: scores(q, k).masked_fill(~flags(), -INFINITY).softmax(-1) @ v,
    "masked_fill_1e9": lambda q, k, v: scores(q, k).masked_fill(~flags(), -1e9).softmax(-1) @ v,
    "where": lambda q, k, v: torch.where(flags(), scores(q, k), -INFINITY).softmax(-1) @ v,
    "where_lowest": lambda q, k, v: torch.where(flags(), scores(q, k), torch.tensor(LOWEST)).softmax(-1) @ v,
    "added_lowest": lambda q, k, v: (scores(q, k) + upper(LOWEST)).softmax(-1) @ v,
    "added_1e4": lambda q, k, v: (scores(q, k) + upper(-1e4)).softmax(-1) @ v,
    "slopes": lambda q, k, v: sdpa(q, k, v, attn_mask=upper(-INFINITY) - 0.3 * torch.arange(L).flip(0)),
}
KEYS = torch.tensor([[1.0, 1, 1, 1, 1, 0, 0]])
# (function, further inputs) of masks that are computed at run time.
LATE = {
    "keys_1e4": (lambda q, k, v, keys: (scores(q, k) + (1 - keys[:, None, None]) * -10000.0).softmax(-1) @ v, (KEYS,)),
    "keys_lowest": (lambda q, k, v, keys: (scores(q, k) + (1 - keys[:, None, None]) * LOWEST).softmax(-1) @ v, (KEYS,)),
    "keys_1e4_sdpa": (lambda q, k, v, keys: sdpa(q, k, v, attn_mask=(1 - keys[:, None, None]) * -10000.0), (KEYS,)),
    "flags_given": (lambda q, k, v, shown: sdpa(q, k, v, attn_mask=shown), (flags(),)),
    "infinity_given": (lambda q, k, v, mask: sdpa(q, k, v, attn_mask=mask), (upper(-INFINITY),)),
    "1e4_given": (lambda q, k, v, mask: scores(q, k).add(mask).softmax(-1) @ v, (upper(-1e4),)),
    "zeros_given": (lambda q, k, v, mask: sdpa(q, k, v, attn_mask=mask), (torch.zeros(L, L),)),
}


def model_of(function, more=(), batch=1, seed=0):
    """A model, the inputs that are tested, and four samples with these among them."""
    torch.manual_seed(seed)
    model = Attention(function).eval()
    samples = [(torch.randn(batch, L, HEADS * SIZE), *more) for _ in range(4)]
    return model, samples[-1], samples


def converted(model, samples, quantizer):
    prepared = prepare_pt2e(torch.export.export(model, samples[0]).module(check_guards=False), quantizer)
    for sample in samples:
        prepared(*sample)
    return convert_pt2e(prepared)


def sqnr(wanted, given):
    return float(10 * torch.log10((wanted**2).sum() / ((wanted - given) ** 2).sum().clamp_min(1e-30)))


@torch.no_grad()
def by_ours(case, target="ethos-u85-256", wide=False):
    """(SQNR, converted model, inputs) of a model in PyTorch."""
    model, inputs, samples = case
    config = (get_symmetric_a16w8_quantization_config if wide else get_symmetric_quantization_config)()
    ours = converted(model, samples, EthosUQuantizer(EthosUCompileSpec(target)).set_global(config))
    return sqnr(model(*inputs), ours(*inputs)), ours, inputs


@torch.no_grad()
def by_the_peer(case, target="ethos-u85-256", wide=False):
    """The SQNR that the Arm backend's quantizer gives, or the name of its error."""
    model, inputs, samples = case
    quantizer = PeersQuantizer(PeersSpec(target)).set_global((peers_a16w8 if wide else peers_int8)())
    try:
        return sqnr(model(*inputs), converted(model, samples, quantizer)(*inputs))
    except Exception as error:  # noqa: BLE001  any error of the Arm backend
        return type(error).__name__


@torch.no_grad()
def on_the_simulator(quantized, inputs, target):
    edge = to_edge_transform_and_lower(
        torch.export.export(quantized, inputs), partitioner=[EthosUPartitioner(EthosUCompileSpec(target))],
        compile_config=EdgeCompileConfig(_check_ir_validity=False),
    )  # fmt: skip
    pte = edge.to_executorch(config=ExecutorchBackendConfig(extract_delegate_segments=False)).buffer
    (result,) = carina.run(pte, [value.numpy() for value in inputs])
    return torch.from_numpy(np.array(result))


def check(name, case, wide=False, least=None, below=0.05):
    """`below`: by how many dB Carina may be below the Arm backend. Masks must not lose anything beside chance."""
    (ours, *_), its = by_ours(case, wide=wide), by_the_peer(case, wide=wide)
    print(
        f"{name:>20}: Carina {ours:5.1f} dB, the Arm backend {its if isinstance(its, str) else round(its, 1)}",
        flush=True,
    )
    assert isinstance(its, str) or np.isnan(its) or ours >= its - below, (name, ours, its)
    assert least is None or ours >= least, (name, ours)


def known_masks_are_as_good_as_the_arm_backends():
    for (name, function), seed in in_turn(every(6, MASKS.items()), (0, 1, 2)):
        check(name, model_of(function, seed=seed), least=27)


def late_masks_are_as_good_as_the_arm_backends():
    for name, (function, more) in every(3, LATE.items()):
        check(name, model_of(function, more), least=27)


def masks_in_int16():
    for name in every(3, ("causal", "masked_fill", "added_1e4")):
        check(name, model_of(MASKS[name]), wide=True, least=45)


def large_scores_keep_their_masks():
    """Scores that differ by more than 16 within a row. Hidden keys must stay below the lowest visible one."""
    for name in every(2, ("causal", "masked_fill", "added_1e4")):
        function = MASKS[name]
        check(name, model_of(lambda q, k, v, function=function: function(q * 12, k * 12, v)), least=12)


def batches_and_groups():
    grouped = functools.partial(sdpa, enable_gqa=True)
    for batch in every(3, (2, 3, 1)):
        for name in every(3, ("causal", "none", "flags", "infinity")):
            check(f"{name}, batch {batch}", model_of(MASKS[name], batch=batch), least=27)
        case = model_of(lambda q, k, v: grouped(q, k[:, :2], v[:, :2]), batch=batch)
        check(f"groups, batch {batch}", case, least=27, below=0.3)  # no mask: the roundings of other nodes
        check(
            f"groups, causal, batch {batch}",
            model_of(lambda q, k, v: grouped(q, k[:, :2], v[:, :2], is_causal=True), batch=batch),
            least=27,
        )


def programs_hide_keys():
    """The converted model in PyTorch and the program on the simulator: one step of the output is about 0.5 % of its range."""
    cases = {name: model_of(function) for name, function in MASKS.items()} | {
        name: model_of(*case) for name, case in LATE.items()
    }
    cases |= {f"{name}, batch 2": model_of(MASKS[name], batch=2) for name in ("none", "causal", "flags")}
    for (name, case), target in in_turn(every(8, cases.items()), TARGETS):
        ours, quantized, inputs = by_ours(case, target)
        made = sqnr(case[0](*inputs).detach(), on_the_simulator(quantized, inputs, target))
        print(f"{name:>20} on {target}: converted {ours:5.1f} dB, simulated {made:5.1f} dB", flush=True)
        assert made >= max(ours - 3, 25), (name, target, ours, made)


def masks_in_training():
    model, inputs, samples = model_of(MASKS["causal"])
    quantizer = EthosUQuantizer(EthosUCompileSpec("ethos-u85-256")).set_global(
        get_symmetric_quantization_config(is_qat=True)
    )
    prepared = prepare_qat_pt2e(torch.export.export(model, inputs).module(check_guards=False), quantizer)
    for sample in samples:
        prepared(*sample).square().mean().backward()
    assert all(weight.grad.isfinite().all() for weight in prepared.parameters() if weight.grad is not None)
    with torch.no_grad():
        assert sqnr(model(*inputs), convert_pt2e(prepared)(*inputs)) > 25


def the_depth_of_masks_can_be_set():
    spec = EthosUCompileSpec("ethos-u85-256")
    config = ArmPassPipelineConfig()
    config.quantize_inf.neg_inf = -64.0
    spec.set_pass_pipeline_config(config)
    model, inputs, samples = model_of(MASKS["infinity"])
    quantized = converted(model, samples, EthosUQuantizer(spec).set_global(get_symmetric_quantization_config()))
    scales = [node.args[1] for node in quantized.graph.nodes if "dequantize_per_tensor" in str(node.target)]
    assert min(abs(scale - 64 / 255) for scale in scales) < 1e-4
    assert sqnr(model(*inputs), quantized(*inputs)) > 27


def other_infinities_saturate():
    """The highest of some elements, and a comparison, with elements that are left out by infinities."""
    some = torch.arange(24).reshape(4, 6) % 3 > 0
    for function in (
        lambda x: x.masked_fill(some, -INFINITY).amax(1),
        lambda x: x.masked_fill(some, LOWEST).amax(1),
        lambda x: torch.where(some, x, INFINITY).amin(1),
        lambda x: torch.clamp(x, -INFINITY, 0.5),
    ):

        class Function(torch.nn.Module):
            def forward(self, x, function=function):
                return function(x)

        torch.manual_seed(0)
        samples = [(torch.randn(4, 6),) for _ in range(5)]
        model, inputs = Function(), samples[-1]
        quantized = converted(
            model,
            samples,
            EthosUQuantizer(EthosUCompileSpec("ethos-u85-256")).set_global(get_symmetric_quantization_config()),
        )
        assert sqnr(model(*inputs), quantized(*inputs)) > 20, quantized(*inputs)


def main():
    export_quickly()
    failed = 0
    for name in sys.argv[1:]:
        torch.manual_seed(0)
        try:
            globals()[name]()
        except Exception:
            failed += 1
            traceback.print_exc(limit=6)
        else:
            note_passed(name)
    sys.exit(failed)


if __name__ == "__main__":
    main()
