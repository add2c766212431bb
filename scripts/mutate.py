#!/usr/bin/env python3
"""Changes an operator, a constant or a condition of a library, one at a time, and lists the changes that nothing notices.

usage: scripts/mutate.py LIBRARY [--count 40] [--seed 0] [--only FILE:LINE] [--also NAME=COMMAND]...

LIBRARY is a folder of src, such as plan/emit. Its unit tests run on every change, and so does each --also COMMAND, a shell
command that finds the changed program in $CARINA_BIN and notices the change by its exit code. The last lines count the changes
that the tests and each command noticed:

    scripts/mutate.py plan/emit --also 'check=$CARINA_BIN compile m.tosa -t ethos-u85-256 --check=full -o /dev/null'

Works on a copy in build/mutants, so the sources do not change. A change that does not compile is not counted. A change that makes a test
run longer than LIMIT_SECONDS counts as detected. Standard library only. The build compiles one file per compiler run, with ccache if it is
installed.
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / os.environ.get("CARINA_BUILD", "build") / "mutants"
SOURCE, BUILD = WORK / "source", WORK / "build"
LIMIT_SECONDS = 120

# clang-format puts spaces around binary operators, but not around template brackets.
CHANGES = [
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "),
    (r" && ", " || "), (r" \|\| ", " && "), (r" \+ ", " - "), (r" - ", " + "), (r" \* ", " / "), (r" / ", " * "), (r" % ", " / "),
    (r" << ", " >> "), (r" >> ", " << "), (r" & ", " | "), (r" \| ", " & "), (r" \+= ", " -= "), (r" -= ", " += "),
    (r"\btrue\b", "false"), (r"\bfalse\b", "true"), (r"\bstd::min\b", "std::max"), (r"\bstd::max\b", "std::min"),
    (r"(?<![\w.'])(\d+)(?![\w.'])", lambda m: str(int(m[1]) + 1)),
    (r"\bif \((?!const|auto)(?=[^;]*\)(?: \{| return| continue|$))", "if (not "),
]  # fmt: skip
# Lines without behavior: comments, preprocessor, declarations that other code checks, texts of messages.
SKIPPED = re.compile(r"^\s*(//|#|using |namespace |static_assert|template|CARINA_CHECK|CARINA_UNREACHABLE|\[\[)|\"")


@dataclass(frozen=True)
class Mutant:
    file: str
    line: int
    before: str
    after: str

    def __str__(self):
        return f"{self.file}:{self.line}\n  - {self.before.strip()}\n  + {self.after.strip()}"


def mutants_of(file):
    for number, line in enumerate((SOURCE / file).read_text().splitlines(), 1):
        if SKIPPED.search(line):
            continue
        code = line.split("//")[0]
        for pattern, replacement in CHANGES:
            for match in re.finditer(pattern, code):
                text = match.expand(replacement) if isinstance(replacement, str) else replacement(match)
                yield Mutant(file, number, line, line[: match.start()] + text + line[match.end() :])


def run(command, **options):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)


def checked(command, **options):
    done = run(command, **options)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def copy_sources():
    """Unchanged files keep their time stamps, so that only changes since the last run are compiled."""
    listed = checked(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT
    ).split("\0")
    present = {name for name in listed if name and (ROOT / name).is_file()}
    for copy in [path for path in SOURCE.rglob("*") if path.is_file() and str(path.relative_to(SOURCE)) not in present]:
        copy.unlink()
    for name in sorted(present):
        source, copy = ROOT / name, SOURCE / name
        if copy.exists() and copy.read_bytes() == source.read_bytes():
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
        shutil.copymode(source, copy)


def build(programs):
    return run(["cmake", "--build", BUILD, "-j", os.environ.get("JOBS", "2"), "--target", *programs]).returncode == 0


def tests_pass(programs):
    for program in programs:
        try:
            done = run(
                [BUILD / "bin" / program, "--gtest_brief=1", "--gtest_fail_fast"],
                timeout=LIMIT_SECONDS,
                env={**os.environ, "CARINA_DEV_CHECKS": "1"},
            )
        except subprocess.TimeoutExpired:
            return False
        if done.returncode != 0:
            return False
    return True


def targets_of(programs, also):
    return [*programs, "carina"] if also else programs


def notice(command):
    """Whether a command of --also fails on the changed program."""
    environment = {**os.environ, "CARINA_BIN": str(BUILD / "bin" / "carina"), "CARINA_DEV_CHECKS": "1"}
    try:
        return run(["sh", "-c", command], timeout=LIMIT_SECONDS, env=environment, cwd=ROOT).returncode != 0
    except subprocess.TimeoutExpired:
        return True


def outcome(mutant, programs, also):
    """The names of what noticed the change; None: it does not compile."""
    path = SOURCE / mutant.file
    original = path.read_text()
    lines = original.splitlines(keepends=True)
    lines[mutant.line - 1] = mutant.after + "\n"
    path.write_text("".join(lines))
    try:
        if not build(targets_of(programs, also)):
            return None
        noticed = [] if tests_pass(programs) else ["unit tests"]
        return noticed + [name for name, command in also.items() if notice(command)]
    finally:
        path.write_text(original)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="FILE:LINE")
    parser.add_argument("--also", metavar="NAME=COMMAND", action="append", default=[])
    return parser.parse_args()


def main():
    given = arguments()
    also = dict(entry.split("=", 1) for entry in given.also)
    copy_sources()
    tests = SOURCE / "tests" / "unit" / given.library.split("/")[0] / "CMakeLists.txt"
    programs = re.findall(r"carina_test\((\w+)", tests.read_text())
    checked(["cmake", "-S", SOURCE, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1", "-DCARINA_BENCH=OFF",
             "-DCARINA_UNITY=OFF", "-DCARINA_WARNINGS_ARE_ERRORS=OFF"])  # fmt: skip
    if not build(targets_of(programs, also)) or not tests_pass(programs) or any(map(notice, also.values())):
        sys.exit(f"{', '.join([*programs, *also])}: do not build or pass without a change")
    files = sorted(str(path.relative_to(SOURCE)) for path in (SOURCE / "src" / given.library).rglob("*.cpp"))
    every = [mutant for file in files for mutant in mutants_of(file)]
    chosen = random.Random(given.seed).sample(every, min(given.count, len(every)))
    if given.only:
        chosen = [mutant for mutant in every if f"{mutant.file}:{mutant.line}" == given.only]
    counts = dict.fromkeys(["unit tests", *also, "survived", "does not compile"], 0)
    for mutant in chosen:
        found = outcome(mutant, programs, also)
        for name in ["does not compile"] if found is None else found or ["survived"]:
            counts[name] += 1
        if found == []:
            print(f"survived: {mutant}", flush=True)
    print(
        f"{given.library}: {len(every)} possible changes, {len(chosen)} made; noticed by or else: {', '.join(f'{name} {number}' for name, number in counts.items())}"
    )


if __name__ == "__main__":
    main()
