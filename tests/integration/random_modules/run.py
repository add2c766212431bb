"""Draws random nn.Modules as people write them, compiles them in many ways, and compares every result with what
something else computes.

    run.py --seed 1000 --count 200            networks 1000 to 1199; prints each fault with a minimal module and the
    commands
    run.py --seed 1000 --count 5000 --jobs 2 --state FILE       goes on where it stopped; FILE has a line per network
    run.py --seed 1234 --show                 the module as a Python program
    run.py --kinds --count 1000               how often each kind of statement is drawn, and last

drawing.py has how networks are drawn, oracle.py what is compared, ways.py the targets and options, shrink.py how
failures become small. --seconds stops after so much processor time. --ways 22 is every NPU with int8 and int16x8. The
exit code is 1 if a network failed.
"""

import argparse
import collections
import contextlib
import json
import os
import re
import sys
import tempfile
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.extend(str(Path(__file__).resolve().parents[1] / folder) for folder in ("", "support"))

import torch
from tier_plugin import export_quickly

from random_modules.apart import Died, apart, each_apart
from random_modules.drawing import draw
from random_modules.engines import Command, Package
from random_modules.shrink import shrink
from random_modules.ways import ways_of

COMMAND = "--command"
LIMIT_SECONDS = 120  # for a network with all its ways
REFERENCE_SHARE = 3  # one network of three is run by the reference model too


def engine():
    """The program $CARINA_BIN if --command names it, else the Python package."""
    return Command(os.environ["CARINA_BIN"]) if COMMAND in sys.argv else Package()


def cpu_seconds():
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def checked(network, ways, reference, floats=True, vgf=True):
    """The verdict on a network as JSON."""
    from random_modules.oracle import Oracle

    started = cpu_seconds()
    verdict = Oracle(network, engine(), reference).compare(ways, floats, vgf)
    return {
        "faults": [[fault.what, fault.where, fault.detail] for fault in verdict.faults],
        "rejected": verdict.rejected,
        "compared": verdict.compared,
        "cpu_seconds": cpu_seconds() - started,
    }


def checked_seed(seed, ways):
    network = draw(seed)
    if network is None:
        return {"faults": [], "rejected": ["no network"], "compared": 0, "cpu_seconds": 0, "kinds": []}
    return {**checked(network, ways_of(seed, ways), seed % REFERENCE_SHARE == 0), "kinds": network.kinds()}


def outcome_of(network, where, what, seed, ways):
    """The first fault of this kind; for the shrinker."""
    every = what == "died"  # it is not known where
    chosen = [way for way in ways_of(seed, ways) if every or " ".join(way.flags()) == where]
    vgf = every or where.startswith("--target vgf --quantize")
    floats = every or not chosen and not vgf
    done = apart(lambda item: checked(item, chosen, every or what == "reference", floats, vgf), network, LIMIT_SECONDS)
    if isinstance(done, Died):
        return [what, where, done.how] if every else None
    return next((fault for fault in done["faults"] if fault[0] == what and fault[1] == where), None)


def explained(seed, faults, ways, seconds):
    """A text about the first fault of a network: the smallest network that has it, and the commands."""
    what, where, detail = faults[0]
    network = draw(seed)
    small = shrink(network, lambda candidate: outcome_of(candidate, where, what, seed, ways) is not None, seconds)
    again = outcome_of(small, where, what, seed, ways)
    lines = [
        f"seed {seed}: {what}, {where}: {again[2] if again else detail}",
        small.source(),
        "inputs: " + ", ".join(f"{given.name} {given.dtype}{list(given.shape)}" for given in small.inputs),
    ]
    if small.precision != "float32":
        lines.append(f"in {small.precision}")
    if where.startswith("--target"):
        lines += [
            f"carina compile model.pt2 {where} --calibrate calibration.npz --dump dump -o model.pte",
            "carina accuracy model.pt2 model.pte --data tested.npz --dump dump",
        ]
    return "\n".join(lines), small


def save(folder, seed, small, text):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"seed_{seed}.py"
    path.write_text("".join(f"# {line}\n" for line in text.splitlines()) + small.script())
    return path


def kinds_table(first, count):
    drawn, last, networks, statements = collections.Counter(), collections.Counter(), 0, 0
    for seed in range(first, first + count):
        network = draw(seed)
        if network is None:
            continue
        networks, statements = networks + 1, statements + len(network.statements)
        drawn.update(set(network.kinds()))
        last[[kind for kind in network.kinds() if kind != "ending"][-1]] += 1
    return networks, statements, drawn, last


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="of processor time")
    parser.add_argument("--ways", type=int, default=4)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--state", type=Path)
    parser.add_argument("--failures", type=Path, help="a folder for minimal modules")
    parser.add_argument("--shrink-seconds", type=float, default=60)
    parser.add_argument(COMMAND, action="store_true", help="the program $CARINA_BIN instead of the Python package")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--kinds", action="store_true")
    return parser.parse_args()


def entries(state):
    """The outcomes in a state file by seed. A line that a killed process left unfinished does not count."""
    found = {}
    for line in state.read_text().splitlines() if state.exists() else []:
        with contextlib.suppress(json.JSONDecodeError):
            found[json.loads(line)["seed"]] = json.loads(line)
    return found


def run_part(given, state, seeds):
    """Checks these seeds one after the other, until --seconds are used, and adds the outcomes to the state."""
    used = 0.0
    for seed, outcome in each_apart(lambda item: checked_seed(item, given.ways), seeds, LIMIT_SECONDS):
        if isinstance(outcome, Died):
            outcome = {
                "faults": [["died", "", outcome.how]],
                "rejected": [],
                "compared": 0,
                "cpu_seconds": 0,
                "kinds": [],
            }
        with open(state, "a") as file:
            file.write(json.dumps({"seed": seed, **outcome}) + "\n")
        for what, where, detail in outcome["faults"][:1]:
            print(f"seed {seed}: {what}, {where}: {detail.strip().splitlines()[-1][:200]}", flush=True)
        used += outcome["cpu_seconds"]
        if used > given.seconds / given.jobs:
            return


def run(given, state):
    """The outcomes by seed, those of an earlier run with this state too. Each job is a process with a part of the
    seeds."""
    seeds = [seed for seed in range(given.seed, given.seed + given.count) if seed not in entries(state)]
    parts = []
    for number in range(given.jobs):
        pid = os.fork()
        if pid == 0:
            run_part(given, state, seeds[number :: given.jobs])
            sys.stdout.flush()
            os._exit(0)
        parts.append(pid)
    for pid in parts:
        if os.waitpid(pid, 0)[1] != 0:
            sys.exit("a job ended early")
    return {
        seed: entry for seed, entry in sorted(entries(state).items()) if given.seed <= seed < given.seed + given.count
    }


def report(given, outcomes):
    failed = {seed: entry["faults"] for seed, entry in outcomes.items() if entry["faults"]}
    seen = set()
    for seed, faults in failed.items():
        if len(seen) >= 5 or given.shrink_seconds <= 0:
            break
        seen.add(seed)
        text, small = explained(seed, faults, given.ways, given.shrink_seconds)
        print(f"\n{text}", flush=True)
        if given.failures:
            print(f"saved as {save(given.failures, seed, small, text)}")
    rejected = collections.Counter(
        re_numbers(message) for entry in outcomes.values() for message in set(entry["rejected"])
    )
    for message, number in rejected.most_common(8):
        print(f"rejected: {number} x {message[:150]}")
    print(
        f"{len(outcomes)} networks, {sum(entry['compared'] for entry in outcomes.values())} results compared, {len(failed)} networks with a fault {sorted(failed)[:30]}, "
        f"{sum(entry['cpu_seconds'] for entry in outcomes.values()):.0f} s of processor time"
    )
    return 1 if failed else 0


def re_numbers(message):
    return re.sub(r"\d+", "N", message)


def main():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    given = arguments()
    if given.show:
        print(draw(given.seed).script())
        return 0
    if given.kinds:
        networks, statements, drawn, last = kinds_table(given.seed, given.count)
        print(f"{networks} networks, {statements / networks:.1f} statements each")
        for kind in sorted(drawn, key=drawn.get):
            print(f"{kind:20} in {drawn[kind]:5} networks, last in {last[kind]:4}")
        return 0
    import tosa_reference_model  # noqa: F401  before the fork

    engine()
    torch.export.export(
        torch.nn.Linear(1, 1), (torch.ones(1),), strict=False
    )  # what torch imports only now takes seconds
    export_quickly()
    with tempfile.TemporaryDirectory() as folder:
        return report(given, run(given, given.state or Path(folder, "state.jsonl")))


if __name__ == "__main__":
    sys.exit(main())
