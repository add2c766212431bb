#!/usr/bin/env python3
"""Makes the documentation's site in build/site. A broken link, or a page that another one names and that is missing, is an error.

usage: site.py          needs doxygen (Debian), build/release with the Python module, and the environment of the integration tests
                        (make test-env build); the other tools come from PyPI into build/site-env

The pages are the Markdown files of the repository at their own paths, so that their links hold. Files that they link, such as
sources, are copied beside them. A link to a folder becomes a link to its README.md, or loses its address if there is none.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / os.environ.get("CARINA_BUILD", "build")
SOURCE, SITE, TOOLS = BUILD / "site-source", BUILD / "site", BUILD / "site-env"
REQUIREMENTS = ["mkdocs-material==9.8.2", "pdoc==16.0.0", "numpy"]
LINK = re.compile(r"(?<!\!)\[([^\]]*)\]\(([^)#:\s]+)(#[^)]*)?\)")
REFERENCE = """# {title}

[All declarations]({address}) are on pages of their own, made from the {what}.
"""


def tools():
    stamp = TOOLS / ".stamp"
    if not stamp.exists() or stamp.read_text() != str(REQUIREMENTS):
        subprocess.run([sys.executable, "-m", "venv", "--clear", TOOLS], check=True)
        subprocess.run(
            [TOOLS / "bin" / "pip", "install", "-q", "--no-input", "--disable-pip-version-check", *REQUIREMENTS],
            check=True,
        )
        stamp.write_text(str(REQUIREMENTS))
    if shutil.which("doxygen") is None:
        sys.exit("site: doxygen is not installed. Debian: apt-get install doxygen")


def with_links(page, text):
    """The text of a page with links that hold in the site. Copies the files that it links."""

    def linked(match):
        words, address, anchor = match.groups()
        target = Path(os.path.normpath(page.parent / address))
        if (ROOT / target).is_dir():
            readme = ROOT / target / "README.md"
            return f"[{words}]({os.path.relpath(readme, ROOT / page.parent)})" if readme.exists() else words
        if target.suffix != ".md" and (ROOT / target).is_file():
            # as text, which a browser shows
            copy = SOURCE / f"{target}.txt"
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / target, copy)
            return f"[{words}]({address}.txt)"
        return match.group(0) if anchor is None or target.suffix == ".md" else f"[{words}]({address})"

    return LINK.sub(linked, text)


def pages():
    """Writes all pages into SOURCE."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    listed = subprocess.run(
        ["git", "ls-files", "*.md"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    ).stdout.split("\n")
    for page in map(Path, filter(None, listed)):
        if page.parts[0] == ".github":
            continue
        target = SOURCE / page
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(with_links(page, (ROOT / page).read_text()))
    for page in sorted((BUILD / "pages").glob("*.md")):  # make docs; they have the place of their summaries
        guide = Path("docs") / "guide" / page.name
        place = guide if (ROOT / guide).exists() else Path("docs") / page.name
        (SOURCE / place).write_text(with_links(place, page.read_text()))
    (SOURCE / "cpp.md").write_text(
        REFERENCE.format(title="C++ API", address="reference/cpp/index.html", what="headers in include/carina")
    )
    (SOURCE / "python.md").write_text(
        REFERENCE.format(title="Python API", address="reference/python/carina.html", what="package")
    )


def cpp_reference():
    settings = {
        "PROJECT_NAME": "Carina",
        "INPUT": ROOT / "include" / "carina",
        "INCLUDE_PATH": ROOT / "include",
        "OUTPUT_DIRECTORY": SOURCE / "reference",
        "HTML_OUTPUT": "cpp",
        "GENERATE_LATEX": "NO",
        "EXTRACT_ALL": "YES",
        "QUIET": "YES",
        "STRIP_FROM_PATH": ROOT / "include",
        "HTML_TIMESTAMP": "NO",
        "GENERATE_TREEVIEW": "YES",
        "HAVE_DOT": "NO",
    }
    text = "".join(f'{name} = "{value}"\n' for name, value in settings.items())
    (SOURCE / "reference").mkdir()
    subprocess.run(["doxygen", "-"], input=text, text=True, check=True)


def python_reference():
    """Runs pdoc in the environment of the integration tests, which has PyTorch, as part of the names needs it."""
    modules, python = BUILD / "release" / "python", BUILD / "test-env" / "main" / "bin" / "python"
    if not (modules / "carina").exists() or not python.exists():
        sys.exit(f"site: {modules} or {python} is missing: make test-env build")
    (packages,) = (TOOLS / "lib").glob("python3*/site-packages")
    environment = {**os.environ, "PYTHONPATH": f"{modules}:{packages}"}
    command = [
        python,
        "-W",
        "ignore",
        "-m",
        "pdoc",
        "-o",
        SOURCE / "reference" / "python",
        "carina",
        "!carina.arm",
        "!carina.__main__",
    ]
    subprocess.run(command, check=True, env=environment)


def main():
    tools()
    pages()
    cpp_reference()
    python_reference()
    command = [TOOLS / "bin" / "mkdocs", "build", "-q", "--strict", "-f", ROOT / "mkdocs.yml", "-d", SITE]
    subprocess.run(command, check=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    print(f"site: {SITE / 'README.html'}")


if __name__ == "__main__":
    main()
