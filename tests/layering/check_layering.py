"""Rejects violations of libraries.toml: includes between libraries that it does not list or that run against its order, private headers of
other libraries, public headers that need a header that is not installed, folders of a library that include each other, names of products,
and headers and paths of an operating system outside of the libraries that are for it. The order has no cycle, because a library includes only libraries above it.

usage: check_layering.py SOURCE_DIR
"""

import pathlib
import re
import sys

import tomllib

PROGRAMS = ("carina", "interop", "firmware", "native")  # no file includes them
INCLUDE = re.compile(r'^\s*#\s*include\s+"([a-z0-9_]+/[\w./]+)"', re.MULTILINE)


class Libraries:
    """The table of libraries.toml."""

    def __init__(self, table: dict) -> None:
        self.listed: dict[str, list[str]] = table["libraries"]
        self.order = {name: place for place, name in enumerate(self.listed)}
        folders = table.get("folders", {})
        self.folders = {name: folders.get(name, f"src/{name}") for name in self.listed}
        self.public = table.get("public", {})

    def includes(self, library: str) -> list[str]:
        """The libraries that a library may include."""
        listed = self.listed[library]
        return [name for name in self.listed if name not in (library, *PROGRAMS)] if listed == ["*"] else listed

    def of_file(self, path: str) -> str | None:
        """The library with the longest folder path that contains the file, or None."""
        if path.startswith("include/"):
            return self.public.get(path.removeprefix("include/"))
        around = [name for name, folder in self.folders.items() if path.startswith(folder + "/")]
        return max(around, key=lambda name: len(self.folders[name]), default=None)

    def of_include(self, path: str) -> str | None:
        """The same for a path after #include, which is relative to src/ or to the project."""
        return self.of_file(f"include/{path}") or self.of_file(f"src/{path}") or self.of_file(path)

    def wrong_table(self) -> list[str]:
        errors = []
        for library in self.listed:
            for name in self.includes(library):
                if name not in self.listed:
                    errors.append(f"libraries.toml: '{library}' lists '{name}', which is no library")
                elif self.listed[library] != ["*"] and self.order[name] >= self.order[library]:
                    errors.append(f"libraries.toml: '{library}' lists '{name}', which is not above it")
        return errors

    def wrong_include(self, library: str, included: str) -> str | None:
        """Why a file of a library may not include this path."""
        seen = self.of_include(included)
        if seen is None or seen == library:
            return None
        if seen not in self.includes(library):
            return f"library '{library}' may not include library '{seen}' (libraries.toml)"
        if included.endswith("_internal.h"):
            return f"{included} is private to library '{seen}'"
        return None


def product_names(root: pathlib.Path, file: pathlib.Path, products: dict[str, list[str]]) -> list[str]:
    """The lines of a file that name a product without permission."""
    path = file.relative_to(root)
    if any(path.is_relative_to(folder) for folder in products["named_in"]):
        return []
    name = re.compile("|".join(products["names"]), re.IGNORECASE)
    lines = enumerate(file.read_text().splitlines(), 1)
    return [
        f"{path}:{number}: names a product; ask for its limits (libraries.toml): {line.strip()}"
        for number, line in lines
        if name.search(line)
    ]


def system_names(root: pathlib.Path, file: pathlib.Path, system: dict[str, list[str]]) -> list[str]:
    """The lines of a file that include a header of the operating system, or name a path of its, without permission."""
    path = file.relative_to(root)
    if any(path.is_relative_to(folder) for folder in system["named_in"]):
        return []
    headers = "|".join(re.escape(header).replace(r"\*", r"[\w/.]+") for header in system["headers"])
    paths = "|".join(re.escape(text) for text in system["paths"])
    name = re.compile(rf'^\s*#\s*include\s*<({headers})>|"({paths})')
    lines = enumerate(file.read_text().splitlines(), 1)
    return [
        f"{path}:{number}: is of an operating system; src/base is for that (libraries.toml): {line.strip()}"
        for number, line in lines
        if name.search(line)
    ]


def both_ways(root: pathlib.Path, libraries: Libraries, files: set[pathlib.Path], allowed: list[str]) -> list[str]:
    """Folders of one library that include each other, except folders of operators."""
    seen = set()
    for file in files:
        name = file.relative_to(root)
        for included in INCLUDE.findall(file.read_text()):
            target = next(
                (pathlib.Path(start, included) for start in ("src", "") if (root / start / included).exists()), None
            )
            if (
                target
                and target.parent != name.parent
                and libraries.of_file(target.as_posix()) == libraries.of_file(name.as_posix())
            ):
                seen.add((name.parent.as_posix(), target.parent.as_posix()))
    return [
        f"{a} and {b} include each other"
        for a, b in sorted(seen)
        if a < b and (b, a) in seen and not {a, b} & set(allowed)
    ]


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    table = tomllib.loads((root / "libraries.toml").read_text())
    libraries = Libraries(table)
    errors, files = libraries.wrong_table(), set()
    for folder in [*libraries.folders.values(), "include"]:
        files |= {path for path in (root / folder).rglob("*") if path.suffix in (".h", ".cpp", ".def")}
    for file in sorted(files):
        name = file.relative_to(root).as_posix()
        library = libraries.of_file(name)
        errors += product_names(root, file, table["products"])
        errors += system_names(root, file, table["system"])
        for included in INCLUDE.findall(file.read_text()):
            if wrong := libraries.wrong_include(library, included):
                errors.append(f"{name}: {wrong}")
    for file in sorted(
        path for folder in ("src", "include") for path in (root / folder).rglob("*") if path.suffix in (".h", ".cpp")
    ):
        if libraries.of_file(file.relative_to(root).as_posix()) is None:
            errors.append(f"{file.relative_to(root)}: in no library (libraries.toml)")
    for file in sorted((root / "include").rglob("*.h")):
        outside = [path for path in INCLUDE.findall(file.read_text()) if not path.startswith("carina/")]
        errors += [
            f"{file.relative_to(root)}: a public header includes {path}, which is not installed" for path in outside
        ]
    errors += both_ways(root, libraries, files, table["operators"]["folders"])
    if not files:
        errors.append(f"no source file found below {root}")
    print(
        "\n".join(errors)
        or f"{len(files)} files of {len(libraries.listed)} libraries: every include and name is allowed"
    )
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
