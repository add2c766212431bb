"""Refuses what libraries.toml does not allow: includes between libraries, cycles of libraries, names of products.

usage: check_layering.py SOURCE_DIR
"""

import pathlib
import re
import sys
import tomllib

PROGRAMS = ("carina", "interop", "firmware", "native")  # nobody includes them
INCLUDE = re.compile(r'^\s*#\s*include\s+"([a-z0-9_]+)/', re.MULTILINE)


def cycle_through(sees: dict[str, list[str]]) -> list[str] | None:
    """Returns one chain of libraries that sees itself, or None."""
    done: set[str] = set()

    def visit(library: str, path: list[str]) -> list[str] | None:
        if library in path:
            return path[path.index(library) :] + [library]
        if library in done:
            return None
        for seen in sees.get(library, []):
            if (found := visit(seen, path + [library])) is not None:
                return found
        done.add(library)
        return None

    for library in sees:
        if (found := visit(library, [])) is not None:
            return found
    return None


def product_names(root: pathlib.Path, file: pathlib.Path, products: dict[str, list[str]]) -> list[str]:
    """The lines of a file that name a product, where the file may not."""
    place = file.relative_to(root)
    if any(place.is_relative_to(folder) for folder in products["named_in"]):
        return []
    name = re.compile("|".join(products["names"]), re.IGNORECASE)
    lines = enumerate(file.read_text().splitlines(), 1)
    return [f"{place}:{number}: names a product; ask for its limits (libraries.toml): {line.strip()}" for number, line in lines if name.search(line)]


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    table = tomllib.loads((root / "libraries.toml").read_text())
    libraries, folders = table["libraries"], table.get("folders", {})
    sees = {library: [r for r in libraries if r not in (library, *PROGRAMS)] if seen == ["*"] else seen for library, seen in libraries.items()}
    errors = []
    if cycle := cycle_through(sees):
        errors.append("libraries.toml has a cycle: " + " -> ".join(cycle))
    checked = 0
    for library in libraries:
        folder = root / folders.get(library, f"src/{library}")
        for file in sorted(p for p in folder.rglob("*") if p.suffix in (".h", ".cpp", ".def")):
            checked += 1
            errors += product_names(root, file, table["products"])
            for included in INCLUDE.findall(file.read_text()):
                if included in libraries and included != library and included not in sees[library]:
                    errors.append(f"{file.relative_to(root)}: library '{library}' may not include library '{included}' (libraries.toml)")
    if checked == 0:
        errors.append(f"no source file found below {root}")
    print("\n".join(errors) or f"{checked} files: every include and name is allowed")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
