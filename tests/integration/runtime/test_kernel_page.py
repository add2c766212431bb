"""The page of kernels lists every kernel and every type of the official libraries, with the support in Carina's runtime."""

from pathlib import Path

import kernel_page
import pytest
from kernel_calls import ROOT, kernel_names
from kernel_samples import NAMED


@pytest.fixture(scope="module")
def taken():
    return kernel_page.probed()


def test_every_type_of_an_official_kernel_is_taken(taken):
    assert sum(len(row.official) for row in taken.portable.values()) > 1500, (
        "the official kernels reject nearly everything: the probe is wrong"
    )
    assert not kernel_page.missing_types(taken)


def test_the_page_is_current(taken):
    summary = kernel_page.generated_pages.summary("kernels.md", kernel_page.page(taken), kernel_page.COMMAND)
    assert (ROOT / "docs" / "kernels.md").read_text() == summary, "run tests/integration/runtime/kernel_page.py"


def test_every_kernel_of_the_tables_is_there_and_on_the_page(taken):
    page, ours = kernel_page.page(taken), set(kernel_names())
    tables = ("kernels/quantized/quantized.yaml", "backends/cortex_m/ops/operators.yaml")
    official = {kernel_page.full_name(name): schema for name, schema in kernel_page.portable_schemas().items()}
    for table in tables:
        official |= kernel_page.schemas_of(table)
    assert len(official) > 250 and not set(official) - ours
    assert not [name for name, schema in official.items() if f"| `{schema}` |" not in page]


def test_every_kernel_has_a_reference():
    """Each kernel is drawn and compared with eager PyTorch, or named in a test. Embeddings and arithmetic on numbers are matched by
    pattern."""
    drawn = {f"aten::{name}" for name, draw in NAMED.items() if draw}
    sources = "".join(
        Path(__file__).with_name(name).read_text()
        for name in ("test_kernels.py", "test_cortex_m_kernels.py", "test_runtime.py")
    )
    ours = {
        name
        for name in kernel_names()
        if name not in drawn and not name.startswith(("executorch_prim::", "quantized_decomposed::embedding_"))
    }
    bare = {name: name.split("::")[1].split(".")[0] for name in ours}
    assert not [name for name, word in bare.items() if word not in sources]
    assert set(kernel_page.BY_HAND) <= ours
