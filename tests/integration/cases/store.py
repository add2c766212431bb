"""The folders of the cases, and the recipe of each. The module has no slow imports, so that the check for existing cases is fast."""

import ast
import contextlib
import fcntl
import gc
import hashlib
import importlib
import importlib.metadata
import json
import multiprocessing
import os
import shutil
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
CASES = Path(os.environ.get("CARINA_CASES", ROOT / os.environ.get("CARINA_BUILD", "build") / "cases"))
PEERS = ("numpy", "torch", "torchao", "executorch", "ethos-u-vela", "tosa-tools")
# Those that take longest first, so that two processes end together.
ORDER = ("mobilenet_v2", "resnet20", "lstm", "ds_cnn", "resnet8", "kws", "softmax", "add_float", "add_int32")
SEED = 2026


def recipes():
    found = {path.stem for path in (HERE / "recipes").glob("[a-z]*.py")}
    assert found == set(ORDER), f"recipes and ORDER differ: {found ^ set(ORDER)}"
    return ORDER


def sources_of(path):
    """The file and those of this package that it imports, itself or through others."""
    found = {path}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cases."):
            found |= sources_of(HERE.joinpath(*node.module.split(".")[1:]).with_suffix(".py"))
    return found


def recipe_of(name):
    """What the case is made of, as it stands in recipe.json."""
    digest = hashlib.sha256()
    for path in sorted(sources_of(HERE / "recipes" / f"{name}.py")):
        digest.update(path.read_bytes())
    return {"sources": digest.hexdigest()[:24], "peers": {peer: importlib.metadata.version(peer) for peer in PEERS}}


def is_made(name):
    try:
        made = json.loads((CASES / name / "recipe.json").read_text())
        return made["recipe"] == recipe_of(name) and all((CASES / name / file).exists() for file in made["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def make(name):
    """Makes the case beside its folder and puts it in place, so that others see a whole one or none. Returns its name and the seconds of CPU time."""
    start = time.process_time()
    import torch

    from cases import peers

    fresh = CASES.with_name(f"{CASES.name}.new") / name  # no folder of CASES is half made
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    torch.set_num_threads(peers.THREADS)
    torch.manual_seed(SEED)
    peers.make(importlib.import_module(f"cases.recipes.{name}").case(), fresh)
    files = sorted(str(path.relative_to(fresh)) for path in fresh.rglob("*") if path.is_file())
    (fresh / "recipe.json").write_text(json.dumps({"recipe": recipe_of(name), "files": files}, indent=1) + "\n")
    shutil.rmtree(CASES / name, ignore_errors=True)
    fresh.rename(CASES / name)
    return name, time.process_time() - start


@contextlib.contextmanager
def locked():
    CASES.mkdir(parents=True, exist_ok=True)
    with open(CASES / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def ensure(names=None, jobs=1, report=print):
    """Makes the cases that are missing, or whose recipe has changed. Returns their names."""
    missing = [name for name in names or recipes() if not is_made(name)]
    if not missing:
        return []
    with locked():
        missing = [name for name in missing if not is_made(name)]  # another process may have made them meanwhile
        if not missing:
            return []
        start = time.monotonic()
        report(
            f"cases: making {', '.join(missing)} in {CASES} with the installed peers (about 3 minutes of CPU time for all {len(ORDER)}, once)"
        )
        # Forked after the imports, which take longer than most recipes.
        import cases.peers  # noqa: F401

        # Flows make many objects and drop few: collecting them is a fifth of the time, and each process ends with its
        # case.
        gc.freeze()
        gc.disable()
        with multiprocessing.get_context("fork").Pool(min(jobs, len(missing)), maxtasksperchild=1) as pool:
            for name, seconds in pool.imap_unordered(make, missing, chunksize=1):
                report(f"cases: {name}: {seconds:.0f} s")
        report(f"cases: made in {time.monotonic() - start:.0f} s")
    return missing
