"""The sessions of the guide and the README: commands after "$ " and their output, with "..." for omitted lines. And its Python programs with the output
that follows them.

A block that shows only a part of an output stands after a comment with the command, which the page does not show: `<!-- $ COMMAND -->`. Where
no command prints the block, the comment is `<!-- not compared: REASON -->`. `<!-- files of FOLDER -->`: the files that the page's programs wrote.

`python tests/integration/repository/guide_pages.py` runs them and updates the pages; test_docs.py only compares.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import guide_files
import numpy as np

ROOT = Path(__file__).resolve().parents[3]
GUIDE = ROOT / "docs" / "guide"
LEFT_OUT = "..."

# Sessions that need files or programs that a machine may not have. Other tests check these.
ELSEWHERE = {
    "vela --": "the peer: test_simulator_vela_streams.py",
    "carina npu run out/": "what Vela made: the same",
    "carina compare": "test_compare.py",
    "carina firmware": "a cross compiler: test_firmware.py",
    "carina qemu": "an emulator: test_firmware.py",
    "--on vulkan": "a device: test_vgf_vulkan.py",
    "pip install": "a network",
    "sudo": "a network and the right to install",
    "cmake --install": "the right to write to /usr/local: the test `install`",
    "--scheduler": "a cluster: test_cluster.py",
    "carina run model.bpte": "a program with a wrong test case: test_bundled_programs.py",
    "--calibrate x.npy": "a model of the reader's own: test_legalize.py",
    "--calibrate inputs.npz": "a model of the reader's own",
    "--data inputs.npz": "a model of the reader's own: test_schemes.py",
    "board.ini": "a file of the reader's own: test_vela_ini.py",
    "flow.tosa": "control flow: test_vgf_files.py",
    "model.tosa": "a file of the reader's own",
    "digits_0_80.tosa --with": "the peer",
}
# On these pages, sessions with firmware run too, if the machine has the images, the emulator and the cross compiler.
FIRMWARE_PAGES = (GUIDE / "firmware.md", GUIDE / "troubleshooting.md")
FIRMWARE = ("carina firmware", "carina qemu")
# Blocks of commands alone.
COMMANDS = ("carina ", "make ", "pytest ", "pip ", "cmake ")
# Sessions whose output contains times of this machine.
TIMED = ("--profile", "carina run digits.pte --timed")


class Session(NamedTuple):
    """A command and its output lines on the page. `is_part`: the lines are a part of the output."""

    command: str
    lines: list[str]
    is_part: bool = False


class Block(NamedTuple):
    """A fenced block, and the words of a comment before it."""

    comment: str
    language: str
    text: str


def fences(text: str) -> list[Block]:
    found = re.findall(r"^(?:<!-- (.*?) -->\n)?```(\w*)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    return [Block(*groups) for groups in found]


def blocks(text: str) -> list[Block]:
    """The fenced blocks that hold sessions, or parts of an output."""
    return [
        block
        for block in fences(text)
        if block.comment.startswith("$ ") or (not block.language and block.text.startswith("$ "))
    ]


def sessions(block: Block) -> list[Session]:
    if block.comment.startswith("$ "):
        return [Session(block.comment[2:], block.text.splitlines(), is_part=True)]
    found = []
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, *lines = re.sub(r"\\\n\s*", "", part).splitlines()
        found.append(Session(command, lines))
    return found


def runs_firmware(carina: Path) -> bool:
    """Whether this machine can make and run firmware."""
    images = carina.parents[1] / "share" / "carina" / "firmware" / "corstone300-host.elf"
    return images.exists() and all(shutil.which(program) for program in ("qemu-system-arm", "arm-none-eabi-g++"))


def is_elsewhere(command: str, page: Path, carina: Path) -> bool:
    if page in FIRMWARE_PAGES and command.startswith(FIRMWARE):
        return not runs_firmware(carina)
    return any(
        command.startswith(words) or (words in command and not words.startswith("carina ")) for words in ELSEWHERE
    )


def prepare(folder: Path, carina: Path) -> None:
    """Makes the files that pages share: the model, an image, its integers, the program, and its --dump files."""
    (folder / "models").symlink_to(ROOT / "models")
    (folder / "build" / "demo").mkdir(parents=True)  # of the README
    (folder / "model.pt2").symlink_to(ROOT / "models" / "digits" / "digits.pt2")
    image = np.load(ROOT / "models" / "digits" / "test.npz")["x"][:1]
    np.save(folder / "image.npy", image)
    scale, zero_point = 0.003921568859368563, -128
    np.save(folder / "integers.npy", np.clip(np.rint(image / scale) + zero_point, -128, 127).astype(np.int8))
    compiled = ["compile", "model.pt2", "--target", "ethos-u55-128", "--calibrate", "models/digits/calibration.npz"]
    subprocess.run(
        [carina, *compiled, "--dump", "dump", "-o", "digits.pte"], cwd=folder, check=True, capture_output=True
    )
    lowered = ["tosa", "model.pt2", "--calibrate", "models/digits/calibration.npz", "-o", "digits.tosa"]
    subprocess.run([carina, *lowered], cwd=folder, check=True, capture_output=True)


def environment(carina: Path) -> dict[str, str]:
    """Of a command. The Arm backend's scripts are Python programs."""
    package = {
        "PYTHONPATH": str(carina.parents[1] / "python"),
        "CARINA_PYTHON": sys.executable,
        "PYTHONWARNINGS": "ignore",
        "CARINA_BIN": str(carina),
    }
    return {**os.environ, **package, "LC_ALL": "C"}


def printed(session: Session, folder: Path, carina: Path) -> list[str]:
    """The command's current output, with messages if the page shows one."""
    command = re.sub(r"^carina |(?<=&& )carina ", f"{shlex.quote(str(carina))} ", session.command)
    done = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=600,
        env=environment(carina),
    )
    said = [line.startswith("carina: ") for line in session.lines]
    assert any(said) or session.is_part or done.returncode == 0, f"$ {session.command}\n{done.stderr}"
    shown = done.stderr if said[:1] == [True] else done.stdout + (done.stderr if any(said) else "")
    return [line.rstrip() for line in shown.replace(str(carina.parents[1]), "build/release").splitlines()]


def without_counts(line: str) -> str:
    """Replaces what depends on the version of the cross compiler (counts of the CPU's instructions, the depth of the stack) and on the
    processor (packed weights of the interpreter)."""
    words = r"interpreter memory:|fit the memory budget|cycle_cnt :|CPU cycles|ratio:|cpu_wait_for_npu|stack:"
    return re.sub(r"\d+(\.\d+)?(,\d{3})*", "#", line) if re.search(words, line) else line


def without_times(line: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"\d+\.\d+", "#", without_counts(line)))


def rounded(line: str) -> str:
    """Replaces floats with all their digits, which depend on the machine, by four digits."""
    return re.sub(r"\d+\.\d{8,}", lambda match: f"{float(match[0]):.4g}", line)


def agrees(session: Session, lines: list[str]) -> bool:
    """Whether the lines equal the page's lines. "..." matches any number of lines."""
    change = without_times if any(words in session.command for words in TIMED) else without_counts

    def plain(line: str) -> str:
        return rounded(change(line))

    shown = [LEFT_OUT if line.strip() == LEFT_OUT else re.escape(plain(line)) for line in session.lines if line.strip()]
    shown = [LEFT_OUT, *shown, LEFT_OUT] if session.is_part else shown
    pattern = "".join("(?:.*\n)*?" if line == LEFT_OUT else line + "\n" for line in shown)
    return not shown or re.fullmatch(pattern, "".join(plain(line) + "\n" for line in lines if line.strip())) is not None


def renewed(session: Session, lines: list[str]) -> list[str]:
    """The page's lines with current output. The numbers of lines before the first "..." and after the last stay as they are."""
    cuts = [i for i, line in enumerate(session.lines) if line.strip() == LEFT_OUT]
    if not cuts:
        return [
            *lines,
            *session.lines[len("\n".join(session.lines).rstrip().split("\n")) :],
        ]  # and the blank lines after them
    last = len(session.lines) - cuts[-1] - 1
    return [*lines[: cuts[0]], *session.lines[cuts[0] : cuts[-1] + 1], *(lines[-last:] if last else [])]


def run_page(page: Path, folder: Path, carina: Path) -> list[tuple[Session, list[str]]]:
    """Runs each session of a page that can run here. Returns the sessions with their current output."""
    prepare(folder, carina)
    guide_files.prepare(page, carina, folder)
    here = [
        session
        for block in blocks(page.read_text())
        for session in sessions(block)
        if not is_elsewhere(session.command, page, carina)
    ]
    return [(session, printed(session, folder, carina)) for session in here]


def write_page(page: Path, folder: Path, carina: Path) -> None:
    text = page.read_text()
    for session, lines in run_page(page, folder, carina):
        old = "".join(line + "\n" for line in session.lines)
        if session.is_part and not agrees(session, lines):
            print(f"{page.name}: change the block by hand: $ {session.command}", *lines, sep="\n")
        elif session.lines and not agrees(session, lines):
            text = text.replace(
                f"$ {session.command}\n{old}", "\n".join([f"$ {session.command}", *renewed(session, lines)]) + "\n"
            )
    page.write_text(text)


class Program(NamedTuple):
    """A Python block of a page, and the output on the page; None if it shows none."""

    code: str
    lines: list[str] | None


def programs(text: str) -> list[Program]:
    """The Python blocks of a page up to the last one with an output: the block that follows it at once, or after "prints"."""
    parts = re.split(r"^```(\w*)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    fences = list(zip(parts[1::3], parts[2::3], parts[3::3], strict=True))  # language, block, the text after it
    found = []
    for place, (language, block, rest) in enumerate(fences):
        if language != "python":
            continue
        words = rest.split()
        shown = fences[place + 1] if place + 1 < len(fences) and (not words or words[-1] == "prints") else None
        found.append(Program(block, shown[1].splitlines() if shown and not shown[0] else None))
    return found[: max((place + 1 for place, program in enumerate(found) if program.lines is not None), default=0)]


_MARK = "--- program "
_RUN = (
    """
import sys
names = {}
for number, code in enumerate(open(sys.argv[1]).read().split("\\0")):
    print(f"%s{number}", flush=True)
    exec(compile(code, f"block {number}", "exec"), names)
"""
    % _MARK
)


def run_programs(page: Path, folder: Path, carina: Path) -> list[tuple[Program, list[str]]]:
    """Runs a page's Python blocks in one process. Returns those that show an output, with their current output."""
    prepare(folder, carina)
    blocks_of_page = programs(page.read_text())
    (folder / "blocks").write_text("\0".join(program.code for program in blocks_of_page))
    done = subprocess.run(
        [sys.executable, "-c", _RUN, "blocks"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        env=environment(carina),
    )
    assert done.returncode == 0, f"{page.name}: {done.stderr[-3000:]}"
    outputs = re.split(rf"^{_MARK}\d+\n", done.stdout, flags=re.MULTILINE)[1:]
    made = zip(blocks_of_page, outputs, strict=True)
    return [
        (program, [line.rstrip() for line in output.rstrip().splitlines()])
        for program, output in made
        if program.lines is not None
    ]


def write_programs(page: Path, folder: Path, carina: Path) -> None:
    text = page.read_text()
    for program, lines in run_programs(page, folder, carina):
        before, after = text.split(program.code, 1)
        text = before + program.code + after.replace("\n".join(program.lines or []) + "\n", "\n".join(lines) + "\n", 1)
    page.write_text(text)


def listings(text: str) -> list[tuple[str, list[str]]]:
    """The folders whose files a page lists, and the files on the page."""
    return [
        (block.comment.removeprefix("files of "), block.text.splitlines())
        for block in fences(text)
        if block.comment.startswith("files of ")
    ]


def uncompared(page: Path) -> list[str]:
    """The first lines of blocks of output that nothing compares: neither sessions, commands alone, outputs of programs nor excused."""
    text = page.read_text()
    of_programs = {"\n".join(program.lines) for program in programs(text) if program.lines}
    others = [
        block for block in fences(text) if not block.language and not block.comment and not block.text.startswith("$ ")
    ]
    return [
        block.text.splitlines()[0]
        for block in others
        if block.text.rstrip("\n") not in of_programs and not is_commands(block.text)
    ]


def is_commands(text: str) -> bool:
    return all(line.startswith(COMMANDS) for line in re.sub(r"\\\n\s*", "", text).splitlines())


def pages_with_programs() -> list[Path]:
    return sorted(page for page in GUIDE.glob("*.md") if programs(page.read_text()))


def pages() -> list[Path]:
    return sorted(page for page in (ROOT / "README.md", *GUIDE.glob("*.md")) if blocks(page.read_text()))


if __name__ == "__main__":
    import tempfile

    for one in pages():
        with tempfile.TemporaryDirectory() as folder:
            write_page(one, Path(folder), ROOT / "build" / "release" / "bin" / "carina")
    for one in pages_with_programs():
        with tempfile.TemporaryDirectory() as folder:
            write_programs(one, Path(folder), ROOT / "build" / "release" / "bin" / "carina")
