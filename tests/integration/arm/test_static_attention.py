"""ExecuTorch's static attention for NPUs: caches are inputs, and updates are outputs. The module that registers it has to be imported,
which no part of `export_llm` does; the model then takes masks and caches, which `export_llm` does not pass."""

import subprocess
import sys

import numpy as np
import pytest
import torch

TOKENS = [1, 5, 9, 2, 7, 7, 3]


@pytest.fixture(scope="module")
def static():
    """The model, and its options for a token at a place."""
    from executorch.examples.models.llama.llama_transformer import construct_transformer
    from executorch.examples.models.llama.model_args import ModelArgs
    from executorch.examples.models.llama.static_attention import StaticAttentionIOManager

    args = ModelArgs(
        dim=32,
        n_heads=4,
        n_kv_heads=2,
        n_layers=2,
        vocab_size=64,
        max_seq_len=16,
        max_context_len=16,
        generate_full_logits=True,
        attention_type="static",
    )
    torch.manual_seed(0)
    model = construct_transformer(args).eval().requires_grad_(False)
    return model, StaticAttentionIOManager(args, input_len=1, cache_lens=15, mask_val=-100.0)


def steps_of(model, manager):
    """The flat inputs of each step in eager PyTorch, and its flat outputs."""
    from torch.utils import _pytree as pytree

    manager.reset()
    steps = []
    for place, token in enumerate(TOKENS):
        caches = (
            {name: cache.clone() for name, cache in manager.k_caches.items()},
            {name: cache.clone() for name, cache in manager.v_caches.items()},
        )
        options = {
            "masks": {length: mask.clone() for length, mask in manager.masks.items()},
            "freqs_cos_override": manager.freqs_cos[place : place + 1].clone(),
            "freqs_sin_override": manager.freqs_sin[place : place + 1].clone(),
            "in_cache_state": caches,
        }
        inputs = (torch.tensor([[token]]), options)
        outputs = model(*inputs)
        manager._update_states(outputs[1], 0, 1)
        steps.append((inputs, pytree.tree_leaves(outputs)))
    return steps


def test_export_llm_does_not_register_static_attention():
    """In the package itself, without Carina: what the model's module imports knows no static attention."""
    code = (
        "import sys; from executorch.examples.models.llama.attention import ATTENTION_REGISTRY as known;"
        "import executorch.examples.models.llama.llama_transformer;"
        "assert 'carina' not in sys.modules and 'static' not in known;"
        "import executorch.examples.models.llama.static_attention; assert 'static' in known"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u85-256"])
def test_static_attention_gives_what_eager_gives(target, static, package, tmp_path):
    from torch.utils import _pytree as pytree

    steps = steps_of(*static)
    program = torch.export.export(static[0], steps[0][0])
    floats = package.compile(program, target=target, quantize="none", no_delegate=True)
    samples = [tuple(pytree.tree_leaves(inputs)) for inputs, _ in steps]
    quantized = package.compile(program, target=target, quantize="int8", calibration=samples)
    on_cpu = [node for node in quantized.report().details["nodes"] if node["runs_on"] == "cpu"]
    assert len(on_cpu) <= 1 and len(quantized.report().details["delegates"]) == 1
    for sample, (_, wanted) in zip(samples, steps, strict=True):
        for mine, truth in zip(floats.run(*sample), wanted, strict=True):
            np.testing.assert_allclose(mine, truth.numpy().reshape(mine.shape), atol=1e-5)
        logits = quantized.run(*sample)[0].ravel()
        truth = wanted[0].numpy().ravel()
        assert 10 * np.log10((truth**2).sum() / ((logits - truth) ** 2).sum()) > 20
