"""Writes the page of the outcomes that suite.json has: suite_page.py FILE. Without FILE: build/pages and the summary in docs."""

import json
import sys
from pathlib import Path

import suite


def main():
    page = suite.page(json.loads(suite.KEPT.read_text())["rows"])
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(page.replace(suite.generated_pages.DETAILS, ""))
    else:
        suite.generated_pages.write("conformance-arm-api.md", page, suite.COMMAND)


if __name__ == "__main__":
    main()
