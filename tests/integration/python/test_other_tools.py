"""Model Explorer and MLIA, from their packages, show the figures of `carina explain`; Jupyter runs the guide's notebook."""

import json
import os
import subprocess
import sysconfig

import pytest
import tomllib
from conftest import ROOT, TEST_ENV

DIGITS = ROOT / "models" / "digits"
PLUGINS = ROOT / "python" / "plugins"
TARGET = "ethos-u55-128"
# Converts a model by Model Explorer's adapter, and runs Carina's provider on the graph, by the commands that its page
# sends to its server.
EXPLORER = """
import json, sys
from dataclasses import asdict
sys.path.append(sys.argv[1])
from model_explorer.extension_manager import ExtensionManager
model, adapter, settings = sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
manager = ExtensionManager(["tosa_adapter_model_explorer", "carina_plugins.model_explorer"])
manager.load_extensions()
offered = [extension["id"] for extension in manager.get_extensions_metadata()]
made = manager.run_cmd({"extensionId": adapter, "cmdId": "convert", "modelPath": model, "settings": {"const_element_count_limit": 16}, "deleteAfterConversion": False})
(graph,) = made["graphs"]
editors = manager.run_cmd({"extensionId": "carina", "cmdId": "get_config_editors"})
result = manager.run_cmd({"extensionId": "carina", "cmdId": "run", "modelPath": model, "graphId": graph["id"], "configValues": settings, "graph": graph})
print(json.dumps({"offered": offered, "graph": graph, "editors": editors, **result}))
"""
# Executes a notebook and prints it with the new outputs.
JUPYTER = """
import sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], 4)
nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": sys.argv[2]}}).execute()
print(nbformat.writes(notebook))
"""


pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """(folder of programs, environment) in which the package of the build and the plugins are installed beside both tools."""
    programs = TEST_ENV / "explorer" / "bin"
    if not (programs / "mlia").exists():
        pytest.skip("not run: no Model Explorer and MLIA (tests/integration/setup.sh explorer)")
    project = tomllib.loads((PLUGINS / "pyproject.toml").read_text())["project"]
    info = tmp_path_factory.mktemp("site") / f"carina_plugins-{project['version']}.dist-info"
    info.mkdir()
    (mlia,) = project["optional-dependencies"]["mlia"]
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\nRequires-Dist: {mlia}; extra == 'mlia'\n"
    )
    points = "\n".join(
        f"[{group}]\n" + "\n".join(f"{name} = {place}" for name, place in rows.items())
        for group, rows in project["entry-points"].items()
    )
    (info / "entry_points.txt").write_text(points + "\n")
    package = os.path.join(os.path.dirname(os.path.dirname(os.environ["CARINA_BIN"])), "python")
    return programs, {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(info.parent), package, str(PLUGINS)]),
        "HOME": str(info.parent),
    }


@pytest.fixture(scope="module")
def explained(run_carina, tmp_path_factory):
    """For a model of each format: its path, the adapter, the settings of the provider, and what `carina explain` says."""
    dump = tmp_path_factory.mktemp("dump")
    quantized = {"quantize": "int8", "calibration": str(DIGITS / "calibration.npz")}
    options = ["--quantize", "int8", "--calibrate", quantized["calibration"]]
    run_carina(
        ["compile", DIGITS / "digits.pt2", "--target", TARGET, *options, "--dump", dump, "-o", dump / "digits.pte"]
    )
    tosa = next(dump.glob("*.tosa"))
    return {
        "pt2": (DIGITS / "digits.pt2", "builtin_pytorch_exportedprogram", quantized, options),
        "tosa": (tosa, "tosa_flatbuffer_adapter", {}, []),
    }


@pytest.mark.parametrize("kind", ["pt2", "tosa"])
def test_model_explorer_shows_the_figures_of_explain(kind, environment, explained, run_carina):
    programs, variables = environment
    model, adapter, settings, options = explained[kind]
    report = run_carina(["explain", model, "--target", TARGET, *options, "--json"]).json
    command = [
        programs / "python",
        "-W",
        "ignore",
        "-c",
        EXPLORER,
        sysconfig.get_path("purelib"),
        model,
        adapter,
        json.dumps({"target": TARGET, **settings}),
    ]
    done = subprocess.run(command, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    shown = json.loads(done.stdout.splitlines()[-1])
    assert not shown["error"]
    assert "carina" in shown["offered"]
    columns = {
        column["name"]: {name: row["value"] for name, row in column["results"].items()} for column in shown["result"]
    }
    ids = {node["id"] for node in shown["graph"]["nodes"]}
    assert all(set(column) <= ids for column in columns.values()), "every row belongs to a node of the graph"
    places = {"npu": "NPU", "cpu": "CPU", "folded": "folded"}
    assert sorted(columns["Runs on"].values()) == sorted(places[node["runs_on"]] for node in report["nodes"])
    assert sum(columns["NPU cycles"].values()) == report["cycles"]
    assert sorted(columns["NPU cycles"].values()) == sorted(
        node["cycles"] for node in report["nodes"] if node["cycles"]
    )
    if kind == "pt2":
        assert columns["NPU cycles"] == {node["name"]: node["cycles"] for node in report["nodes"] if node["cycles"]}
    assert 0 < max(columns["SRAM in use (bytes)"].values()) <= report["scratch_bytes"]
    targets = next(editor for editor in shown["editors"]["configEditors"] if editor["id"] == "target")
    assert {"value": TARGET, "label": TARGET} in targets["options"]


@pytest.mark.parametrize("options", ([], ["--cpu-op", "max_pool2d"]), ids=("one_delegate", "two_delegates"))
def test_model_explorer_draws_a_program_with_the_figures_of_run(options, environment, run_carina, tmp_path):
    programs, variables = environment
    program = tmp_path / "digits.pte"
    quantized = ["--quantize", "int8", "--calibrate", DIGITS / "calibration.npz"]
    run_carina(["compile", DIGITS / "digits.pt2", "--target", TARGET, *quantized, *options, "-o", program])
    report = run_carina(["run", program, "--timed", "--json"]).json
    command = [
        programs / "python",
        "-W",
        "ignore",
        "-c",
        EXPLORER,
        sysconfig.get_path("purelib"),
        program,
        "carina_pte",
        "{}",
    ]
    done = subprocess.run(command, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    shown = json.loads(done.stdout.splitlines()[-1])
    nodes = {node["id"]: node for node in shown["graph"]["nodes"]}
    columns = {
        column["name"]: {name: row["value"] for name, row in column["results"].items()} for column in shown["result"]
    }
    assert sum(columns["NPU cycles"].values()) == report["npu"]["cycles"]
    operations = [node for node in shown["graph"]["nodes"] if node["namespace"].startswith("EthosUBackend")]
    assert [node["label"] for node in operations] == [layer["operation"] for layer in report["npu"]["layers"]]
    assert len({node["namespace"] for node in operations}) == report["delegate_calls"]
    on_the_cpu = sorted(nodes[name]["label"] for name, place in columns["Runs on"].items() if place == "CPU")
    assert on_the_cpu == sorted(report["cpu_kernels"])
    assert all(edge["sourceNodeId"] in nodes for node in nodes.values() for edge in node["incomingEdges"])
    reached, new = set(), [name for name in nodes if name.startswith("output ")]
    while new:  # from the output back to the input
        reached.add(name := new.pop())
        new += [edge["sourceNodeId"] for edge in nodes[name]["incomingEdges"] if edge["sourceNodeId"] not in reached]
    assert reached == set(nodes)


def mlia_check(environment, folder, model, **settings):
    programs, variables = environment
    profile = folder / "profile.toml"
    profile.write_text(
        "".join(
            f"{name} = {json.dumps(str(value))}\n"
            for name, value in {"target": "carina", "npu": TARGET, **settings}.items()
        )
    )
    command = [
        programs / "mlia",
        "check",
        model,
        "--target-profile",
        profile,
        "--performance",
        "--compatibility",
        "--json",
    ]
    done = subprocess.run([*map(str, command)], env=variables, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return json.loads(done.stdout[done.stdout.index("{") :])


def test_mlia_advises_with_the_figures_of_explain(environment, run_carina, tmp_path):
    quantized = ["--quantize", "int8", "--calibrate", DIGITS / "calibration.npz"]
    report = run_carina(["explain", DIGITS / "digits.pt2", "--target", TARGET, *quantized, "--json"]).json
    output = mlia_check(
        environment, tmp_path, DIGITS / "digits.pt2", quantize="int8", calibration=DIGITS / "calibration.npz"
    )
    results = {result["kind"]: result for result in output["results"]}
    assert results["compatibility"]["status"] == "ok"
    metrics = {metric["name"]: metric.get("value") for metric in results["performance"]["metrics"]}
    assert metrics["npu_total_cycles"] == report["cycles"]
    assert metrics["inference_time"] == pytest.approx(1e3 * report["cycles"] / report["clock_hz"])
    assert metrics["peak_activation_memory"] == report["scratch_bytes"] + report["planned_bytes"]
    assert metrics["accelerator_operator_percentage"] == 100


def test_mlia_warns_of_nodes_on_the_cpu(environment, tmp_path):
    output = mlia_check(environment, tmp_path, DIGITS / "digits.pt2")  # float: nothing runs on the NPU
    result = next(result for result in output["results"] if result["kind"] == "compatibility")
    assert result["status"] == "incompatible"
    assert any(
        "quantize the model" in advice["message"] and advice["severity"] == "warning" for advice in result["advice"]
    )


def joined(outputs):
    """The outputs of a cell, with all of its printed text in one: how a kernel splits the text depends on time."""
    text = "".join("".join(output["text"]) for output in outputs if output["output_type"] == "stream")
    return [text, *(output for output in outputs if output["output_type"] != "stream")]


def test_the_notebook_gives_the_outputs_that_it_shows(environment):
    programs, variables = environment
    path = ROOT / "docs" / "guide" / "first-steps.ipynb"
    done = subprocess.run(
        [programs / "python", "-W", "ignore", "-c", JUPYTER, path, ROOT], env=variables, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-4000:]
    shown, made = (
        [joined(cell["outputs"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
        for text in (path.read_text(), done.stdout)
    )
    assert made == shown
