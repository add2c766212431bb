"""Files whose program does not say what its operators give: exit code 0 or 1, within 20 s of CPU time and 2 GB, and no word of a mistake of Carina.

The edits of program_edits.py, of networks that together have a node of most kinds. Seeds are fixed; a failure names file and number.
60 files, in `make test-all` 600; the environment variable N=6000 sets more, and SEED=1000 starts with other numbers. Programs with
sanitizers run a third of them, without the limit of memory.
"""

import io
import json
import os
import resource
import subprocess
import zipfile

import pytest
import torch
import torch.nn.functional as F
from program_edits import Program, integer, mutate_program
from tier_plugin import sampled
from torch import nn

SANITIZED = "build/dev/" in os.environ.get("CARINA_BIN", "")
FIRST = int(os.environ.get("SEED", "0"))
COUNT = int(os.environ.get("N", sampled(60, 600))) // (3 if SANITIZED else 1)
SECONDS = 60 if SANITIZED else 20  # of CPU time
MEMORY = 2 << 30


class Signals(nn.Module):
    """Layers along one axis, and what takes their results apart."""

    def __init__(self):
        super().__init__()
        self.conv, self.back, self.scale = nn.Conv1d(3, 4, 3), nn.ConvTranspose1d(4, 2, 3), nn.Parameter(torch.randn(5))

    def forward(self, x):
        a = self.conv(x)
        picked = torch.gather(a, 2, torch.zeros(1, 4, 2, dtype=torch.int64))
        pair = torch.stack([a, a], 1), torch.cat([a, a * 2], 2)
        moved = a[:, 1:3], a.transpose(1, 2), torch.roll(a, 1, 2), a.reshape(4, 7), F.pad(a, (1, 2)), a.unfold(2, 3, 2)
        means = a.std([1, 2], correction=1), F.adaptive_avg_pool1d(a, 1), a.amax(1), a.argmax(2), a.topk(2)[0]
        return *pair, picked, *moved, *means, self.back(a), torch.matmul(a, a.transpose(1, 2)), self.scale * 2


class Images(nn.Module):
    """Layers of two axes, with a batch norm, resizing and pools."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.groups = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.GroupNorm(2, 8)
        self.depth, self.last = nn.Conv2d(8, 8, 3, stride=2, groups=8), nn.Linear(8, 5)

    def forward(self, x):
        y = F.relu6(self.norm(self.conv(x)))
        z = F.interpolate(self.depth(y), scale_factor=2, mode="bilinear")
        w = F.max_pool2d(y, 2) + F.avg_pool2d(y, 2)
        mask = torch.where(w > 0.1, w, 0.0).masked_fill(w > 2, -1.0)
        return (
            self.last(y.mean((2, 3))).log_softmax(-1),
            self.groups(z),
            F.pixel_shuffle(y, 2),
            mask,
            F.interpolate(w, size=(3, 3)),
        )


class Sequences(nn.Module):
    """Recurrence, attention, embedding, indices and writes through views."""

    def __init__(self):
        super().__init__()
        self.words, self.lstm, self.norm = (
            nn.Embedding(11, 8),
            nn.LSTM(8, 4, bidirectional=True, batch_first=True),
            nn.LayerNorm(8),
        )

    def forward(self, tokens, x):
        e = self.words(tokens) + x
        states, _ = self.lstm(e)
        heads = self.norm(states).view(1, 6, 2, 4).transpose(1, 2)
        attended = F.scaled_dot_product_attention(heads, heads, heads, is_causal=True)
        first, second = e.chunk(2, 1)
        e = e.clone()
        e[:, 0] = 0
        e[:, 1:3].mul_(2)
        return (
            attended,
            first + second,
            e,
            e[:, torch.tensor([0, 2])],
            torch.einsum("bij,bkj->bik", e, e),
            e.cumsum(1).sort(1)[0],
        )


NETWORKS = {
    "signals": (Signals, lambda: (torch.randn(1, 3, 9),)),
    "images": (Images, lambda: (torch.randn(1, 3, 12, 12),)),
    "sequences": (Sequences, lambda: (torch.randint(0, 11, (1, 6)), torch.randn(1, 6, 8))),
}
COMMANDS = [
    ["compile", "FILE", "-t", "ethos-u55-128", "-o", "out.pte"],
    ["tosa", "FILE", "-o", "out.tosa"],
    ["explain", "FILE", "-t", "ethos-u85-256"],
    ["compile", "FILE", "-t", "ethos-u85-256", "--no-delegate", "-o", "out.pte"],
    ["inspect", "FILE"],
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("programs")
    for name, (network, inputs) in NETWORKS.items():
        torch.manual_seed(51)
        program = torch.export.export(network().eval(), inputs(), strict=False)
        torch.export.save(program, place / f"{name}.pt2")
        torch.export.save(program.run_decompositions(), place / f"{name}_core.pt2")
    return place


def limited():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def run(carina, args, folder):
    """What is wrong with the run of a command; None if nothing is."""
    done = subprocess.run([carina, *args], cwd=folder, capture_output=True, timeout=600, preexec_fn=limited)
    said = (done.stdout + done.stderr).decode(errors="replace")
    if done.returncode in (0, 1) and said and "out of memory" not in said:
        return None
    return f"exit code {done.returncode}: {said[-600:]}"


@pytest.mark.parametrize("name", [f"{name}{form}" for name in NETWORKS for form in ("", "_core")])
def test_edits_of_programs_are_found_or_harmless(carina, folder, name):
    original = (folder / f"{name}.pt2").read_bytes()
    each = COUNT // (2 * len(NETWORKS)) + 1
    print(f"edits {FIRST} to {FIRST + each - 1} of {name}")
    failures = []
    for number in range(FIRST, FIRST + each):
        changed, what = mutate_program(original, number)
        (folder / "edited.pt2").write_bytes(changed)
        args = ["edited.pt2" if a == "FILE" else a for a in COMMANDS[number % len(COMMANDS)]]
        problem = run(carina, args, folder)
        if problem:
            failures.append(f"edit {number} of {name} ({', '.join(what)}): carina {' '.join(args)}: {problem}")
    assert not failures, "\n".join(failures)
    assert mutate_program(original, 1) == mutate_program(original, 1)


def edited(folder, change):
    """signals.pt2 after a change of its nodes by target and its values by name."""
    program = Program((folder / "signals.pt2").read_bytes())

    def node(target):
        return next(n for n in program.nodes if target in n["target"])

    change(node, program.values)
    return program.bytes()


def argument(target, at, value):
    return lambda node, values: node(target)["inputs"][at].update(arg=value)


def sizes(name, *numbers):
    return lambda node, values: values[name].update(
        sizes=[integer(n) for n in numbers], strides=[integer(1)] * len(numbers)
    )


# One edit each, and what the message says.
EDITS = {
    "outputs_thrice": (
        lambda node, values: node("gather").update(outputs=node("gather")["outputs"] * 3),
        "it has 3 results, not 1",
    ),
    "stack_empty": (argument("stack", 0, {"as_tensors": []}), "its list is empty"),
    "conv_weight_int": (argument("conv1d", 1, {"as_int": -1}), "its weights have rank 0, not 3"),
    "conv_result_rank": (sizes("conv1d", 0), "expected [1,4,7], got [0]"),
    "conv_result_type": (lambda node, values: values["conv1d"].update(dtype=6), "expected fp32, got fp16"),
    "slice_of_float": (argument("slice", 0, {"as_float": -1.0}), "its operand has no axis"),
    "gather_of_int": (argument("gather", 0, {"as_int": 2**62}), "axis 2 of a tensor of rank 0"),
    "std_dims": (
        argument("std.correction", 1, {"as_ints": [1, 0, 0, 2**62, 1, 2**31] * 20}),
        "argument dim is too large",
    ),
    "std_axis": (argument("std.correction", 1, {"as_ints": [1, 3]}), "axis 3 of a tensor of rank 3"),
    "std_axis_twice": (argument("std.correction", 1, {"as_ints": [1, -2]}), "axis -2 is given twice"),
    "transposed_vector": (
        argument("conv_transpose1d", 0, {"as_tensor": {"name": "p_scale"}}),
        "its operand has rank 1, not 2 or 3",
    ),
    "slice_of_vector": (argument("slice", 0, {"as_tensor": {"name": "p_scale"}}), "axis 1 of a tensor of rank 1"),
    "pool_rank": (sizes("adaptive_avg_pool1d", 2**31, -1, 2**31, 7, 1, 1), "the tensor's shape is not possible"),
    "matmul_zero": (sizes("matmul", 0, 0, 0), "expected [1,4,4], got [0,0,0]"),
    "matmul_huge": (sizes("matmul", 2**37), "expected [1,4,4]"),
    "reads_later": (argument("stack", 0, {"as_tensors": [{"name": "matmul"}] * 2}), "that an earlier node"),
}


@pytest.mark.parametrize("name", EDITS)
def test_message_says_what_the_operator_gives(carina, folder, name):
    change, message = EDITS[name]
    (folder / f"{name}.pt2").write_bytes(edited(folder, change))
    for command in COMMANDS[:3]:
        args = [f"{name}.pt2" if a == "FILE" else a for a in command]
        done = subprocess.run([carina, *args], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 1 and message in done.stdout + done.stderr, (args, done)
    assert f"{name}.pt2" in done.stderr + done.stdout


def without(data, lost):
    """The archive without the files of weights for which lost(number) holds."""
    out, number = io.BytesIO(), -1
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for info in old.infolist():
            weight = "/data/weights/weight" in info.filename
            number += weight
            if not (weight and lost(number)):
                new.writestr(info.filename, old.read(info))
    return out.getvalue(), number + 1


@pytest.mark.parametrize("name", NETWORKS)
def test_missing_weights_are_errors(carina, folder, name):
    data = (folder / f"{name}.pt2").read_bytes()
    _, count = without(data, lambda number: False)
    for gone in [*range(count), None]:
        (folder / "lost.pt2").write_bytes(without(data, lambda number: gone in (number, None))[0])  # noqa: B023
        for command in COMMANDS[:4]:
            args = ["lost.pt2" if a == "FILE" else a for a in command]
            done = subprocess.run([carina, *args], cwd=folder, capture_output=True, text=True)
            assert done.returncode == 1 and "the archive has no such entry" in done.stdout + done.stderr, (
                gone,
                args,
                done,
            )
    done = subprocess.run([carina, "inspect", "lost.pt2"], cwd=folder, capture_output=True, text=True)
    assert (
        done.returncode == 1
        and f"{count} stored tensors cannot be read" in done.stderr
        and len(done.stderr.splitlines()) <= 2
    ), done


def test_complex_weights_are_errors(carina, folder):
    """The nodes that read them are left out of the diagnosis."""
    program = Program((folder / "signals.pt2").read_bytes())
    config = json.loads(program.entries[program.config()])
    for meta in [config["config"]["conv.weight"]["tensor_meta"], program.values["p_conv_weight"]]:
        meta["dtype"] = 10
    program.entries[program.config()] = json.dumps(config).encode()
    (folder / "complex.pt2").write_bytes(program.bytes())
    for command in COMMANDS:
        args = ["complex.pt2" if a == "FILE" else a for a in command]
        done = subprocess.run([carina, *args], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 1 and "tensors of type complex64 are not supported" in done.stdout + done.stderr, (
            args,
            done,
        )
