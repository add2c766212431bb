"""Stored results as JSON with a line for each row, so that a file is short and a diff shows the rows that changed."""

import json


def rows_text(value, depth=1):
    """The text of a JSON document. Objects and lists down to `depth` have a line for each element.

    rows_text({"b": [1, 2], "a": {}}) is '{\\n"a": {},\\n"b": [1, 2]\\n}\\n'.
    """

    def text(part, level):
        if level == 0 or not isinstance(part, (dict, list)) or not part:
            return json.dumps(part, sort_keys=True)
        if isinstance(part, dict):
            lines = [f"{json.dumps(key)}: {text(part[key], level - 1)}" for key in sorted(part)]
            return "{\n" + ",\n".join(lines) + "\n}"
        return "[\n" + ",\n".join(text(one, level - 1) for one in part) + "\n]"

    return text(value, depth) + "\n"
