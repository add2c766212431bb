"""Sweeps on a Dask cluster have the same bytes as on one machine although processes are killed. Workers with another carina are
rejected, results are kept, and only named files are sent.

Each worker runs `carina` through a script that logs its jobs and injects a fault.
"""

import json
import os
import resource
import runpy
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from conftest import ROOT

DIGITS = ROOT / "models" / "digits"
MODEL = [DIGITS / "digits.pt2", "--calibrate", DIGITS / "calibration.npz"]
# Two schemes, three NPUs and all memory modes: 36 combinations.
WORDS = [
    *MODEL,
    "--targets",
    "ethos-u55-32,ethos-u65-256,ethos-u85-128",
    "--memory-modes",
    "all",
    "--quantize",
    "int8,int16x8",
    "--json",
]
COUNT = 36
PACKAGE = Path(os.environ["CARINA_BIN"]).parents[1] / "python"  # the build's, which other tests import, too
sys.path.insert(0, str(PACKAGE))
Parts = runpy.run_path(str(PACKAGE / "carina" / "cluster" / "parts.py"))["Parts"]

# Runs `carina`. {fault} runs before each job; $job is the file of the job, $calls the number of jobs so far.
SCRIPT = """#!/bin/sh
for word in "$@"; do
  case "$word" in
    --job=*)
      job="${{word#--job=}}"
      cat "$job" >> "{log}"; echo >> "{log}"
      calls=$(wc -l < "{log}")
      {fault}
      ;;
    --version) {version}
      ;;
  esac
done
exec "{carina}" "$@"
"""
KILLS_WORKER = '[ "$calls" -eq 2 ] && kill -9 $PPID && sleep 30'
KILLS_ITSELF = "kill -9 $$"
DISK_IS_FULL_ONCE = '[ "$calls" -eq 1 ] && echo "write error: No space left on device" >&2 && exit 1'
HALF_A_LINE_ONCE = """[ "$calls" -eq 1 ] && printf '{{"started": 0}}\\n{{"scheme": "int' && exit 0"""
HANGS = "sleep 100"
SLOW = "sleep 1"
OTHER_VERSION = "echo 'carina 0.0.9'; exit 0"


class Cluster:
    """A scheduler and its workers. Each worker has a folder w<n> with its script and the log of its jobs."""

    def __init__(self, carina, folder, tls=()):
        self.carina, self.folder, self.tls = carina, folder, tls
        self.processes = []
        self.workers = []
        self.file = folder / "scheduler.json"
        self.start_scheduler(0)

    def start_scheduler(self, port):
        self.file.unlink(missing_ok=True)
        address = ["--host", "tls://127.0.0.1" if self.tls else "127.0.0.1", "--port", port]
        self.scheduler = self.start("scheduler", "dask_scheduler", [*address, "--no-dashboard"])
        end = time.monotonic() + 60
        while not (self.file.exists() and self.file.read_text().endswith("}")):
            assert time.monotonic() < end, (self.folder / "scheduler.log").read_text()
            time.sleep(0.05)
        self.address = json.loads(self.file.read_text())["address"]

    def start(self, name, module, words, **environment):
        with open(self.folder / f"{name}.log", "wb") as log:
            command = [
                sys.executable,
                "-m",
                f"distributed.cli.{module}",
                "--scheduler-file",
                self.file,
                *self.tls,
                *map(str, words),
            ]
            self.processes.append(
                subprocess.Popen(command, cwd=self.folder, env={**os.environ, **environment}, stdout=log, stderr=log)
            )
        return self.processes[-1]

    def add_worker(self, fault=":", version="", nanny=False):
        """Starts a worker. Returns the log of its jobs, one per line."""
        home = self.folder / f"w{len(self.workers)}"
        home.mkdir()
        script = home / "carina"
        script.write_text(
            SCRIPT.format(
                log=home / "jobs",
                carina=self.carina,
                fault=fault.replace("{{", "{").replace("}}", "}"),
                version=version,
            )
        )
        script.chmod(0o755)
        self.start_worker(home.name, nanny)
        return home / "jobs"

    def start_worker(self, name, nanny=False):
        home = self.folder / name
        options = [
            "--nthreads",
            1,
            "--no-dashboard",
            "--local-directory",
            home / "local",
            *([] if nanny else ["--no-nanny"]),
        ]
        self.workers.append(self.start(name, "dask_worker", options, CARINA_BIN=str(home / "carina")))
        return self.workers[-1]

    def wait_for_workers(self, count):
        ask = "import sys; from distributed import Client; Client(sys.argv[1]).wait_for_workers(int(sys.argv[2]), timeout=120)"
        subprocess.run([sys.executable, "-c", ask, self.address, str(count)], check=True, capture_output=True)

    def start_sweep(self, *words, cwd=None, command="sweep", **more):
        environment = {**os.environ, "CARINA_PYTHON": sys.executable, "PYTHONPATH": str(ROOT / "python")}
        line = [self.carina, command, "--scheduler", self.address, *map(str, words)]
        return subprocess.Popen(
            line, env=environment, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
        )

    def sweep(self, *words, expect=0, **more):
        """Runs a sweep. Returns stdout and stderr."""
        process = self.start_sweep(*words, **more)
        output, errors = process.communicate(timeout=300)
        assert process.returncode == expect, errors
        assert "Traceback" not in errors
        return output, errors

    def close(self):
        for process in reversed(self.processes):
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture
def cluster(carina, tmp_path):
    started = Cluster(carina, tmp_path)
    yield started
    started.close()


@pytest.fixture(scope="module")
def alone(run_carina, tmp_path_factory):
    """The sweep on one machine: stdout, and the folder with sweep.csv, sweep.html and programs."""
    folder = tmp_path_factory.mktemp("alone")
    return run_carina(["sweep", *WORDS, *outputs(folder)]).stdout, folder


def outputs(folder):
    (folder / "programs").mkdir()
    return ["--table", folder / "sweep.csv", "--report", folder / "sweep.html", "-o", folder / "programs"]


def programs(folder):
    return {file.name: file.read_bytes() for file in (folder / "programs").iterdir()}


def done(jobs):
    """The indices of the combinations in a log of jobs."""
    lines = jobs.read_text().splitlines() if jobs.exists() else []
    return [
        number
        for line in lines
        for first, last in json.loads(line)["combinations"]
        for number in range(first, last + 1)
    ]


def test_bytes_are_the_same_although_a_worker_dies(alone, cluster, tmp_path):
    text, folder = alone
    died, lasted = cluster.add_worker(KILLS_WORKER), cluster.add_worker()
    output, errors = cluster.sweep(*WORDS, *outputs(tmp_path))
    assert output == text
    for name in ("sweep.csv", "sweep.html"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes(), name
    assert programs(tmp_path) == programs(folder)
    assert set(done(died)) | set(done(lasted)) == set(range(COUNT))
    assert len(done(lasted)) == len(set(done(lasted))), "the other worker compiles nothing twice"
    assert not list((tmp_path / "w1").glob("local/**/carina-*")), "its files are removed"


@pytest.mark.long
def test_restarted_worker_receives_the_files_again(alone, cluster):
    # Dask's nanny restarts the worker. The log continues, so the restarted worker is not killed.
    cluster.add_worker(KILLS_WORKER, nanny=True)
    output, _ = cluster.sweep(*WORDS)
    assert output == alone[0]


@pytest.mark.long
@pytest.mark.parametrize("fault", [DISK_IS_FULL_ONCE, HALF_A_LINE_ONCE], ids=["full disk", "half a line"])
def test_faults_of_the_machine_are_retried(alone, cluster, fault):
    jobs = cluster.add_worker(fault)
    output, _ = cluster.sweep(*WORDS)
    assert output == alone[0]
    assert set(done(jobs)) == set(range(COUNT))


@pytest.mark.long
def test_combination_that_kills_carina_is_a_failed_row(cluster):
    jobs = cluster.add_worker(KILLS_ITSELF)
    output, _ = cluster.sweep(*MODEL, "--targets", "ethos-u55-32,ethos-u55-64", "--json", expect=1)
    rows = json.loads(output)["rows"]
    assert [row["status"] for row in rows] == ["failed", "failed"]
    for row in rows:
        assert (
            "failed after 4 attempts: killed by signal 9 (SIGKILL), possibly out of memory on tcp://127.0.0.1"
            in row["reason"]
        )
    assert sorted(done(jobs)) == [0, 0, 0, 0, 1, 1, 1, 1]


@pytest.mark.long
def test_timeout_is_a_failed_row(cluster):
    cluster.add_worker(HANGS)
    output, _ = cluster.sweep(*MODEL, "--targets", "ethos-u55-32", "--timeout", "0.5", "--json", expect=1)
    [row] = json.loads(output)["rows"]
    assert "took more than 0.5 s" in row["reason"]


def test_worker_with_another_carina_is_rejected(alone, cluster):
    other = cluster.add_worker(version=OTHER_VERSION)
    _, errors = cluster.sweep(*WORDS, expect=1)
    assert "no worker of tcp://" in errors and "has version 0.0.9" in errors
    good = cluster.add_worker()
    process = cluster.start_sweep(*WORDS)
    output, errors = process.communicate(timeout=300)
    # Without the good worker, the sweep fails. It may start late, so the sweep is repeated.
    if process.returncode != 0:
        output, errors = cluster.sweep(*WORDS)
    assert output == alone[0]
    assert "gets no work" in errors and "has version 0.0.9" in errors
    assert done(other) == [] and set(done(good)) == set(range(COUNT))


def test_next_call_continues_after_the_client_was_killed(alone, cluster, run_carina, tmp_path):
    jobs = cluster.add_worker(SLOW)
    state = ["--state", tmp_path / "state"]
    killed = cluster.start_sweep(*WORDS, *state)
    end = time.monotonic() + 120
    while not any(file.read_text().strip() for file in (tmp_path / "state").glob("*.jsonl")):
        assert time.monotonic() < end
        time.sleep(0.05)
    killed.send_signal(signal.SIGTERM)
    _, errors = killed.communicate(timeout=60)
    assert killed.returncode == 130 and "the same command continues with the others" in errors
    [kept] = (tmp_path / "state").glob("*.jsonl")
    first = len([line for line in kept.read_text().splitlines() if line])
    assert 0 < first < COUNT
    before = len(done(jobs))
    output, _ = cluster.sweep(*WORDS, *state)
    assert output == alone[0]
    assert len(done(jobs)) - before == COUNT - first, "kept combinations are not compiled again"
    assert run_carina(["sweep", *WORDS, *state]).stdout == alone[0], "one machine reads the same state"


@pytest.mark.long
def test_only_named_files_are_sent(alone, cluster, run_carina, tmp_path):
    here = tmp_path / "here"
    for name in ("int8", "all"):
        (here / name).mkdir(parents=True)
        (here / name / "secret.key").write_text("secret")
    seen = tmp_path / "seen"
    cluster.add_worker(f'ls -R "$(dirname "$job")/.." >> {seen}')
    words = ["--cpu-node", "{0}", "--cpu-node", "{7}"]
    output, _ = cluster.sweep(*WORDS, cwd=here)
    assert output == alone[0]
    assert "secret.key" not in seen.read_text() and "digits.pt2" in seen.read_text()
    locally = run_carina(["sweep", *WORDS, *words], expect=None)
    assert cluster.sweep(*WORDS, *words, cwd=here, expect=locally.code)[0] == locally.stdout, "braces are text"


@pytest.mark.parametrize(
    "words, message, code",
    [
        (["--targets", "ethos-u99"], "ethos-u55-32", 2),
        (["--part", "0", "--parts", "2"], "--part", 2),
        (["--table", "missing/x.csv"], "missing", 1),
        (["-o", "/dev/null/missing"], "missing", 1),
    ],
)
def test_wrong_options_fail_before_the_client_connects(run_carina, words, message, code, tmp_path):
    failed = run_carina(["sweep", *MODEL, "--scheduler", "tcp://127.0.0.1:1", *words], expect=code, cwd=tmp_path)
    assert message in failed.stderr


@pytest.mark.long
def test_scheduler_that_stops_is_one_line(cluster, tmp_path):
    cluster.add_worker(SLOW)
    sweep = cluster.start_sweep(*WORDS, "--state", tmp_path / "state")
    while not any(file.read_text().strip() for file in (tmp_path / "state").glob("*.jsonl")):
        assert sweep.poll() is None
        time.sleep(0.05)
    cluster.scheduler.kill()
    _, errors = sweep.communicate(timeout=120)
    assert sweep.returncode == 1
    assert (
        "has stopped" in errors and "the same command continues with the others" in errors and "Traceback" not in errors
    )


@pytest.mark.long
def test_stopped_worker_delays_only_its_own_work(alone, cluster):
    # A stopped process accepts connections but does not answer, so it must not be waited for.
    for _ in range(2):
        cluster.add_worker()
    cluster.wait_for_workers(2)
    cluster.workers[0].send_signal(signal.SIGSTOP)
    output, _ = cluster.sweep(*WORDS)
    cluster.workers[0].send_signal(signal.SIGCONT)
    assert output == alone[0]


@pytest.mark.long
def test_slow_worker_is_not_rejected_before_it_is_set_up(alone, cluster):
    cluster.add_worker(version="sleep 4")
    cluster.wait_for_workers(1)
    output, errors = cluster.sweep(*WORDS)
    assert output == alone[0] and "gets no work" not in errors


@pytest.mark.long
def test_sweep_under_nohup_survives_the_end_of_its_terminal(alone, cluster):
    jobs = cluster.add_worker(SLOW)
    sweep = cluster.start_sweep(
        *WORDS, "--progress", "/dev/full", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)
    )
    wait_for(lambda: done(jobs))
    sweep.send_signal(signal.SIGHUP)
    output, errors = sweep.communicate(timeout=300)
    assert sweep.returncode == 0 and output == alone[0], errors


@pytest.mark.long
def test_model_that_changes_during_the_sweep_is_an_error(cluster, tmp_path):
    jobs = cluster.add_worker(SLOW)
    model = tmp_path / "model.pt2"
    model.write_bytes(MODEL[0].read_bytes())
    sweep = cluster.start_sweep(model, *WORDS[1:])
    wait_for(lambda: done(jobs))
    model.write_bytes(model.read_bytes() + b" ")
    output, errors = sweep.communicate(timeout=300)
    assert sweep.returncode == 1
    assert "36 combinations are missing" in output and "was changed during the sweep" in output, errors


@pytest.mark.long
def test_worker_whose_carina_cannot_be_run_is_rejected(alone, cluster):
    home = cluster.folder
    (home / "list").write_text(f'#!/bin/sh\n[ "$1" = --version ] && exec {cluster.carina} --version\necho "[]"\n')
    (home / "list").chmod(0o755)
    for name in ("missing", "list"):
        cluster.start(
            "worker-" + name,
            "dask_worker",
            ["--nthreads", 1, "--no-dashboard", "--no-nanny", "--local-directory", home / name[0]],
            CARINA_BIN=str(home / name),
        )
    cluster.add_worker()
    cluster.wait_for_workers(3)
    output, errors = cluster.sweep(*WORDS)
    assert output == alone[0]
    assert "missing cannot be run: No such file or directory" in errors and "list cannot be run" in errors


# --- interrupts, attacks, TLS ------------------------------------------------------------------------------------


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def has_rows(state):
    return any(file.read_text().strip() for file in state.glob("*.jsonl"))


def children_of(folder):
    """Processes of carina whose command line contains the folder."""
    lines = subprocess.run(["ps", "-ww", "-eo", "args"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line for line in lines if str(folder) in line and "--job=" in line]


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "kill -9"])
def test_killed_client_leaves_nothing_on_workers(cluster, tmp_path, number):
    cluster.add_worker("sleep 97 # $job")
    sweep = cluster.start_sweep(*WORDS, "--state", tmp_path / "state")
    wait_for(lambda: children_of(tmp_path / "w0"))
    sweep.send_signal(number)
    _, errors = sweep.communicate(timeout=60)
    assert sweep.returncode == (130 if number == signal.SIGINT else -9) and "Traceback" not in errors
    wait_for(lambda: not children_of(tmp_path / "w0") and not list((tmp_path / "w0").glob("local/**/carina-*")))


@pytest.mark.long
def test_full_disk_keeps_finished_rows(alone, cluster, tmp_path):
    cluster.add_worker()
    state = ["--state", tmp_path / "state"]
    _, errors = cluster.sweep(
        *WORDS, *state, expect=1, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
    )
    assert "cannot keep the results: " in errors and "the same command continues with the others" in errors
    output, _ = cluster.sweep(*WORDS, *state)
    assert output == alone[0]


@pytest.mark.long
def test_rows_are_kept_if_an_output_cannot_be_written(alone, cluster):
    jobs = cluster.add_worker()
    output, errors = cluster.sweep(*WORDS, "--table", "/dev/full", expect=1)
    [folder] = [
        word.rstrip(":") for word in errors.split() if word.startswith(f"{tempfile.gettempdir()}/carina-sweep-")
    ][:1]
    before = len(done(jobs))
    output, _ = cluster.sweep(*WORDS, "--state", folder)
    assert output == alone[0]
    assert len(done(jobs)) == before == COUNT
    shutil.rmtree(folder)


@pytest.mark.long
def test_file_changed_by_another_user_is_rejected(cluster):
    cluster.add_worker('[ "$calls" -eq 1 ] && echo EVIL > "$(dirname "$job")/../0/digits.pt2"')
    _, errors = cluster.sweep(*WORDS, expect=1)
    assert "digits.pt2 was changed on this worker" in errors


@pytest.mark.long
def test_folder_writable_by_others_is_rejected(cluster, tmp_path):
    cluster.add_worker()
    (tmp_path / "w0").chmod(0o777)
    _, errors = cluster.sweep(*WORDS, expect=1)
    assert f"other users can change {tmp_path / 'w0'}" in errors


@pytest.mark.long
def test_combination_that_kills_its_workers_is_a_failed_row(cluster):
    jobs = cluster.add_worker("kill -9 $PPID && sleep 30", nanny=True)
    output, _ = cluster.sweep(*MODEL, "--targets", "ethos-u55-32", "--json", expect=1)
    [row] = json.loads(output)["rows"]
    assert row["status"] == "failed" and "killed 4 workers, at last tcp://127.0.0.1" in row["reason"]
    assert done(jobs) == [0] * 4


def make_certificates(folder):
    """Makes a certificate authority and a certificate for 127.0.0.1. Returns the paths of both and of the key."""
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1\n")
    commands = [
        "req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj /CN=ca -days 2",
        "req -newkey rsa:2048 -nodes -keyout key.pem -out request.pem -subj /CN=127.0.0.1",
        "x509 -req -in request.pem -CA ca.pem -CAkey ca.key -CAcreateserial -out cert.pem -days 2 -extfile names",
    ]
    for command in commands:
        subprocess.run(["openssl", *command.split()], cwd=folder, check=True, capture_output=True)
    return [folder / name for name in ("ca.pem", "cert.pem", "key.pem")]


@pytest.mark.long
def test_sweep_over_tls_has_the_rows_of_one_machine(alone, carina, tmp_path):
    ca, certificate, key = make_certificates(tmp_path)
    cluster = Cluster(carina, tmp_path, ("--tls-ca-file", ca, "--tls-cert", certificate, "--tls-key", key))
    try:
        cluster.add_worker()
        assert cluster.address.startswith("tls://")
        output, _ = cluster.sweep(*WORDS, "--tls-ca", ca, "--tls-cert", certificate, "--tls-key", key)
        assert output == alone[0]
        _, errors = cluster.sweep(*WORDS, expect=1)
        assert "a tls:// scheduler needs --tls-ca" in errors
    finally:
        cluster.close()


# --- more than one model, and samples ----------------------------------------------------------------------------------


@pytest.mark.long
def test_several_models_have_the_rows_of_one_machine(cluster, run_carina, tmp_path):
    cluster.add_worker()
    text = "".join(
        f"[{name}]\nmodel = '{MODEL[0]}'\ncalibrate = '{MODEL[2]}'\nquantize = '{scheme}'\n"
        for name, scheme in (("a", "int8"), ("b", "int16x8"))
    )
    (tmp_path / "models.toml").write_text(text)
    words = ["--models", tmp_path / "models.toml", "--targets", "ethos-u55", "--json"]
    assert cluster.sweep(*words)[0] == run_carina(["sweep", *words]).stdout


@pytest.mark.long
def test_accuracy_has_the_bytes_of_one_machine(cluster, run_carina, tmp_path):
    run_carina(["compile", *MODEL, "-t", "ethos-u55-64", "-o", tmp_path / "digits.pte", "--dump", tmp_path / "dump"])
    words = [MODEL[0], tmp_path / "digits.pte", "--data", DIGITS / "test.npz", "--dump", tmp_path / "dump", "--json"]
    cluster.add_worker(KILLS_WORKER)
    cluster.add_worker()
    output, _ = cluster.sweep(*words, command="accuracy")
    assert output == run_carina(["accuracy", *words]).stdout


# --- parts -----------------------------------------------------------------------------------------------------------------


def test_parts_have_all_items_once_and_little_preparation():
    # Two schemes, eleven NPUs with six memory modes. An NPU takes 0.5 s, the preparation 0.3 s.
    parts = Parts([[0, 131]], 66, 6)
    taken = [parts.take(64), parts.take(64)]
    assert taken == [list(range(6)), list(range(66, 72))] and parts.take(64) is None, (
        "the first parts measure the times"
    )
    for part in taken:
        parts.measured(part[0], len(part), 0.3, 0.8)
    while part := parts.take(64):
        taken.append(part)
    assert sorted(item for part in taken for item in part) == list(range(132))
    assert all(len(part) >= 30 for part in taken[2:]), "0.3 s are at most 12 % of five NPUs"
    assert parts.empty()


def test_parts_of_long_items_are_short():
    parts = Parts([[0, 65]], 66, 6)
    parts.measured(0, len(parts.take(4)), 1, 1 + 6 * 40)
    assert len(parts.take(4)) == 1, "two items would take more than 60 s"


def test_items_that_a_part_did_not_reach_are_given_back():
    parts = Parts([[0, 131]], 66, 6)
    taken = parts.take(4)
    parts.measured(0, 2, 1, 1 + 2 * 40)
    parts.give_back(taken[2:])
    rest = []
    while part := parts.take(4):
        rest += part
        parts.measured(part[0], len(part), 1, 1 + len(part) * 40)
    assert sorted(taken[:2] + rest) == list(range(132))


def test_part_that_takes_long_stops_after_a_line(monkeypatch):
    from carina.cluster import on_worker

    lines = "".join(
        f"print('{{\"started\": {n}}}', flush=True); time.sleep(0.2); print('{{\"row\": {n}}}', flush=True);"
        for n in range(100)
    )
    with subprocess.Popen([sys.executable, "-c", f"import time; {lines}"], stdout=subprocess.PIPE) as child:
        site = on_worker.Site({"limit": 0})
        result = {"lines": [], "fault": None, "at": None, "prepare_seconds": 0.0}
        for name in ("_PART_SECONDS", "_PART_PREPARATIONS"):
            monkeypatch.setattr(on_worker, name, 0.0)
        assert not site._read(child, time.monotonic(), result)
        child.kill()
    assert result["lines"] == [[0, '{"row": 0}']] and result["fault"]["kind"] == "time"


@pytest.mark.parametrize("kept", [False, True], ids=["nothing", "a row"])
def test_temporary_folder_stays_only_with_results(monkeypatch, capsys, tmp_path, kept):
    """A sweep whose report fails keeps its rows for the next call. That of a broken model has no rows."""
    from carina.cluster import command

    described = subprocess.CompletedProcess([], 0, '{"here": [], "version": "", "program_sha256": ""}', "")
    reported = subprocess.CompletedProcess([], 74, "", "")
    monkeypatch.setattr(command, "run", lambda words, **options: described if "--describe" in words else reported)
    monkeypatch.setattr(command.tempfile, "tempdir", str(tmp_path))
    code = command.with_state("sweep", [], lambda said, here, folder: (folder / "rows.jsonl").touch() if kept else None)
    assert code == 1 and len(list(tmp_path.iterdir())) == kept
    assert ("the results are kept" in capsys.readouterr().err) == kept


def test_finished_job_closes_its_state(tmp_path):
    from carina.cluster.command import Here
    from carina.cluster.sweep import _jobs

    sweep = {
        "model": "m",
        "key": "key",
        "options": [],
        "files": [],
        "schemes": [""],
        "targets": ["t"],
        "memory_modes": ["m"],
        "missing": [[0, 0]],
    }
    here = Here({"here": [], "version": "", "program_sha256": ""})
    before = len(os.listdir("/proc/self/fd"))
    [job] = _jobs({"sweeps": [sweep]}, here, tmp_path)
    job.give_up(0, "reason")
    assert len(os.listdir("/proc/self/fd")) == before + 1
    job.close()
    assert len(os.listdir("/proc/self/fd")) == before


# --- kill -9 -------------------------------------------------------------------------------------------------------------

ROUNDS = int(os.environ.get("CARINA_CLUSTER_ROUNDS", "8"))


def worker_process(worker):
    """The worker process of a nanny."""
    found = subprocess.run(
        ["pgrep", "-P", str(worker.pid), "-f", "spawn_main"], capture_output=True, text=True
    ).stdout.split()
    return int(found[0]) if found else worker.pid


def start_and_kill(cluster, state, what):
    """Starts a sweep and kills a process after the first rows. Returns what the sweep prints."""
    sweep = cluster.start_sweep(*WORDS, "--state", state)
    wait_for(lambda: has_rows(state) or sweep.poll() is not None)
    worker = cluster.workers[-1]
    victims = {
        "worker": worker_process(worker),
        "nanny": worker.pid,
        "scheduler": cluster.scheduler.pid,
        "client": sweep.pid,
    }
    os.kill(victims[what], signal.SIGKILL)
    output, errors = sweep.communicate(timeout=300)
    assert "Traceback" not in errors, (what, errors)
    return output


@pytest.mark.long
def test_rounds_of_kill(alone, cluster, tmp_path):
    """Kills one kind of process after the other during a sweep. The next call continues, and no combination is kept twice."""
    for _ in range(2):
        cluster.add_worker("sleep 0.5", nanny=True)
    port = cluster.address.rpartition(":")[2]
    for number in range(ROUNDS):
        state = tmp_path / f"state{number}"
        what = ["worker", "nanny", "scheduler", "client"][number % 4]
        output = start_and_kill(cluster, state, what)
        if what == "nanny":
            cluster.workers[-1].wait()
            cluster.start_worker("w1", nanny=True)
        if what == "scheduler":
            cluster.scheduler.wait()
            for worker in cluster.workers[
                -2:
            ]:  # their workers end with them; SIGTERM takes minutes without a scheduler
                worker.kill()
                worker.wait()
            cluster.start_scheduler(port)
            for name in ("w0", "w1"):
                cluster.start_worker(name, nanny=True)
        if what in ("scheduler", "client"):
            before = {file.name: file.read_text() for file in state.glob("*.jsonl")}
            output, _ = cluster.sweep(*WORDS, "--state", state)
            assert all((state / name).read_text().startswith(text) for name, text in before.items())
        assert output == alone[0], what
        [kept] = state.glob("*.jsonl")
        lines = [json.loads(line) for line in kept.read_text().splitlines() if line]
        combinations = [(line["scheme"], line["target"], line["memory_mode"]) for line in lines]
        assert len(combinations) == len(set(combinations)) == COUNT, what
