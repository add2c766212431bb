"""The random graphs of `make conformance` on a cluster: on_cluster.py tcp://HOST:PORT [--graphs 3000].

Workers find tests/integration/conformance/graphs through CARINA_GRAPHS, in their own built copy of the repository. Its digest must equal
the client's. Results are stored in build/conformance-graphs, and the next call computes the missing ones. Exit code 1: a graph differs or
was given up.
"""

import argparse
import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT / "python"), str(HERE)]

import graphs  # noqa: E402
from carina.cluster.connect import connected  # noqa: E402
from carina.cluster.faults import ClusterError  # noqa: E402
from carina.cluster.parts import Parts, ranges_of  # noqa: E402
from carina.cluster.progress import Progress  # noqa: E402
from carina.cluster.sharing import Job, Sharing  # noqa: E402
from carina.cluster.state import State  # noqa: E402
from carina.cluster.work import Program, Work  # noqa: E402

PROGRAM = Program("carina-graphs", "CARINA_GRAPHS", ("--identity",))


class Sink:
    """Verdicts by the number of their graph."""

    def __init__(self, folder, key):
        self.file = folder / f"{key}.jsonl"
        lines = self.file.read_text(encoding="utf-8").split("\n") if self.file.exists() else []
        # A complete file ends with a line break, so the last element is empty.
        self.verdicts = {line["graph"]: line for line in map(json.loads, filter(None, lines[:-1]))}
        if lines and lines[-1]:
            self.file.write_text("".join(f"{line}\n" for line in lines[:-1]), encoding="utf-8")
        self.state = State(folder, key)

    def add(self, item, line, text, programs):
        self.verdicts[item] = line
        self.state.add(text, None, {})

    def give_up(self, item, reason):
        self.verdicts[item] = {"graph": item, "status": "failed", "text": reason}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scheduler")
    parser.add_argument("--graphs", type=int, default=3000)
    parser.add_argument("--state", type=Path, default=graphs.BUILD / "conformance-graphs")
    given = parser.parse_args()
    digest = graphs.digest()
    sink = Sink(given.state, digest)
    missing = ranges_of([number for number in range(given.graphs) if number not in sink.verdicts])
    progress = Progress("graphs", given.graphs, given.graphs - sum(last - first + 1 for first, last in missing), "")
    job = Job(Work((), (), (), False, 600, PROGRAM), Parts(missing, given.graphs, 10), sink.add, sink.give_up)
    try:
        if missing:
            with connected(given.scheduler) as client:
                Sharing(client, (graphs.VERSION, digest), progress, 60, PROGRAM).run(iter([job]))
    except ClusterError as error:
        sys.exit(f"error: {error}")
    finally:
        progress.close()
    found = {
        status: [line for line in sink.verdicts.values() if line["status"] == status]
        for status in ("same", "rejected", "differs", "failed")
    }
    print(", ".join(f"{len(lines)} {status}" for status, lines in found.items()))
    for line in [*found["differs"], *found["failed"]]:
        print(f"graph {line['graph']}: {line['status']}: {line['text']}")
    return 1 if found["differs"] or found["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
