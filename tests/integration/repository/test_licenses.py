"""Checks the licenses of files in the repository and of third-party code in the program."""

import json
import re
import subprocess
import sys
import tomllib

from conftest import ROOT

COMPONENTS = tomllib.loads((ROOT / "third_party.toml").read_text())


def test_each_file_of_the_repository_has_a_license():
    done = subprocess.run([sys.executable, "-m", "reuse", "--root", ROOT, "lint"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_notices_name_each_component(run_carina):
    text = run_carina(["--licenses"]).stdout
    for name, row in COMPONENTS.items():
        assert re.search(
            rf"^{re.escape(name)}\b.*\n{re.escape(row['url'])}\nLicense: {re.escape(row['license'])}$",
            text,
            re.MULTILINE,
        ), name
    assert "Apache License" in text
    assert (
        "Permission is hereby granted, free of charge" in text
    )  # MIT: the full texts are included, not only the names


def test_the_bill_of_materials_names_each_shared_library(carina, tmp_path):
    subprocess.run([ROOT / "scripts" / "third_party.py", "sbom", tmp_path / "sbom.json", "1.2.3"], check=True)
    bom = json.loads((tmp_path / "sbom.json").read_text())
    assert bom["bomFormat"] == "CycloneDX" and bom["metadata"]["component"]["version"] == "1.2.3"
    named = {
        entry["value"]
        for component in bom["components"]
        for entry in component["properties"]
        if entry["name"] == "carina:library"
    }
    listed = subprocess.run(["ldd", carina], capture_output=True, text=True, check=True).stdout
    needed = {line.split()[0].rpartition("/")[2] for line in listed.splitlines()} - {"linux-vdso.so.1"}
    assert needed and needed <= named
    assert {component["name"] for component in bom["components"]} == set(COMPONENTS)
    again = tmp_path / "again.json"
    subprocess.run([ROOT / "scripts" / "third_party.py", "sbom", again, "1.2.3"], check=True)
    assert again.read_bytes() == (tmp_path / "sbom.json").read_bytes()


def test_a_library_without_a_row_is_an_error():
    done = subprocess.run([ROOT / "scripts" / "third_party.py", "check", "/bin/bash"], capture_output=True, text=True)
    assert done.returncode == 1 and "no row of third_party.toml names" in done.stderr
