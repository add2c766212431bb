"""Checks packaging/ and debian/: recipes by the linters of their formats, and that they agree with each other and with the build."""

import hashlib
import json
import re
import subprocess

import pytest
from conftest import ROOT, TEST_ENV

PACKAGING = ROOT / "packaging"
DOCKERFILE, CONDA, (YOCTO,) = (
    PACKAGING / "docker" / "Dockerfile",
    PACKAGING / "conda" / "recipe.yaml",
    list((PACKAGING / "yocto").glob("*.bb")),
)
VERSION = re.search(r"project\(carina VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
# Renders the conda recipe for a variant as conda-forge has it, and prints it.
RENDER = """
import json, sys
from rattler_build import Stage0Recipe, VariantConfig
(made,) = Stage0Recipe.from_file(sys.argv[1]).render(VariantConfig({"c_stdlib": ["sysroot"], "c_stdlib_version": ["2.34"]}))
print(json.dumps(made.recipe.to_dict()))
"""
# Debian's name of a library -> those of conda-forge and of Yocto's layers.
NAMES = {
    "flatbuffers": ("flatbuffers", "flatbuffers"),
    "nlohmann-json3": ("nlohmann_json", "nlohmann-json"),
    "minizip": ("minizip", "minizip"),
    "zlib1g": ("zlib", "zlib"),
    "deflate": ("libdeflate", "libdeflate"),
    "fmt": ("fmt", "fmt"),
    "cli11": ("cli11", "cli11"),
    "inih": ("inih", "inih"),
    "hwy": ("libhwy", "highway"),
    "tbb": ("tbb-devel", "onetbb"),
    "vulkan": ("libvulkan-headers", "vulkan-headers"),
    "png": ("libpng", "libpng"),
    "jpeg": ("libjpeg-turbo", "libjpeg-turbo"),
}


@pytest.fixture(scope="module")
def programs():
    folder = TEST_ENV / "explorer" / "bin"
    if not (folder / "hadolint").exists():
        pytest.skip("not run: no linters of packages (tests/integration/setup.sh explorer)")
    return folder


def run(*command):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.mark.long
def test_hadolint_accepts_the_dockerfile(programs):
    run(programs / "hadolint", DOCKERFILE)


@pytest.mark.long
def test_oelint_accepts_the_yocto_recipe(programs):
    run(
        programs / "oelint-adv", "--quiet", "--jobs", "1", "--suppress", "oelint.vars.homepageping", YOCTO
    )  # the address needs a network


@pytest.mark.long
def test_rattler_build_renders_the_conda_recipe(programs, carina):
    recipe = json.loads(run(programs / "python", "-c", RENDER, CONDA))
    assert recipe["package"] == {"name": "carina", "version": VERSION}
    contents = next(test["package_contents"] for test in recipe["tests"] if "package_contents" in test)
    built = carina.parents[1]
    assert [path for path in contents["files"] if not (built / path).exists()] == []
    assert [name for name in contents["include"] if not (ROOT / "include" / name).exists()] == []


def build_depends():
    control = (ROOT / "debian" / "control").read_text()
    words = re.search(r"^Build-Depends: (.*?)^\S", control, re.MULTILINE | re.DOTALL)[1].split(",")
    return {match[1] for word in words if (match := re.match(r"\s*(?:lib)?([\w-]+?)-dev\b", word))}


def test_recipes_need_the_libraries_of_the_debian_package():
    debian = build_depends()
    assert debian == set(NAMES)
    host = re.search(r"^  host:\n(.*?)\n\n", CONDA.read_text(), re.MULTILINE | re.DOTALL)[1]
    assert {line.strip(" -") for line in host.splitlines()} == {conda for conda, _ in NAMES.values()}
    depends = re.search(r'^DEPENDS = "(.*?)"', YOCTO.read_text(), re.MULTILINE | re.DOTALL)[1]
    assert set(depends.replace("\\", "").split()) == {yocto for _, yocto in NAMES.values()} | {"flatbuffers-native"}


def test_recipes_name_the_version_and_the_license():
    assert YOCTO.name == f"carina_{VERSION}.bb"
    assert f"md5={hashlib.md5((ROOT / 'LICENSE').read_bytes()).hexdigest()}" in YOCTO.read_text()
    assert (ROOT / "debian" / "changelog").read_text().startswith(f"carina ({VERSION})")


def test_yocto_packs_the_files_of_the_debian_package():
    """${datadir}/carina and ${mandir} are in FILES by default."""
    debian = {
        line.split("/")[2]
        for line in (ROOT / "debian" / "carina.install").read_text().split()
        if line.startswith("usr/share/")
    }
    assert debian - {"carina", "man"} == set(re.findall(r"\$\{datadir\}/([\w-]+)", YOCTO.read_text()))
