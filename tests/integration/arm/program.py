"""Runs the program `carina` and classifies its results."""

import re
import subprocess

SECONDS = 300


class Rejected(Exception):
    """Exit code 1: the model is not supported, with reasons."""

    def __init__(self, stage, text):
        super().__init__(text)
        self.stage, self.text = stage, text


class Crash(Exception):
    """A signal, an internal error or a time-out, or Carina rejects its own file."""

    def __init__(self, stage, text):
        super().__init__(text)
        self.stage, self.text = stage, text


class Program:
    """The program `carina`. `device`: more options of `carina run`."""

    def __init__(self, path, device=(), environment=None):
        self.path, self.device, self.environment = str(path), device, environment

    def __call__(self, command, *arguments):
        """Returns its stdout. Raises Rejected or Crash."""
        try:
            words = [self.path, command, *map(str, arguments)]
            done = subprocess.run(
                words, capture_output=True, text=True, errors="replace", timeout=SECONDS, env=self.environment
            )
        except subprocess.TimeoutExpired:
            raise Crash(command, f"time-out after {SECONDS} s") from None
        if done.returncode == 0:
            return done.stdout
        if done.returncode == 1 or (done.returncode == 2 and "not support" in done.stderr):
            raise Rejected(command, done.stderr.strip() or done.stdout)
        raise Crash(command, f"exit code {done.returncode}: {done.stderr.strip()[-600:]}")

    def own(self, command, *arguments):
        """Runs on a file that Carina wrote. Rejecting such a file counts as a crash."""
        try:
            return self(command, *arguments)
        except Rejected as error:
            raise Crash(
                command, "rejects its own file: " + "; ".join(what for _, what in reasons(error.text))
            ) from None


OPERATOR = re.compile(
    r"\b((?:aten|prim|prims|higher_order|quantized_decomposed|torchvision|_operator|operator|math|torch)\.[\w.]+)"
)
LEADING = re.compile(r"([a-z][a-z0-9_]*) (?:with|of|to|over|is|has)\b")


def reasons(text):
    """The diagnostics of a rejection as [(operator or '', text)]."""
    found = []
    for line in text.splitlines():
        error = re.match(r"carina: error: (.*)", line)
        if not error:
            continue
        what = re.sub(r"^\S+\.pt2: ", "", error.group(1))
        what = re.sub(r"^\w+(?:\.\w+)*(?: \([^()]*\))?: ", "", what)  # removes the node and its line
        operator, leading = OPERATOR.search(what), LEADING.match(what)
        name = (
            operator.group(1).rstrip(".").replace("torch.ops.", "") if operator else leading.group(1) if leading else ""
        )
        found.append((name, what[:300]))
    return found or [("", text.strip()[:300])]
