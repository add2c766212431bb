"""docs/kernels.md: the kernels of the official libraries' tables, their schemas, and which element types they take there and here.

kernel_page.py [PAGE]: writes it (docs/kernels.md). The tables are those of the wheel; types are found by calling kernels (kernel_types.py).
"""

import sys
import tempfile
from pathlib import Path

import torch
import yaml
from kernel_calls import ROOT, kernel_names
from kernel_eager import operator_of
from kernel_types import NAMES, official_program, plain_names, types_taken

REAL = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64)
GROUPS = {
    "real": REAL,
    "integers": REAL[:5],
    "floats": REAL[5:],
    "complex": (torch.complex32, torch.complex64, torch.complex128),
}

# Types that an official kernel takes and ours does not, and why.
LEFT_OUT = {
    "_upsample_bilinear2d_aa.out": "of integers eager PyTorch has uint8 only; ours is as that",
    "upsample_bilinear2d.vec_out": "of integers eager PyTorch has uint8 only, with a rounding of its own",
    "grid_sampler_2d.out": "places between elements, given as integers; eager PyTorch has none",
    "topk.values": "complex numbers have no order; the official kernel takes them for integers",
}

# Kernels that no draw of kernel_samples.py calls: the test that judges them.
BY_HAND = {
    "aten::_to_copy.out": "test_copies_convert_between_all_types",
    "aten::allclose.out": "test_allclose",
    "aten::copy_": "test_runtime.py (state)",
    "aten::empty.out": "test_fills_leave_what_they_should",
    "aten::native_dropout.out": "test_dropout",
    "dim_order_ops::_clone_dim_order.out": "test_copies_convert_between_all_types",
    "dim_order_ops::_empty_dim_order.out": "test_fills_leave_what_they_should",
    "dim_order_ops::_to_dim_order_copy.out": "test_copies_convert_between_all_types",
    "et_copy::_d2h_copy.out": "test_copies_convert_between_all_types",
    "et_copy::_h2d_copy.out": "test_copies_convert_between_all_types",
    "aten::rand.out": "test_random_numbers_are_even_normal_and_the_same_in_each_run",
    "aten::randn.out": "test_random_numbers_are_even_normal_and_the_same_in_each_run",
}


def executorch():
    import executorch as package

    return Path(package.__path__[0])


def table(path):
    return yaml.safe_load((executorch() / path).read_text())


def portable_names():
    """The portable library's, without the one that returns a tensor of its own, which no program can call."""
    names = [row.get("op") or row["func"].split("(")[0].removeprefix("aten::") for row in table("kernels/portable/functions.yaml")]
    custom = [row["func"].split("(")[0] for row in table("kernels/portable/custom_ops.yaml")]
    return sorted(set(names + custom) - {"allclose.Tensor"})


def schemas_of(path):
    """{name: schema}, of the rows that write it out."""
    return {row["func"].split("(")[0].removeprefix("aten::"): row["func"].removeprefix("aten::") for row in table(path) if "func" in row}


def full_name(name):
    """With its namespace, as programs call it."""
    return name if "::" in name else f"aten::{name}"


def portable_schemas():
    """{name: schema} of the portable library: those that its tables write out, else PyTorch's."""
    written = schemas_of("kernels/portable/functions.yaml") | schemas_of("kernels/portable/custom_ops.yaml")
    return {name: written.get(name) or str(operator_of(name)[1]).removeprefix("aten::") for name in portable_names()}


def types_text(kinds):
    left, words = set(kinds), []
    for word, group in GROUPS.items():
        if set(group) <= left:
            words.append(word)
            left -= set(group)
    return ", ".join(words + [NAMES[kind] for kind in NAMES if kind in left])


def portable_rows(taken):
    for name, schema in portable_schemas().items():
        ours = taken.get(name)
        if ours is None:
            yield f"| `{schema}` | | | {BY_HAND[full_name(name)]} |"
            continue
        beyond = [kind for kind in ours.official if kind not in ours.ours]
        says = f"{types_text(beyond)}: {LEFT_OUT[name]}" if beyond else ""
        yield f"| `{schema}` | {types_text(ours.ours)} | {says} | |"


def plain_rows(schemas):
    return [f"| `{schema}` |" for _, schema in sorted(schemas.items())]


def probed():
    with tempfile.TemporaryDirectory() as folder:
        return types_taken([official_program(Path(folder))], plain_names())


def missing_types(taken):
    """[(kernel, types)] that the official kernel takes and ours does not, and that LEFT_OUT does not name."""
    return [(name, types_text(set(row.official) - set(row.ours))) for name, row in taken.items() if set(row.official) - set(row.ours) and name not in LEFT_OUT]


def page(taken):
    quantized, cortex_m = schemas_of("kernels/quantized/quantized.yaml"), schemas_of("backends/cortex_m/ops/operators.yaml")
    ours = kernel_names()
    official = {full_name(name) for name in portable_names()} | set(quantized) | set(cortex_m)
    beyond = [name for name in ours if name not in official]
    lines = f"""# Kernels

Made by `tests/judges/kernel_page.py` from the tables of the package `executorch`; do not edit. All kernels that they name are in Carina's runtime, on a host and
in firmware: {len(portable_names())} of the portable library, {len(quantized)} quantized, {len(cortex_m)} of the Cortex-M backend, and {len(beyond)} beside these.
A program that calls another one is refused by its name when it is loaded.

## The portable library
Types: those of the tensors that are not indices, masks or counts, found by calling our kernel and the official one with the same random arguments. **real**: **integers** (u8, i8, i16, i32,
i64) and **floats** (f16, bf16, f32, f64); **complex**: c32, c64, c128. Judge: eager PyTorch, on random shapes, orders of axes, types and values
(`tests/judges/test_kernels.py`), where the last column names no other test. Rows without types make tensors from numbers, or have one type only.

| kernel | types | types of the official kernel beyond | test |
|---|---|---|---|
""".splitlines()
    lines += list(portable_rows(taken))
    for title, judge, schemas in (
        ("Quantized", "Judge: the official kernels themselves, as operators of PyTorch (`tests/judges/test_kernels.py`).", quantized),
        ("Of the Cortex-M backend", "Judge: the backend's Python implementations (`tests/judges/test_cortex_m_kernels.py`).", cortex_m),
    ):
        lines += ["", f"## {title}", judge, "", "| kernel |", "|---|", *plain_rows(schemas)]
    lines += ["", "## Beside these", "Of the runtime itself (numbers of a program, views, orders of axes), and embeddings of ExecuTorch's passes. Judges: Python's arithmetic, PyTorch, the passes' own functions.", ""]
    lines += [", ".join(f"`{name}`" for name in beyond)]
    return "\n".join(lines) + "\n"


def main():
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "kernels.md"
    taken = probed()
    assert not missing_types(taken), missing_types(taken)
    path.write_text(page(taken))


if __name__ == "__main__":
    main()
