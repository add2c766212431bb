"""Makes the page of all libraries from libraries.toml and the headers: a diagram of their includes, and for each library its job, its
contract and its neighbors. `make docs` builds the page for the site. It is not stored in the repository, because each change of a header's
comment would change it.

usage: generate_libraries.py [OUTPUT]     default: build/pages/libraries.md
"""

import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import tomllib

ROOT = Path(__file__).resolve().parent.parent
LARGEST_LINES = 3500  # the size from which a library is to be divided (docs/style.md)


@dataclass
class Library:
    """A library of libraries.toml with its files."""

    name: str
    job: str
    folder: str
    includes: list[str]
    headers: list[Path] = field(default_factory=list)  # headers that other libraries may include
    lines: int = 0


def _first_sentence(header: Path) -> str:
    """The first sentence of a header's first comment: the one at its head, otherwise the first one that is not indented."""
    comment = re.search(r"^/\* (?P<block>.*?)\*/|^(?://.*\n)+", header.read_text(), re.M | re.S)
    if comment is None:
        return ""
    text = " ".join(line.strip("/* ") for line in (comment["block"] or comment[0]).splitlines())
    return re.split(r"(?<=[.:])\s", text.strip(), maxsplit=1)[0].rstrip(":.")


def _jobs(text: str) -> dict[str, str]:
    """The comment above each library's line."""
    return {name: job for job, name in re.findall(r"^# ([^\n]*)\n([a-z0-9_]+) = \[", text, re.M)}


def libraries() -> list[Library]:
    """All libraries, in the order of the data flow."""
    text = (ROOT / "libraries.toml").read_text()
    table = tomllib.loads(text)
    jobs, folders = _jobs(text), table["folders"]
    found = [
        Library(name, jobs[name], folders.get(name, f"src/{name}"), includes)
        for name, includes in table["libraries"].items()
    ]
    by_folder = sorted(found, key=lambda library: -len(library.folder))
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "*.h", "*.cpp", "*.def"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in listed.stdout.split():
        path = ROOT / name
        public = table["public"].get(name.removeprefix("include/"))
        owner = next(
            (
                library
                for library in by_folder
                if library.name == public or (public is None and name.startswith(library.folder + "/"))
            ),
            None,
        )
        if owner is None or not path.exists():
            continue
        if path.suffix in (".h", ".cpp"):
            owner.lines += len(path.read_text().splitlines())
        if path.suffix == ".h" and not name.endswith(("_internal.h", "_inl.h")):
            owner.headers.append(path)
    return found


def edges(all_libraries: list[Library]) -> list[tuple[str, str]]:
    """The includes without redundant ones: if a includes b and c, and b includes c, only a -> b remains."""
    reached: dict[str, set[str]] = {}
    for library in all_libraries:
        reached[library.name] = set(library.includes).union(*(reached[name] for name in library.includes))
    return [
        (library.name, name)
        for library in all_libraries
        for name in library.includes
        if not any(name in reached[other] for other in library.includes if other != name)
    ]


def _section(library: Library, users: list[str]) -> str:
    size = f"{library.lines:,} lines" + (
        " (more than one library should have)" if library.lines > LARGEST_LINES else ""
    )
    lines = [f"## {library.name}", "", f"{library.job[0].upper()}{library.job[1:]}. `{library.folder}`, {size}.", ""]
    lines.append(
        "Includes: " + (", ".join(library.includes) or "none") + ". Included by: " + (", ".join(users) or "none") + "."
    )
    if library.headers:
        lines += ["", "| header | contract |", "|---|---|"]
        lines += [
            f"| `{header.relative_to(ROOT)}` | {_first_sentence(header).replace('|', chr(92) + '|')} |"
            for header in sorted(library.headers)
        ]
    return "\n".join(lines)


def page() -> str:
    """The page as Markdown, with the drawing as a Mermaid diagram."""
    found = libraries()
    users = {library.name: [other.name for other in found if library.name in other.includes] for library in found}
    drawing = "\n".join(f"  {a} --> {b}" for a, b in edges(found))
    return (
        '# Libraries\n\nMade by `scripts/generate_libraries.py` from `libraries.toml` and the headers. An arrow means "includes";\n'
        "arrows that follow from others are left out.\n\n```mermaid\nflowchart BT\n"
        + drawing
        + "\n```\n\n"
        + "\n\n".join(_section(library, users[library.name]) for library in found)
        + "\n"
    )


def main() -> int:
    """Writes the page."""
    output = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "pages" / "libraries.md"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page())
    print(output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
