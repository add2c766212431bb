"""The fixed sample of `make test-all`. sample.json has its cases, each with its class at the time of the choice. `make test` takes the
cases of some files.

`make conformance` chooses again (run.py --choose). A case that has become good must then stay good.
"""

import hashlib
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import cache
import capture
import reference

FILE = Path(__file__).with_name("sample.json")
SIZES = {
    "FP": 110,
    "INT": 90,
    "U55": 70,
    "U85": 70,
    "PT2E": 24,
    "INT-A16W8": 12,
    "U55-A16W8": 12,
    "U85-A16W8": 12,
    "VGF-FP": 55,
    "VGF-INT": 55,
}
LONGEST_SECONDS = 0.5
PART = 20
ONCE_BROKEN = [  # always in the sample, because they failed once
    ("models/test_nn_functional.py::test_nn_functional_tosa_INT[grid_sample]", "INT"),
    ("models/test_nn_functional.py::test_nn_functional_tosa_INT[fold]", "PT2E"),
    ("ops/test_add.py::test_add_tensor_tosa_FP_3[4d_randn_diff_rank_bf16]", "FP"),
    ("ops/test_amin.py::test_amin_u55_INT[rank_4_no_dim]", "U55"),
    ("ops/test_mean_dim.py::test_mean_dim_a16w8_u85_INT_xfail[rand_1_keepdim]", "U85-A16W8"),
    ("ops/test_pow.py::test_pow_tensor_tensor_vgf_quant[broadcast_exp]", "VGF-INT"),
    ("ops/test_prod.py::test_prod_vgf_quant[rank2_dim1]", "VGF-INT"),
    ("ops/test_to_copy.py::test_to_tosa_INT_quantized_int_to_float_cast_add[int8_to_fp32_add]", "INT"),
    ("ops/test_view.py::test_view_u55_INT[rand_1d_neg]", "U55"),
    ("ops/test_while.py::test_while_loop_tosa_INT[large_threshold]", "INT"),
    ("ops/test_while.py::test_while_loop_u85_INT[additional_arg]", "U85"),
]


def rank(outcome):
    """A pseudo-random order that is the same in every run."""
    return hashlib.sha256(f"{outcome['id']} {outcome['kind']}".encode()).hexdigest()


def eligible(outcome, kind):
    quick = outcome.get("seconds", 0) < LONGEST_SECONDS and outcome["class"] not in ("na", "counted")
    return outcome["kind"] == kind and outcome["id"].startswith("ops/") and quick and outcome["peer"] == "pass"


def round_robin(outcomes, size):
    """One case of each test file, then a second one of each, and so on."""
    files = defaultdict(list)
    for o in sorted(outcomes, key=rank):
        files[o["id"].split("::")[0]].append(o)
    turns = sorted((turn, rank(o)) for queue in files.values() for turn, o in enumerate(queue))
    chosen = {key for _, key in turns[:size]}
    return [o for o in outcomes if rank(o) in chosen]


def choose(outcomes):
    chosen = [o for o in outcomes if (o["id"], o["kind"]) in ONCE_BROKEN]
    for kind, size in SIZES.items():
        chosen += [o for o in round_robin([o for o in outcomes if eligible(o, kind)], size) if o not in chosen]
    return [{"id": o["id"], "kind": o["kind"], "class": o["class"]} for o in chosen]


def write(entries):
    FILE.write_text(
        "[\n" + ",\n".join(json.dumps(e) for e in sorted(entries, key=lambda e: (e["id"], e["kind"]))) + "\n]\n"
    )


def read():
    return json.loads(FILE.read_text())


def part(entries):
    """All cases of the files that failed once, and those of every PART-th other file in a pseudo-random order."""
    once_broken = {case.split("::")[0] for case, _ in ONCE_BROKEN}
    others = {file_of(e) for e in entries} - once_broken
    chosen = once_broken | set(sorted(others, key=lambda name: hashlib.sha256(name.encode()).hexdigest())[::PART])
    return [e for e in entries if file_of(e) in chosen]


def share_of(name):
    """The cases of "whole", the sample, or of "part", that of `make test`."""
    return read() if name == "whole" else part(read())


def capture_apart(share):
    """Captures in a process of its own. Its children are forks, and a process with threads should not fork. Its modules
    have names that those of other tests have too."""
    subprocess.run([sys.executable, Path(__file__).with_name("run.py"), "--capture-sample", share], check=True)


def file_of(entry):
    return entry["id"].split("::")[0]


def captured(entries):
    """[(case, kind)] of the sample. Captures what the cache lacks."""
    ids, peer = defaultdict(set), defaultdict(bool)
    for e in entries:
        test_file = file_of(e)
        ids[test_file].add(e["id"])
        peer[test_file] |= reference.needs_peer(e["kind"])
    missing = [f for f in ids if not cache.is_captured(f, peer[f])]
    capture.capture([capture.Order(f, peer[f], frozenset(ids[f]), "sample") for f in missing])
    cases = {c["id"]: c for f in ids for c in cache.cases_of(f, "sample" if f in missing else "files")}
    return [(cases[e["id"]], e["kind"]) for e in entries]
