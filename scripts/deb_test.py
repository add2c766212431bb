#!/usr/bin/env python3
"""Checks the Debian packages with lintian, and installs the package carina in a fresh root, where it has to do its main jobs.

usage: scripts/deb_test.py [FOLDER]      (default: the newest build/release-*, which scripts/release.sh makes)

The root is made by mmdebstrap in a temporary folder: Debian bookworm, with what the package depends on, QEMU, man and three shells. There, a
program is compiled, run on the host and as firmware in QEMU with the same outputs, the manual is read, and each shell completes a word. Then
the package is purged, and the root has the files that it had before. Needs root, mmdebstrap and lintian. Standard library only.
"""

import ast
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIGITS = ROOT / "models" / "digits"
SUITE = "bookworm"
TOOLS = ["qemu-system-arm", "man-db", "bash-completion", "zsh", "fish"]
BARE = {
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LC_ALL": "C.UTF-8",
    "DEBIAN_FRONTEND": "noninteractive",
    "TERM": "dumb",
    "MANWIDTH": "100",
}
# Written by other programs whenever packages are installed or removed.
OTHERS = (
    "./proc/",
    "./sys/",
    "./dev/",
    "./tmp/",
    "./run/",
    "./root/",
    "./var/log/",
    "./var/cache/",
    "./var/lib/dpkg/",
    "./var/lib/apt/",
)
# The words that a shell offers after `carina com`, one on a line.
BASH = """
source /usr/share/bash-completion/bash_completion
_completion_loader carina
COMP_WORDS=(carina com) COMP_CWORD=1 COMP_LINE="carina com" COMP_POINT=10
"$(complete -p carina | sed 's/.*-F \\([^ ]*\\).*/\\1/')" carina com carina
printf '%s\\n' "${COMPREPLY[@]}"
"""
ZSH = "PROMPT='> '; autoload -Uz compinit; compinit -u\n"  # the words that follow are typed


def inside(root: Path, *command: str) -> list[object]:
    """The command for a command in the root, which sees its own processes in /proc."""
    return ["unshare", "--mount", "--pid", "--fork", f"--mount-proc={root}/proc", "chroot", root, *command]


def sh(*command: object, **options: object) -> str:
    """Output of a command that must succeed."""
    done = subprocess.run(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **options,
    )  # type: ignore[call-overload]
    if done.returncode:
        sys.exit(f"deb_test: {' '.join(str(word) for word in command[:4])} ... failed:\n{done.stdout[-4000:]}")
    return done.stdout


def offered_by_zsh(root: Path) -> str:
    """What zsh shows when Tab is pressed after `carina comp`. It completes only in a terminal."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 100, 0, 0))  # 50 lines of 100 columns
    zsh = subprocess.Popen(
        inside(root, "zsh", "-f", "-i"), stdin=its, stdout=its, stderr=its, env=BARE, start_new_session=True
    )
    os.close(its)
    shown = ""
    for typed, awaited in (("", "# "), (ZSH, "> "), ("carina comp\t", "completion")):
        os.write(ours, typed.encode())
        start, end = len(shown) + len(typed), time.monotonic() + 20
        while awaited not in shown[start:] and time.monotonic() < end:
            if select.select([ours], [], [], 1)[0]:
                shown += os.read(ours, 65536).decode(errors="replace")
    os.killpg(zsh.pid, signal.SIGKILL)
    zsh.wait()
    os.close(ours)
    return shown


def without_errors(packages: list[Path]) -> None:
    """lintian: no error; a warning is shown."""
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error", *packages], capture_output=True, text=True)
    print(done.stdout, end="")
    if done.returncode:
        sys.exit(f"deb_test: lintian finds errors\n{done.stderr}")


def needs(package: Path) -> list[str]:
    """The names of the packages that it depends on."""
    return [re.split(r"[ (|]", word.strip())[0] for word in sh("dpkg-deb", "-f", package, "Depends").split(",")]


def files_of(root: Path) -> set[str]:
    found = sh("find", ".", "-xdev", "-print", cwd=root).splitlines()
    return {path for path in found if not path.startswith(OTHERS)}


def first_image() -> bytes:
    """The first image of the test data as an .npy: a header with the shape, padded to 64 bytes, and the numbers."""
    data = zipfile.ZipFile(DIGITS / "test.npz").read("x.npy")
    (length,) = struct.unpack_from("<H", data, 8)
    header, numbers = ast.literal_eval(data[10 : 10 + length].decode()), data[10 + length :]
    images = header["shape"][0]
    text = repr({**header, "shape": (1, *header["shape"][1:])})
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return data[:8] + struct.pack("<H", len(text)) + text.encode() + numbers[: len(numbers) // images]


def check_program(run) -> None:  # type: ignore[no-untyped-def]
    print(run("carina", "--version").splitlines()[0])
    report = run(
        "carina",
        "compile",
        "digits.pt2",
        "--target",
        "ethos-u55-128",
        "--quantize",
        "int8",
        "--calibrate",
        "calibration.npz",
        "-o",
        "digits.pte",
    )
    assert "nodes: 14 of 14 on the NPU" in report, report
    run("carina", "run", "digits.pte", "-i", "image.npy", "-o", "host")
    run("carina", "run", "digits.pte", "-i", "image.npy", "-o", "qemu", "--on", "qemu")
    run("cmp", "host/output_0.npy", "qemu/output_0.npy")
    print("compiled and run; the firmware in QEMU gives the outputs of the host")


def check_terminal(run, root: Path) -> None:  # type: ignore[no-untyped-def]
    for page, words in {"carina": "carina-compile(1)", "carina-compile": "--memory-mode"}.items():
        assert words in run("man", page), f"man {page} does not say {words}"
    offered = {
        "bash": run("bash", "-c", BASH),
        "fish": run("fish", "-c", "complete -C 'carina com'"),
        "zsh": offered_by_zsh(root),
    }
    for shell, words in offered.items():
        assert re.search(r"\bcompile\b", words), f"{shell} does not complete `carina com`:\n{words}"
    print("man carina, man carina-compile; completion in " + ", ".join(offered))


def check(package: Path, root: Path) -> None:
    print(f"a fresh root of {SUITE} by mmdebstrap")
    sh("mmdebstrap", "--variant=apt", f"--include={','.join([*TOOLS, *needs(package)])}", SUITE, root)
    before = files_of(root)

    def run(*command: str) -> str:
        return sh(*inside(root, "sh", "-c", 'cd /tmp/digits && exec "$@"', "sh", *command), env=BARE)

    work = root / "tmp" / "digits"
    work.mkdir()
    (work / "image.npy").write_bytes(first_image())
    for file in (package, DIGITS / "digits.pt2", DIGITS / "calibration.npz"):
        (work / file.name).write_bytes(file.read_bytes())
    run("dpkg", "--install", package.name)
    added = files_of(root) - before
    assert "./usr/bin/carina" in added, added
    print(f"installed: {len(added)} files and folders")
    check_program(run)
    check_terminal(run, root)
    run("dpkg", "--purge", "carina")
    after = files_of(root)
    assert after == before, f"left behind: {sorted(after - before)}, lost: {sorted(before - after)}"
    print("purged: the root has the files that it had before")


def main() -> int:
    folders = sorted((ROOT / "build").glob("release-*/"), key=os.path.getmtime)
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else folders[-1] if folders else Path()
    packages = sorted(folder.glob("*.deb"))
    (carina,) = [package for package in packages if package.name.startswith("carina_")] or sys.exit(
        "deb_test: no package carina_*.deb: scripts/release.sh"
    )  # type: ignore[misc]
    without_errors(packages)
    with tempfile.TemporaryDirectory(prefix="carina-deb-") as place:
        os.chmod(place, 0o755)
        check(carina, Path(place, "root"))
    print("1 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
