"""Refuses what rooms.toml does not allow: includes between rooms, cycles of rooms, names of products.

usage: check_rooms.py SOURCE_DIR
"""

import pathlib
import re
import sys
import tomllib

PROGRAMS = ("carina", "interop", "firmware", "native")  # nobody includes them
INCLUDE = re.compile(r'^\s*#\s*include\s+"([a-z0-9_]+)/', re.MULTILINE)


def cycle_through(sees: dict[str, list[str]]) -> list[str] | None:
    """Returns one chain of rooms that sees itself, or None."""
    done: set[str] = set()

    def visit(room: str, path: list[str]) -> list[str] | None:
        if room in path:
            return path[path.index(room) :] + [room]
        if room in done:
            return None
        for seen in sees.get(room, []):
            if (found := visit(seen, path + [room])) is not None:
                return found
        done.add(room)
        return None

    for room in sees:
        if (found := visit(room, [])) is not None:
            return found
    return None


def product_names(root: pathlib.Path, file: pathlib.Path, products: dict[str, list[str]]) -> list[str]:
    """The lines of a file that name a product, where the file may not."""
    place = file.relative_to(root)
    if any(place.is_relative_to(folder) for folder in products["named_in"]):
        return []
    name = re.compile("|".join(products["names"]), re.IGNORECASE)
    lines = enumerate(file.read_text().splitlines(), 1)
    return [f"{place}:{number}: names a product; ask for its limits (rooms.toml): {line.strip()}" for number, line in lines if name.search(line)]


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    table = tomllib.loads((root / "rooms.toml").read_text())
    rooms, folders = table["rooms"], table.get("folders", {})
    sees = {room: [r for r in rooms if r not in (room, *PROGRAMS)] if seen == ["*"] else seen for room, seen in rooms.items()}
    errors = []
    if cycle := cycle_through(sees):
        errors.append("rooms.toml has a cycle: " + " -> ".join(cycle))
    checked = 0
    for room in rooms:
        folder = root / folders.get(room, f"src/{room}")
        for file in sorted(p for p in folder.rglob("*") if p.suffix in (".h", ".cpp", ".def")):
            checked += 1
            errors += product_names(root, file, table["products"])
            for included in INCLUDE.findall(file.read_text()):
                if included in rooms and included != room and included not in sees[room]:
                    errors.append(f"{file.relative_to(root)}: room '{room}' may not include room '{included}' (rooms.toml)")
    if checked == 0:
        errors.append(f"no source file found below {root}")
    print("\n".join(errors) or f"{checked} files: every include and name is allowed")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
