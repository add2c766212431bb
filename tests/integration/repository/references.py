"""References: paths, functions, options and other names of this repository in its pages and code comments.

`python tests/integration/repository/references.py` prints those that lead nowhere; test_docs.py expects none.

    docs/plan.md:89: `schedule/cascades.cpp`          a path is a tracked file or folder, or ends one's path
    docs/tour.md:12: `src/a/b.cpp:Machine::run`       the file defines the function
    docs/plan.md:95: `Options::dynamic_weights`       a name with `_`, `::`, `()` or inner capitals occurs in code outside comments
    docs/guide/run.md:7: `carina run --timed`         an option occurs in code outside comments, or is a row of a table of options

A name that a page shows in a code block is the reader's (a file that a command of the page writes). OTHERS lists the
names of other projects. Pages of results that programs write are not read.
"""

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[3]
RESULTS = {f"docs/{name}.md" for name in ("conformance-arm", "conformance-arm-api")}  # name the files of other projects
INVENTS = ("references.py", "test_docs.py")  # name things that do not exist, for tests
C_LIKE = (".h", ".cpp", ".c", ".def", ".js", ".S")
HASH_LIKE = (".py", ".sh", ".cmake", ".toml", ".yml", ".txt", ".mk", ".ld", ".in")
EXTENSIONS = r"(?:h|cpp|c|def|py|toml|sh|cmake|fbs|md|json|yml|ini|html)"
BUILT = re.compile(r"(\.\./)?build/|share/carina/|lib/pkgconfig")  # made by a build or an installation

OTHERS = {
    # Vela, its configuration file, and scripts and files of the Ethos-U driver
    *("vela.ini", "Arm/vela.ini", "config_files/Arm/vela.ini", "ensemble_vela.ini", "--verbose-"),
    *("register_command_stream_generator.py", "register_command_stream_util.py", "scaling.py", "fp_math.py", "lut.py"),
    *("weight_compressor.py", "architecture_features.py", "architecture_allocator.py", "npu_performance.py"),
    *("ethosu55_interface.h", "ethosu65_interface.h", "ethosu85_interface.h", "ethosu55/65/85_interface.h"),
    *("ethosu_flush_dcache", "ethosu_invalidate_dcache", "ethosu_address_remap", "ethosu_config_select"),
    *("ETHOSU_PMU_CYCLE", "ETHOSU_SEMAPHORE_WAIT_INFERENCE", "hal_ethos_u", "ZEPHYR_EXTRA_MODULES"),
    # ExecuTorch
    *("arm_vela.py", "run.sh", "run_fvp.sh", "build_executor_runner.sh", "build_executorch.sh", "test_arm_backend.sh"),
    *("get_ethosu_scratch_from_pte.py", "delegation_info.txt", "debug.json", "output_tagN_debug.json"),
    *("executorch::extension::BufferDataLoader", "find_populated_event", "variable_region", "variable_offset"),
    *(f"EXECUTORCH_BUILD_{name}" for name in ("ARM_BAREMETAL", "CORTEX_M", "DEVTOOLS", "EXTENSION_RUNNER_UTIL")),
    *(f"EXECUTORCH_BUILD_{name}" for name in ("KERNELS_QUANTIZED", "PRESET_FILE", "VGF")),
    *("export_llm", "static_quantize_kv_cache"),
    # PyTorch and its archives
    *("models/model.json", "path/model.py", "ToTensor", "TORCH_HOME", "HF_HOME"),
    # systems and tools
    *("pyconfig.h", "MADV_RANDOM", "unzGetCurrentFileZStreamPos64", ".github/workflows/ci.yml", "index.html"),
    *("--add-section", "--text", "--memory-limit"),
    # patterns of names that docs/style.md and docs/other-systems.md explain
    *("_internal.h", "X.cpp", "X_win32.cpp", "snake_case", "CamelCase", "kCamel", "member_", "test_condition_result"),
}
# Names that programs give to a reader's files, and files that a reader of the guide writes.
READERS = re.compile(
    r"DIGITS_\w+|\w*digits\.(h|c|cpp)|output_tag\w+\.json|sweep_keywords\.html|sbom\.cdx\.json|recipe\.json"
)
# Folders of other projects, in which a path may lie.
OTHERS_FOLDERS = re.compile(
    r"(executorch|exir|devtools|backends/arm|examples/arm|aten|ATen|c10|torch|common|quantizer|ethosu|ops/test_|work|"
    r"models/(?:model|<name>)\.json)"
)


class Reference(NamedTuple):
    """A name at a place that leads nowhere."""

    file: str
    line: int
    name: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.name}"


class Repository(NamedTuple):
    """What names can refer to."""

    ends: set[str]  # of the paths of all files and folders: "io/file.h", "file.h"
    stems: set[str]  # names of files without extension
    names: set[str]  # in code outside comments
    options: set[str]  # "--timed"


@cache
def tracked() -> list[str]:
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in listed.split("\0") if name and (ROOT / name).exists()]


def without_comments(name: str, text: str) -> str:
    if name.endswith(C_LIKE):
        return re.sub(r"(?<!:)//.*", "", re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL))
    return re.sub(r"(^|\s)#.*", r"\1", text) if name.endswith(HASH_LIKE) or name.endswith("Makefile") else text


def path_ends(names: list[str]) -> set[str]:
    paths = {str(path) for name in names for path in (Path(name), *Path(name).parents)}
    return {"/".join(parts[i:]) for parts in (path.split("/") for path in paths) for i in range(len(parts))}


@cache
def repository() -> Repository:
    names, options = set(), set()
    code = [name for name in tracked() if name.endswith((*C_LIKE, *HASH_LIKE, "Makefile", ".fbs", ".html"))]
    for name in code:
        if Path(name).name in INVENTS:
            continue
        text = without_comments(name, (ROOT / name).read_text(errors="replace"))
        words = set(re.findall(r"[A-Za-z_]\w*", text))
        names |= words
        options |= set(re.findall(r"(?<![\w-])--[a-z][\w-]*", text))
        if name.endswith(".def"):
            options |= {f"--{word.replace('_', '-')}" for word in words}
    return Repository(path_ends(tracked()), {Path(name).stem for name in tracked()}, names, options)


def options_of(text: str) -> list[str]:
    return re.findall(r"(?<![\w-])--[a-z][\w-]*", text)


def is_path_known(path: str) -> bool:
    """Whether a path exists. "src/x/<family>.cpp" and "facts/*.def" are patterns of which one file is enough."""
    path = path.rstrip("/")
    if OTHERS_FOLDERS.match(path) or BUILT.match(path):
        return True
    pattern = re.sub(r"<[^>]*>|\*", ".*", re.escape(path).replace(r"\*", "*"))
    return path.removeprefix("./") in repository().ends or any(re.fullmatch(pattern, end) for end in repository().ends)


def end_of_parentheses(text: str, begin: int) -> int:
    """The index after the parenthesis that closes the one at `begin`."""
    depth = 0
    for i in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return i + 1
    return len(text)


def is_defined(name: str, source: str) -> bool:
    """Whether a C++ file defines a function: "run", or "Machine::run" if the file also names the class."""
    *scope, function = name.split("::")
    ends = [end_of_parentheses(source, match.end() - 1) for match in re.finditer(rf"\b{function}\(", source)]
    has_body = any(re.match(r"\s*(?:(?:const|noexcept|override|&&)\s*)*\{", source[end:]) for end in ends)
    return has_body and all(re.search(rf"\b{part}\b", source) for part in scope)


def is_defined_in(path: str, function: str) -> bool:
    """Whether a file of this path defines the function, or the number of a line stands in place of a function."""
    files = [ROOT / name for name in tracked() if name == path or name.endswith("/" + path)]
    return function.isdigit() or any(is_defined(function, file.read_text()) for file in files)


def is_folder_of_ours(path: str) -> bool:
    """Whether "a/b" names something in this repository: a is a folder at its top or a library."""
    first = path.split("/")[0]
    return (ROOT / first).is_dir() or (ROOT / "src" / first).is_dir()


def is_span_known(span: str) -> bool:
    """Whether everything that a code span names exists; true for spans that are no names."""
    known = repository()
    if not all(option in known.options | OTHERS for option in options_of(span)):
        return False
    if re.fullmatch(rf"[\w./<>*-]+\.{EXTENSIONS}(:[\w:]+)?", span):
        path, _, function = span.partition(":")
        return is_path_known(path) and (not function or is_defined_in(path, function))
    if re.fullmatch(r"[\w<>-]+(/[\w<>-]+)+/?", span) and is_folder_of_ours(span):
        return is_path_known(span) or span.split("/")[-1] in known.stems
    function = re.fullmatch(r"((?:\w+::)*)(\w+)\(.*\)", span) or re.fullmatch(r"((?:\w+::)+)(\w+)", span)
    if function:
        return function[2] in known.names or function[0].split("(")[0] in OTHERS or function[2] in OTHERS
    if re.fullmatch(r"[A-Za-z]\w*", span) and ("_" in span or re.search(r"[a-z][A-Z]", span)):
        return span in known.names | known.stems
    return True


def spans_of(text: str) -> Iterator[tuple[int, str]]:
    """The code spans of a page outside code blocks, with their lines. Spans that the page's blocks show are left out."""
    blocks = "".join(re.findall(r"^```.*?^```", text, flags=re.MULTILINE | re.DOTALL))
    prose = re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"), text, flags=re.MULTILINE | re.DOTALL)
    for match in re.finditer(r"`([^`\n]+)`", prose):
        if match[1] not in blocks:
            yield prose.count("\n", 0, match.start()) + 1, match[1]


def dead_in_page(name: str, text: str) -> list[Reference]:
    text = text.split("\n### Names that changed\n")[0]  # of the changelog: old names
    spans = [(line, span) for line, span in spans_of(text) if span not in OTHERS and not READERS.fullmatch(span)]
    return [Reference(name, line, span) for line, span in spans if not is_span_known(span)]


def comment_lines(name: str, text: str) -> Iterator[tuple[int, str]]:
    begins = r"//(.*)|^\s*/?\*(.*)" if name.endswith(C_LIKE) else r"(?:^|\s)#(.*)"
    for number, line in enumerate(text.splitlines(), 1):
        match = re.search(begins, line)
        if match and "#include" not in line:
            yield number, next(group for group in match.groups() if group is not None)


def dead_in_code(name: str, text: str) -> list[Reference]:
    known, dead = repository(), []
    for line, comment in comment_lines(name, text):
        paths = re.findall(rf"(?<![\w/.:])(\w+(?:/\w+)+\.{EXTENSIONS})\b", comment)
        functions = re.findall(r"(?<![\w.])(?:\w+::)*(\w+)\(\)", comment)
        dead += [Reference(name, line, path) for path in paths if path not in OTHERS and not is_path_known(path)]
        dead += [Reference(name, line, o) for o in options_of(comment) if o not in known.options | OTHERS]
        dead += [Reference(name, line, f"{f}()") for f in functions if f not in known.names | OTHERS]
    return dead


def dead() -> list[Reference]:
    """All references that lead nowhere, in the pages and the code of the repository."""
    found = []
    for name in tracked():
        text = (ROOT / name).read_text(errors="replace") if not name.endswith((".png", ".npz", ".pt2", ".pte")) else ""
        if name.endswith(".md") and name not in RESULTS and not name.startswith("LICENSES"):
            found += dead_in_page(name, text)
        elif name.endswith((*C_LIKE, *HASH_LIKE, "Makefile")) and Path(name).name not in INVENTS:
            found += dead_in_code(name, text)
    return found


if __name__ == "__main__":
    print("\n".join(map(str, dead())))
