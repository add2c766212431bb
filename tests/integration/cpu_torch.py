"""Makes a CUDA build of torch import on a machine without CUDA's libraries (several GB).

What:   finds the shared libraries that torch's own ones need and that are absent, and links a small
        stand-in for each beside them. Every function in a stand-in returns 100, "no device", so
        torch.cuda.is_available() is False and the CPU part works as ever.
Needs:  gcc (or cc), nm and readelf. Where torch is a CPU build there is nothing to do.
Why:    symbol versions matter: the loader rejects a library that lacks the version it was linked for.

usage: python cpu_torch.py            (run by setup.sh with the environment's python)
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

VENDOR_LIBRARIES = ("libcu", "libnv", "libnccl")
VENDOR_SYMBOLS = ("cu", "nv", "__cuda", "__nv", "nccl")


def lines_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def needed_names(library):
    return {line.split("[")[1].split("]")[0] for line in lines_of("readelf", "-dW", library) if "(NEEDED)" in line}


def version_owners(library):
    """{symbol version: library that must define it}, from the version needs section."""
    owners, owner = {}, None
    for line in lines_of("readelf", "-VW", library):
        words = line.split()
        if "File:" in words:
            owner = words[words.index("File:") + 1]
        elif "Name:" in words and owner:
            owners[words[words.index("Name:") + 1]] = owner
    return owners


def dynamic_symbols(library):
    """(undefined, defined); an undefined one keeps its '@version'."""
    undefined, defined = set(), set()
    for line in lines_of("nm", "-D", library):
        words = line.split()
        if len(words) == 2:
            undefined.add(words[1])
        elif len(words) == 3:
            defined.add(words[2].split("@")[0])
    return undefined, defined


def link_stand_in(compiler, target, names, version):
    with tempfile.TemporaryDirectory() as folder:
        source, script = Path(folder, "s.c"), Path(folder, "s.map")
        source.write_text("".join(f"int {name}(void) {{ return 100; }}\n" for name in sorted(names)))
        command = [
            compiler,
            "-shared",
            "-fPIC",
            "-w",
            "-O1",
            f"-Wl,-soname,{target.name}",
            "-o",
            str(target),
            str(source),
        ]
        if version:
            script.write_text(f"{version} {{ global: *; }};\n")
            command.append(f"-Wl,--version-script,{script}")
        subprocess.run(command, check=True)


def main():
    folder = Path(importlib.util.find_spec("torch").origin).parent / "lib"
    libraries = sorted(folder.glob("*.so*"))
    needed, undefined, defined, owners = set(), set(), set(), {}
    for library in libraries:
        needed |= needed_names(library)
        lacks, has = dynamic_symbols(library)
        undefined |= lacks
        defined |= has
        owners |= version_owners(library)
    missing = sorted(name for name in needed - {p.name for p in libraries} if name.startswith(VENDOR_LIBRARIES))
    if not missing:
        return 0
    compiler = shutil.which("gcc") or shutil.which("cc")
    if not compiler:
        print("cpu_torch: a CUDA build of torch needs gcc here to do without CUDA's libraries", file=sys.stderr)
        return 1
    versioned = {name: set() for name in missing}
    version_of, loose = {}, set()
    for symbol in undefined:
        name, _, version = symbol.partition("@")
        owner = owners.get(version)
        if owner in versioned:
            versioned[owner].add(name)
            version_of[owner] = version
        elif not version and name not in defined and name.startswith(VENDOR_SYMBOLS):
            loose.add(name)
    # Symbols without a version may come from any library of the chain: one that libtorch_cuda itself needs.
    chain = needed_names(folder / "libtorch_cuda.so")
    home = next(name for name in missing if name in chain and name not in version_of)
    for name in missing:
        link_stand_in(
            compiler, folder / name, versioned[name] | (loose if name == home else set()), version_of.get(name)
        )
    print(f"cpu_torch: {len(missing)} stand-ins for CUDA's libraries in {os.path.relpath(folder, sys.prefix)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
