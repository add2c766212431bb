#!/usr/bin/env python3
"""Makes the notices and the bill of materials of Carina's third-party code from third_party.toml.

usage: third_party.py notices OUTPUT        license texts of all components, as one text file
       third_party.py sbom OUTPUT VERSION   CycloneDX 1.5 (JSON) of Carina VERSION
       third_party.py check FILE...         each shared library that FILE needs has a row; exit code 1 if one has none

License texts and versions come from the installed Debian packages (/usr/share/doc, dpkg-query), and for Python packages from their
metadata. A component whose text is not installed is named on stderr, and the notices contain its address instead. The outputs contain no
time and no path of the machine, so equal packages give equal bytes.
"""

import json
import re
import subprocess
import sys
import uuid
from functools import cache
from importlib import metadata
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # CPython 3.10: scikit-build-core brings it, for a wheel
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
DOCS = Path("/usr/share/doc")
COMMON_LICENSES = Path("/usr/share/common-licenses")
RULE = "=" * 80


def components():
    rows = tomllib.loads((ROOT / "third_party.toml").read_text())
    return sorted(rows.items())


@cache
def debian_version(package):
    query = ["dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Version}", package]
    try:
        done = subprocess.run(query, capture_output=True, text=True)
    except OSError:  # not a Debian system
        return ""
    status, _, version = done.stdout.partition(" ")
    return version.strip() if done.returncode == 0 and status.startswith("ii") else ""


def source_of(row):
    """(package, version, license text) of a component; empty strings if it is not installed."""
    for package in row.get("debian", []):
        version, copyright_file = debian_version(package), DOCS / package / "copyright"
        if version and copyright_file.is_file():
            return package, version, copyright_file.read_text(errors="replace")
    if "distribution" in row:
        try:
            found = metadata.distribution(row["distribution"])
        except metadata.PackageNotFoundError:
            return "", "", ""
        texts = [
            found.locate_file(file).read_text(errors="replace") for file in found.files or [] if "LICENSE" in file.name
        ]
        return row["distribution"], found.version, "\n".join(texts)
    return "", "", ""


def notices():
    parts = [
        "Carina contains or uses the following third-party components. Carina itself is under the Apache License 2.0.\n"
    ]
    shared = set()
    for name, row in components():
        package, version, text = source_of(row)
        head = (
            f"{RULE}\n{name} {version}".rstrip()
            + f"\n{row['url']}\nLicense: {row['license']}\nUse: {row['use']}\n{RULE}\n"
        )
        if not text:
            print(
                f"third_party: no license text of {name} is installed; the notices give its address only",
                file=sys.stderr,
            )
            text = f"The license text was not installed where this file was made. See {row['url']}\n"
        shared.update(re.findall(r"/usr/share/common-licenses/([\w.-]*\w)", text))
        parts.append(f"{head}\n{text.rstrip()}\n")
    for name in sorted(shared):  # texts to which copyright files refer
        file = COMMON_LICENSES / name
        if file.is_file():
            parts.append(
                f"{RULE}\nText of /usr/share/common-licenses/{name}\n{RULE}\n\n{file.read_text(errors='replace').rstrip()}\n"
            )
    return "\n".join(parts)


def sbom(version):
    rows = []
    for name, row in components():
        package, installed, _ = source_of(row)
        upstream = re.split(r"[+~-]", re.sub(r"^\d+:", "", installed))[
            0
        ]  # 1:2.1.5+ds-2 is version 2.1.5 of the original project
        kind = "pypi" if "distribution" in row else "deb/debian"
        component = {
            "type": "library",
            "bom-ref": name,
            "name": name,
            "version": upstream or "unknown",
            "licenses": [{"expression": row["license"]}],
            "externalReferences": [{"type": "website", "url": row["url"]}],
            "properties": [{"name": "carina:use", "value": row["use"]}]
            + [{"name": "carina:library", "value": library} for library in row.get("library", [])],
        }
        if package:
            component["purl"] = f"pkg:{kind}/{package}@{installed}"
        rows.append(component)
    carina = {
        "type": "application",
        "bom-ref": "carina",
        "name": "carina",
        "version": version,
        "licenses": [{"expression": "Apache-2.0"}],
    }
    content = json.dumps([carina, rows], sort_keys=True)
    bom = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}",  # depends on the content only
        "version": 1,
        "metadata": {"component": carina},
        "components": rows,
        "dependencies": [{"ref": "carina", "dependsOn": [name for name, _ in components()]}],
    }
    return json.dumps(bom, indent=1) + "\n"


def check(files):
    known = {library for _, row in components() for library in row.get("library", [])}
    missing = False
    for file in files:
        listing = subprocess.run(["objdump", "-p", file], capture_output=True, text=True, check=True).stdout
        needed = re.findall(r"^\s+NEEDED\s+(\S+)", listing, re.MULTILINE)
        for library in needed:
            if library not in known:
                print(f"third_party: {file} needs {library}, which no row of third_party.toml names", file=sys.stderr)
                missing = True
        print(f"{file}: {len(needed)} shared libraries")
    return 1 if missing else 0


def main(arguments):
    match arguments:
        case ["notices", output]:
            Path(output).write_text(notices())
        case ["sbom", output, version]:
            Path(output).write_text(sbom(version))
        case ["check", first, *others]:
            return check([first, *others])
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


sys.exit(main(sys.argv[1:]))
