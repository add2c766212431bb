"""Edits the program in a .pt2 by what its fields mean: sizes, types, kinds of arguments, operands, results, weights.

damaged_files.py changes bytes and JSON values of any kind. Most of its files fail in the reader. The edits here keep the JSON as torch.export
writes it (torch/_export/serde/schema.py), so that the checks behind the reader have to find them. Each comes from a number.

    python tests/integration/pytorch/program_edits.py NUMBER FILE OUT      writes edit NUMBER of FILE, and prints what it changed
"""

import copy
import io
import json
import random
import sys
import zipfile
from pathlib import Path

EXTREMES = [0, 1, -1, 2, 3, 7, -2, 127, 128, 65535, 2**31 - 1, 2**31, -(2**31), 2**40, 2**62, 2**63 - 1, -(2**63)]
SIZES = [0, 1, 2, 3, 5, 7, 64, 1000, -1, 2**16, 2**31, 2**33, 2**40, 2**62]
SCALAR_TYPES = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 13, 28, 29, 34, 35, 0, 99]


class Program:
    """The entries of an archive, and its program as JSON."""

    def __init__(self, data):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            self.entries = {info.filename: archive.read(info) for info in archive.infolist()}
        self.name = next(name for name in self.entries if name.endswith("models/model.json"))
        self.json = json.loads(self.entries[self.name])
        self.graph = self.json["graph_module"]["graph"]
        self.nodes = self.graph["nodes"]
        self.values = self.graph["tensor_values"]

    def config(self, kind="weights"):
        return next((n for n in self.entries if n.endswith(f"{kind}_config.json")), None)

    def bytes(self):
        self.entries[self.name] = json.dumps(self.json).encode()
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for name, content in self.entries.items():
                archive.writestr(zipfile.ZipInfo(name), content)  # without the time of writing
        return out.getvalue()


def integer(number):
    return {"as_int": number}


def tensor(program, rng):
    return {"name": rng.choice(sorted(program.values))}


def an_argument(program, rng):
    """An argument of any kind, with values that are likely or extreme."""
    few = rng.choice([0, 1, 2, 2, 3, 4, 6, 120])
    return rng.choice(
        [
            lambda: {"as_int": rng.choice(EXTREMES)},
            lambda: {"as_float": rng.choice([0.0, -1.0, 0.5, 1e308, -1e-300])},
            lambda: {"as_bool": rng.random() < 0.5},
            lambda: {"as_string": rng.choice(["", "none", "same", "tanh", "ij,jk->ik", "floor"])},
            lambda: {"as_none": True},
            lambda: {"as_ints": [rng.choice(EXTREMES) for _ in range(few)]},
            lambda: {"as_floats": [rng.choice([0.0, 2.0, -1.0, 1e300]) for _ in range(few)]},
            lambda: {"as_bools": [True] * few},
            lambda: {"as_tensor": tensor(program, rng)},
            lambda: {"as_tensor": tensor(program, rng)},
            lambda: {"as_tensors": [tensor(program, rng) for _ in range(few)]},
            lambda: {
                "as_optional_tensors": [
                    rng.choice([{"as_tensor": tensor(program, rng)}, {"as_none": True}]) for _ in range(few)
                ]
            },
            lambda: {"as_optional_tensor": {"as_none": True}},
            lambda: {"as_scalar_type": rng.choice(SCALAR_TYPES)},
            lambda: {"as_memory_format": rng.choice([1, 2, 3, 4])},
            lambda: {"as_sym_int": {"as_int": rng.choice(EXTREMES)}},
        ]
    )()


# Each edit changes the program and returns what it changed, or None if the program has nothing of its kind.


def a_value(program, rng):
    name = rng.choice(sorted(program.values))
    return name, program.values[name]


def change_sizes(program, rng):
    name, meta = a_value(program, rng)
    sizes, strides = list(meta["sizes"]), list(meta["strides"])
    how = rng.choice(["replace", "replace", "drop", "add", "swap", "rank", "product"])
    if how == "replace" and sizes:
        sizes[rng.randrange(len(sizes))] = integer(rng.choice(SIZES))
    elif how == "drop" and sizes:
        sizes.pop(rng.randrange(len(sizes)))
    elif how == "add":
        sizes.insert(rng.randrange(len(sizes) + 1), integer(rng.choice(SIZES)))
    elif how == "swap" and len(sizes) > 1:
        rng.shuffle(sizes)
    elif how == "rank":
        sizes = [integer(rng.choice([0, 1, 2, 2**31])) for _ in range(rng.choice([0, 1, 3, 8, 16, 17, 40]))]
    else:
        sizes = [integer(rng.choice([2**20, 2**10, 2**31]))] * rng.choice([1, 2, 3])
    meta["sizes"] = sizes
    meta["strides"] = strides if rng.random() < 0.1 else [integer(1)] * len(sizes)
    return f"{name}: sizes {how}"


def change_type(program, rng):
    name, meta = a_value(program, rng)
    meta["dtype"] = rng.choice(SCALAR_TYPES)
    return f"{name}: dtype {meta['dtype']}"


def an_input(program, rng):
    node = rng.choice(program.nodes)
    return (node, rng.choice(node["inputs"])) if node["inputs"] else (node, None)


def change_kind(program, rng):
    node, chosen = an_input(program, rng)
    if chosen is None:
        return None
    chosen["arg"] = an_argument(program, rng)
    return f"{node['target']}: argument {chosen['name']} is {json.dumps(chosen['arg'])[:80]}"


def change_number(program, rng):
    node, chosen = an_input(program, rng)
    numbers = [
        (n, i)
        for n in program.nodes
        for i in n["inputs"]
        if set(i["arg"]) & {"as_int", "as_ints", "as_float", "as_bool"}
    ]
    if not numbers:
        return None
    node, chosen = rng.choice(numbers)
    argument = chosen["arg"]
    if "as_int" in argument:
        argument["as_int"] = rng.choice([*EXTREMES, argument["as_int"] + 1, -argument["as_int"]])
    elif "as_float" in argument:
        argument["as_float"] = rng.choice([0.0, -1.0, 1e300, 1e-300, 2.0**40])
    elif "as_bool" in argument:
        argument["as_bool"] = not argument["as_bool"]
    else:
        values = list(argument["as_ints"])
        how = rng.choice(["one", "one", "drop", "more", "many"])
        if how == "one" and values:
            values[rng.randrange(len(values))] = rng.choice(EXTREMES)
        elif how == "drop" and values:
            values.pop()
        elif how == "more":
            values.append(rng.choice(EXTREMES))
        else:
            values = [rng.choice(EXTREMES) for _ in range(rng.choice([0, 1, 2, 3, 5, 17, 120]))]
        argument["as_ints"] = values
    return f"{node['target']}: {chosen['name']} is {str(argument)[:80]}"


def change_operand(program, rng):
    """Another tensor in the place of an operand: of an earlier node, a later one, or a weight."""
    names = [t for node in program.nodes for i in node["inputs"] for t in tensors_of(i["arg"])]
    if not names:
        return None
    chosen = rng.choice(names)
    before = chosen["name"]
    chosen.update(tensor(program, rng))
    return f"{before} becomes {chosen['name']}"


def tensors_of(argument):
    """The tensors in an argument, as the JSON objects that name them."""
    for kind, value in argument.items():
        if kind == "as_tensor":
            yield value
        elif kind == "as_tensors":
            yield from value
        elif kind == "as_optional_tensors":
            yield from (v["as_tensor"] for v in value if "as_tensor" in v)


def change_inputs(program, rng):
    node = rng.choice(program.nodes)
    inputs = node["inputs"]
    how = rng.choice(["drop", "repeat", "swap", "unnamed"])
    if not inputs:
        return None
    at = rng.randrange(len(inputs))
    if how == "drop":
        inputs.pop(at)
    elif how == "repeat":
        inputs.insert(at, copy.deepcopy(inputs[at]))
    elif how == "swap":
        other = rng.randrange(len(inputs))
        inputs[at]["arg"], inputs[other]["arg"] = inputs[other]["arg"], inputs[at]["arg"]
    else:
        inputs[at]["name"] = ""
    return f"{node['target']}: {how} input {at}"


def change_list(program, rng):
    """Drops, repeats or adds elements of a list of tensors."""
    lists = [i["arg"]["as_tensors"] for node in program.nodes for i in node["inputs"] if "as_tensors" in i["arg"]]
    if not lists:
        return None
    chosen = rng.choice(lists)
    how = rng.choice(["empty", "drop", "repeat", "many"])
    if how == "empty":
        chosen.clear()
    elif how == "drop" and chosen:
        chosen.pop()
    elif how == "repeat" and chosen:
        chosen.extend(copy.deepcopy(chosen))
    else:
        chosen.extend(tensor(program, rng) for _ in range(rng.choice([1, 3, 40])))
    return f"list of tensors: {how}"


def change_outputs(program, rng):
    node = rng.choice(program.nodes)
    outputs = node["outputs"]
    how = rng.choice(["repeat", "thrice", "drop", "other", "list", "none"])
    if not outputs:
        return None
    if how == "repeat":
        outputs.append(copy.deepcopy(outputs[-1]))
    elif how == "thrice":
        node["outputs"] = outputs * 3
    elif how == "drop":
        outputs.pop()
    elif how == "other":
        outputs[-1] = {"as_tensor": tensor(program, rng)}
    elif how == "list":
        node["outputs"] = [{"as_tensors": [t for o in outputs for t in tensors_of(o)] * rng.choice([0, 1, 2, 50])}]
    else:
        outputs[0] = {"as_none": True}
    return f"{node['target']}: {how} output"


def change_target(program, rng):
    """Another operator of the same program, or a similar one."""
    node = rng.choice(program.nodes)
    before = node["target"]
    node["target"] = rng.choice(sorted({n["target"] for n in program.nodes}))
    if rng.random() < 0.5:
        similar = {
            "2d": ["1d", "3d"],
            "1d": ["2d", "3d"],
            "max": ["min", "argmax"],
            "sum": ["mean", "amax"],
            ".default": ["_.default", ".Tensor"],
        }
        for word, others in similar.items():
            if word in before:
                node["target"] = before.replace(word, rng.choice(others))
                break
    return f"{before} becomes {node['target']}"


def move_node(program, rng):
    nodes = program.nodes
    how = rng.choice(["swap", "drop", "repeat"])
    at = rng.randrange(len(nodes))
    if how == "swap":
        other = rng.randrange(len(nodes))
        nodes[at], nodes[other] = nodes[other], nodes[at]
    elif how == "drop":
        nodes.pop(at)
    else:
        nodes.insert(rng.randrange(len(nodes) + 1), copy.deepcopy(nodes[at]))
    return f"node {at}: {how}"


def change_results(program, rng):
    """The outputs of the program."""
    outputs = program.graph["outputs"]
    how = rng.choice(["other", "none", "repeat", "drop"])
    if not outputs:
        return None
    at = rng.randrange(len(outputs))
    if how == "other":
        outputs[at] = {"as_tensor": tensor(program, rng)}
    elif how == "none":
        outputs[at] = {"as_none": True}
    elif how == "repeat":
        outputs.append(outputs[at])
        specs = program.json["graph_module"]["signature"]["output_specs"]
        specs.append(copy.deepcopy(specs[at % len(specs)]))
    else:
        outputs.pop(at)
    return f"program output {at}: {how}"


def change_inputs_of_program(program, rng):
    specs = program.json["graph_module"]["signature"]["input_specs"]
    how = rng.choice(["drop", "swap", "repeat"])
    at = rng.randrange(len(specs))
    if how == "drop":
        specs.pop(at)
    elif how == "swap":
        other = rng.randrange(len(specs))
        specs[at], specs[other] = specs[other], specs[at]
    else:
        specs.append(copy.deepcopy(specs[at]))
    return f"program input {at}: {how}"


def forget_value(program, rng):
    name = rng.choice(sorted(program.values))
    del program.values[name]
    return f"{name} is not described"


def change_symbol(program, rng):
    name, meta = a_value(program, rng)
    if not meta["sizes"]:
        return None
    hint = rng.choice([integer(rng.choice(SIZES)), None])
    meta["sizes"][rng.randrange(len(meta["sizes"]))] = {
        "as_expr": {"expr_str": "Symbol('s0', integer=True)", "hint": hint}
    }
    return f"{name}: symbolic size"


def change_weight(program, rng):
    """The type, shape, strides or file of a stored weight; with its description in the program in half of the cases."""
    kind = rng.choice(["weights", "weights", "constants"])
    name = program.config(kind)
    config = json.loads(program.entries[name]) if name else {}
    if not config.get("config"):
        return None
    weight = rng.choice(sorted(config["config"]))
    payload = config["config"][weight]
    meta = payload["tensor_meta"]
    how = rng.choice(["type", "sizes", "strides", "offset", "file", "cut", "none", "both", "both"])
    files = [f for f in program.entries if f.endswith("/" + payload["path_name"])]
    if how == "type":
        meta["dtype"] = rng.choice(SCALAR_TYPES)
    elif how == "sizes":
        meta["sizes"] = [integer(rng.choice(SIZES)) for _ in meta["sizes"]]
    elif how == "strides":
        meta["strides"] = [integer(rng.choice([*SIZES, -1])) for _ in meta["strides"]]
    elif how == "offset":
        meta["storage_offset"] = integer(rng.choice(EXTREMES))
    elif how == "file":
        for file in files:
            del program.entries[file]
    elif how == "cut":
        for file in files:
            program.entries[file] = program.entries[file][: rng.randrange(len(program.entries[file]) + 1)]
    elif how == "none":
        config["config"].pop(weight)
    else:
        same = [v for v in program.values.values() if v["sizes"] == meta["sizes"] and v["dtype"] == meta["dtype"]]
        sizes = rng.choice(
            [meta["sizes"][::-1], meta["sizes"][1:], [integer(1), *meta["sizes"]], [integer(0)] * len(meta["sizes"])]
        )
        dtype = rng.choice([meta["dtype"], 2, 6, 12])
        for changed in [meta, *same]:
            changed.update(sizes=sizes, strides=[integer(1)] * len(sizes), dtype=dtype)
    program.entries[name] = json.dumps(config).encode()
    return f"{weight}: {how}"


def lose_weights(program, rng):
    """All files of weights, as a copy that was broken off."""
    lost = [name for name in program.entries if "/data/weights/" in name and not name.endswith(".json")]
    for name in lost:
        del program.entries[name]
    return f"{len(lost)} files of weights are gone" if lost else None


EDITS = [
    *[change_sizes] * 5, *[change_type] * 4, *[change_kind] * 6, *[change_number] * 6, *[change_operand] * 6, *[change_inputs] * 2, *[change_list] * 2,
    *[change_outputs] * 3, *[change_target] * 3, *[move_node] * 2, *[change_weight] * 5, change_results, change_inputs_of_program, forget_value, change_symbol,
    lose_weights,
]  # fmt: skip


def mutate_program(data, number):
    """Edit `number` of a .pt2: one change, or up to three. Returns the file and the changes."""
    rng = random.Random(f"program {number}")
    program = Program(data)
    changes = []
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if not program.nodes or not program.values:
            break
        changes.append(rng.choice(EDITS)(program, rng))
    return program.bytes(), [change for change in changes if change]


if __name__ == "__main__":
    number, source, target = sys.argv[1:]
    changed, what = mutate_program(Path(source).read_bytes(), int(number))
    Path(target).write_bytes(changed)
    print(*what, sep="\n")
