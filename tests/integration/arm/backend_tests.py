"""The Arm backend's own tests: where ExecuTorch's wheel has them, and how their files run. suite.py runs them on `carina.arm`;
capture.py records their networks, which run.py compiles on the command line."""

import re
from pathlib import Path


def tests_folder():
    """The Arm backend's tests in ExecuTorch's wheel."""
    import executorch

    return Path(next(iter(executorch.__path__))) / "backends" / "arm" / "test"


def run_pytest(root, tests, ini, plugin, *options):
    """Runs files or tests in this process, without the settings and caches of the tree that has them. Writes the empty settings `ini`."""
    import pytest

    ini.write_text("[pytest]\n")
    off = [f"-pno:{name}" for name in ("cacheprovider", "unraisableexception", "threadexception")]
    fixed = ["-q", "-W", "ignore", "--import-mode=importlib", "-c", str(ini), "--rootdir", str(root)]
    pytest.main([*off, *fixed, *options, *map(str, tests)], plugins=[plugin])


def without_folders(text):
    """The text without this machine's folders."""
    return re.sub(r"(?<![\w./])/(?:[\w.+-]+/)+", "", text)
