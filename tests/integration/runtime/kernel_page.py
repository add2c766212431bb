"""Writes the page of kernels: those of the official libraries, their schemas, and the element types that the official and Carina's
kernels support.

kernel_page.py [PAGE]: writes the page. Without PAGE: build/pages/kernels.md, and its summary docs/kernels.md. The lists of kernels come from
the wheel. The types are found by calling kernels (kernel_types.py).
"""

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import torch
import yaml
from kernel_calls import ROOT, kernel_names, run_calls
from kernel_cortex_m_samples import INT16_TOO
from kernel_eager import operator_of
from kernel_official import DEVIATIONS, official_program
from kernel_quantized_types import quantized_calls, taken_of, text_of
from kernel_types import NAMES, plain_names, types_taken

sys.path.insert(0, str(ROOT / "scripts"))
import format_markdown  # noqa: E402
import generated_pages  # noqa: E402

COMMAND = "make docs"

REAL = (
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
)
GROUPS = {
    "real": REAL,
    "integers": REAL[:5],
    "floats": REAL[5:],
    "complex": (torch.complex32, torch.complex64, torch.complex128),
}

# Kernels that kernel_samples.py does not draw, with the test that checks them.
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
    """The portable library's kernels, except one that returns a new tensor, which no program can call."""
    names = [
        row.get("op") or row["func"].split("(")[0].removeprefix("aten::")
        for row in table("kernels/portable/functions.yaml")
    ]
    custom = [row["func"].split("(")[0] for row in table("kernels/portable/custom_ops.yaml")]
    return sorted(set(names + custom) - {"allclose.Tensor"})


def schemas_of(path):
    """{name: schema} of the rows that contain a schema."""
    return {
        row["func"].split("(")[0].removeprefix("aten::"): row["func"].removeprefix("aten::")
        for row in table(path)
        if "func" in row
    }


def full_name(name):
    """The name with its namespace, as programs call it."""
    return name if "::" in name else f"aten::{name}"


def portable_schemas():
    """{name: schema} of the portable library. Schemas that its tables omit come from PyTorch."""
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
            yield f"| `{schema}` | | {BY_HAND[full_name(name)]} |"
        else:
            yield f"| `{schema}` | {types_text(ours.ours)} | |"


def quantized_rows(schemas, taken):
    return [
        f"| `{schema}` | {text_of(taken[name.removeprefix('quantized_decomposed::')])} |"
        for name, schema in sorted(schemas.items())
    ]


def cortex_m_rows(schemas):
    return [
        f"| `{schema}` | {'i8, i16' if name.removeprefix('cortex_m::').removesuffix('.out') in INT16_TOO else 'i8'} |"
        for name, schema in sorted(schemas.items())
    ]


def deviation_rows():
    return [f"| {', '.join(f'`{name}`' for name in row.kernels)} | {row.reason} |" for row in DEVIATIONS]


def deviations():
    return [
        "## Where official kernels differ",
        "In these calls the official kernels differ from eager PyTorch, and Carina's kernels agree with it. All other results are equal; integers are equal bit by bit. A test fails for a row that no call needs.",
        "",
        "| kernels | what the official kernel does |",
        "|---|---|",
        *deviation_rows(),
        "",
    ]


PORTABLE = """## The portable library
Types are those of the tensors that are not indices, masks or counts. They were found by calling Carina's kernel and the official one with the same random arguments. Carina's kernels take all types of the official ones. **real** is **integers** (u8, i8, i16, i32, i64) and **floats** (f16, bf16, f32, f64); **complex** is c32, c64, c128. Rows without types make tensors from numbers, or have one type only.

The references are eager PyTorch, on random shapes, orders of axes, types and values (`tests/integration/runtime/test_kernels.py`, unless the last column names another test), and the official kernels (`tests/integration/runtime/test_official_kernels.py`, except for the calls in the last table).

| kernel | types | test |
|---|---|---|
"""


@dataclass
class Probed:
    """The result of calling kernels: {kernel: Taken} and {quantized kernel: types that Carina's kernel supports}."""

    portable: dict
    quantized: dict


def probed():
    with tempfile.TemporaryDirectory() as folder:
        portable = types_taken([official_program(Path(folder))], plain_names())
    calls = quantized_calls("page")
    return Probed(portable, taken_of(run_calls([call for *_, call in calls]), calls))


def missing_types(taken):
    """[(kernel, types)] that the official kernel supports and Carina's does not."""
    return [
        (name, types_text(set(row.official) - set(row.ours)))
        for name, row in taken.portable.items()
        if set(row.official) - set(row.ours)
    ]


def page(taken):
    quantized, cortex_m = (
        schemas_of("kernels/quantized/quantized.yaml"),
        schemas_of("backends/cortex_m/ops/operators.yaml"),
    )
    ours = kernel_names()
    official = {full_name(name) for name in portable_names()} | set(quantized) | set(cortex_m)
    beyond = [name for name in ours if name not in official]
    lines = f"""# Kernels

This page lists the CPU kernels of Carina's runtime, and their element types. `tests/integration/runtime/kernel_page.py` writes it from the tables of the package `executorch`; do not edit it.

All kernels of these tables are in the runtime, on a host and in firmware: {len(portable_names())} of the portable library, {len(quantized)} quantized, {len(cortex_m)} of the Cortex-M backend, and {len(beyond)} others. A program that calls another kernel is rejected when it is loaded, and the message names the kernel.

""".splitlines()
    lines += deviations()
    lines += [generated_pages.DETAILS.rstrip("\n"), *PORTABLE.splitlines(), *portable_rows(taken.portable)]
    for title, reference, rows in (
        (
            "Quantized",
            "Types are those of the values before quantization or after dequantization, and those of the integers. The official kernels take the same types. The references are the official kernels, bit by bit (`tests/integration/runtime/test_kernels.py`, `test_official_kernels.py`).",
            quantized_rows(quantized, taken.quantized),
        ),
        (
            "Of the Cortex-M backend",
            "Types are those of the integers, as in the backend's C++ kernels, which are not in the package. The references are the backend's Python implementations, bit by bit, on random calls (`tests/integration/runtime/test_cortex_m_kernels.py`).",
            cortex_m_rows(cortex_m),
        ),
    ):
        lines += ["", f"## {title}", reference, "", "| kernel | types |", "|---|---|", *rows]
    lines += [
        "",
        "## Other kernels",
        "These are kernels of the runtime itself (numbers of a program, views, orders of axes) and embeddings of ExecuTorch's passes. The references are Python's arithmetic, PyTorch, and the passes' own functions.",
        "",
    ]
    lines += [", ".join(f"`{name}`" for name in beyond)]
    return format_markdown.formatted("\n".join(lines))


def main():
    taken = probed()
    assert not missing_types(taken), missing_types(taken)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(page(taken).replace(generated_pages.DETAILS, ""))
    else:
        generated_pages.write("kernels.md", page(taken), COMMAND)


if __name__ == "__main__":
    main()
