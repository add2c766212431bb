"""Files that the commands of a page of the guide read: a reader's models, graphs and programs. guide_pages.py runs the commands."""

import struct
import subprocess
import sys
from pathlib import Path

import numpy as np

POOL = """graph @main {
 input %x: i8[1,9,4,1]
 %z: i8[1] = [0]
 %result-0: i8[1,4,2,1] = tosa.MAX_POOL2D(%x) {kernel = [2, 2], stride = [2, 2], pad = [0, 0, 0, 0], nan_mode = PROPAGATE}
 output %result-0
}
"""
COS = "graph @main {\n input %x: fp32[2]\n %y: fp32[2] = tosa.COS(%x)\n output %y\n}\n"
GATHER = (
    "graph @main {\n input %v: i8[1,2,1]\n input %i: i32[1,1]\n %y: i8[1,1,1] = tosa.GATHER(%v, %i)\n output %y\n}\n"
)

SPLIT = """import torch
class Net(torch.nn.Module):
    def forward(self, x):
        y = torch.relu(x)
        return y, torch.topk(x, 2)[0]
ModelUnderTest = Net().eval()
ModelInputs = (torch.randn(1, 2, 8, 128, generator=torch.Generator().manual_seed(1)),)
"""
ADD = """import torch
class Net(torch.nn.Module):
    def forward(self, x):
        return x + 1
inputs = (torch.ones(4),)
"""
INVERSE = """import torch
class Net(torch.nn.Module):
    def forward(self, x): return torch.linalg.inv(x)
inputs = (torch.eye(3),)
"""
LOOKUP = """import torch
from torch.nn import functional


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.conv = torch.nn.Conv1d(4, 4, 3, padding=1)

    def forward(self, x, places):
        rows = functional.relu(self.conv(x)).expand(2, 4, 32)
        return torch.gather(rows, 2, places)
inputs = (torch.randn(1, 4, 32, generator=torch.Generator().manual_seed(0)), torch.arange(256).reshape(2, 4, 32) % 32)
"""


def _graph(carina: Path, folder: Path, name: str, text: str) -> None:
    (folder / "graph.txt").write_text(text)
    subprocess.run(
        [carina.parent / "tosa_tool", "assemble", "graph.txt", name], cwd=folder, check=True, capture_output=True
    )


def _model(folder: Path, name: str, module: str, text: str) -> list[np.ndarray]:
    """Exports the class Net of a Python module. Returns its inputs."""
    import torch

    (folder / module).write_text(text)
    names: dict = {}
    exec(compile(text, module, "exec"), names)
    torch.export.save(torch.export.export(names["Net"]().eval(), names["inputs"]), folder / name)
    return [value.numpy() for value in names["inputs"]]


def _compile(carina: Path, folder: Path, model: str, program: str, *options: str) -> None:
    subprocess.run(
        [carina, "compile", model, "--target", "ethos-u55-128", *options, "-o", program],
        cwd=folder,
        check=True,
        capture_output=True,
    )


def _for_scripts(carina: Path, folder: Path) -> None:
    import torch

    del carina
    (folder / "split.py").write_text(SPLIT)
    (folder / "samples").mkdir()
    for n, x in enumerate(np.load(folder / "models/digits/calibration.npz")["x"]):
        torch.save(torch.from_numpy(x[None]), folder / f"samples/{n:02}.pt")


def _for_tosa_files(carina: Path, folder: Path) -> None:
    for name, text in (("cos.tosa", COS), ("gather.tosa", GATHER), ("pool.tosa", POOL)):
        _graph(carina, folder, name, text)
    np.save(folder / "values.npy", np.zeros([1, 2, 1], np.int8))
    np.save(folder / "indices.npy", np.full([1, 1], 2, np.int32))


def _for_troubleshooting(carina: Path, folder: Path) -> None:
    _model(folder, "inv.pt2", "op.py", INVERSE)
    _model(folder, "add.pt2", "add.py", ADD)
    x, places = _model(folder, "gather.pt2", "model.py", LOOKUP)
    np.savez(folder / "gather.npz", x=x, places=places)
    _compile(carina, folder, "add.pt2", "add.pte")
    own = (folder / "add.pte").read_bytes().replace(b"aten::add", b"my_ops::f")
    (folder / "own.pte").write_bytes(own)
    # A string of a flatbuffer: its length, its bytes, and zeros up to a multiple of four.
    ours, other = (
        struct.pack("<I", len(name)) + name.ljust(16, b"\0") for name in (b"EthosUBackend", b"XnnpackBackend")
    )
    (folder / "xnnpack.pte").write_bytes((folder / "digits.pte").read_bytes().replace(ours, other))


PAGES = {"scripts": _for_scripts, "tosa-files": _for_tosa_files, "troubleshooting": _for_troubleshooting}


def prepare(page: Path, carina: Path, folder: Path) -> None:
    """Makes the files of a page. The folder has those of all pages already."""
    if page.stem in PAGES:
        PAGES[page.stem](carina, folder)


if __name__ == "__main__":
    prepare(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
