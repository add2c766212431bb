"""Runs Python programs with their imports already done. A server imports the modules once (eight seconds of CPU time for executorch), and
each program is a fork of it.

    python = ForkedPython("torch", "executorch.exir")
    done = python.run("import sys; print(sys.argv[1])", "x", cwd=folder, env=environment)     # as subprocess.run gives it
    python.close()

A program behaves as under `python -W ignore -c`, with more modules in sys.modules. It must not need its atexit functions.
"""

import contextlib
import gc
import importlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import types
from pathlib import Path


class ForkedPython:
    def __init__(self, *modules):
        # One thread: a fork keeps only the thread that called it.
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-W", "ignore", __file__, *modules]
        self.server = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )

    def run(self, source, *arguments, cwd=None, env=None, timeout=600):
        with tempfile.TemporaryDirectory() as folder:
            files = [str(Path(folder, name)) for name in ("stdout", "stderr")]
            request = {"source": source, "arguments": list(map(str, arguments)), "cwd": str(cwd or os.getcwd()), "env": dict(env or os.environ),
                       "timeout": timeout, "files": files}  # fmt: skip
            self.server.stdin.write(json.dumps(request) + "\n")
            self.server.stdin.flush()
            answer = self.server.stdout.readline()
            if not answer:
                raise RuntimeError(f"the server of forked programs ended with {self.server.wait()}")
            texts = [Path(file).read_text(errors="replace") if Path(file).exists() else "" for file in files]
        return subprocess.CompletedProcess(["python", "-c", source, *map(str, arguments)], json.loads(answer), *texts)

    def close(self):
        self.server.stdin.close()
        self.server.wait(60)
        self.server.stdout.close()


# --- the server -------------------------------------------------------------------------------------------------------


def exit_code(error):
    """Python's exit code for SystemExit: its number, or 1 with the text on stderr."""
    if error.code is None or isinstance(error.code, int):
        return error.code or 0
    print(error.code, file=sys.stderr)
    return 1


def run_program(request):
    """Runs the program as the module __main__, with the environment's own module paths. Does not return."""
    for number, file in enumerate(request["files"], 1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    sys.path[0:1] = ["", *filter(None, request["env"].get("PYTHONPATH", "").split(os.pathsep))]
    sys.argv = ["-c", *request["arguments"]]
    sys.modules["__main__"] = types.ModuleType("__main__")
    code = 0
    try:
        exec(compile(request["source"], "<string>", "exec"), vars(sys.modules["__main__"]))
    except SystemExit as error:
        code = exit_code(error)
    except BaseException:
        traceback.print_exc()
        code = 1
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def wait(pid, seconds):
    """The exit code of a child, negative for a signal. Kills a child that takes too long."""
    deadline = time.monotonic() + seconds
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def serve(modules):
    answers = os.fdopen(os.dup(1), "w")
    requests = os.fdopen(os.dup(0), "r")
    os.dup2(2, 1)  # the output of imports must not look like an answer
    for module in modules:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()  # children neither scan nor copy the loaded objects
    for line in requests:
        request = json.loads(line)
        pid = os.fork()
        if pid == 0:
            run_program(request)
        print(json.dumps(wait(pid, request["timeout"])), file=answers, flush=True)


if __name__ == "__main__":
    serve(sys.argv[1:])
