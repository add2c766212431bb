#!/usr/bin/env python3
"""Makes the networks of the tests with the installed peers, in build/cases ($CARINA_CASES). Existing networks are not made again.

usage: build/test-env/main/bin/python tests/integration/make_cases.py [--fresh] [NAME ...]      (default: all; JOBS from the environment)

Needs the integration tests' environment (tests/integration/setup.sh) and no network. tests/integration/cases/README.md describes the
networks.
"""

import argparse
import os
import shutil
import sys

from cases import store


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of: {', '.join(store.recipes())}")
    parser.add_argument("--fresh", action="store_true", help="make them although they are there")
    given = parser.parse_args()
    unknown = set(given.names) - set(store.recipes())
    if unknown:
        parser.error(f"no such recipe: {', '.join(sorted(unknown))}")
    if given.fresh:
        for name in given.names or store.recipes():
            shutil.rmtree(store.CASES / name, ignore_errors=True)
    made = store.ensure(given.names, int(os.environ.get("JOBS", "2")), lambda line: print(line, flush=True))
    if not made:
        print(f"cases: all are in {store.CASES}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
