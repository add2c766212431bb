"""Properties of VGF cases that the case does not record. The kind VGF-INT has tests of all widths, captured without the Arm backend's
quantizer."""

DEFAULT_TOLERANCE = 1e-3  # of the suite; also for tests that never run and so compare no numbers
WIDTHS = {"a16w8": ("int16x8", "INT-A16W8"), "a8w4": ("int8x4", "INT-A8W4"), "": ("int8", "INT")}


def is_integer(case):
    return case["kind"] == "VGF-INT"


def width(case):
    """(Carina's scheme, the kind of the TOSA tests with that width), from the name of the test."""
    test = case["id"].split("::")[-1].split("[")[0].lower()
    return next(row for word, row in WIDTHS.items() if word in test)


def tolerances_of(cases):
    """{float model: atol and rtol of its FP test}"""
    return {c["float"]: {"atol": c["atol"], "rtol": c["rtol"]} for c in cases if c["kind"] == "FP" and "float" in c}


def has_default_tolerance(case):
    return case.get("atol") == case.get("rtol") == DEFAULT_TOLERANCE


def with_peer_graphs(cases):
    """The cases of a file. A VGF case without a quantized graph or a tolerance takes them from the TOSA test of the same model and width."""
    made = {(c["float"], c["kind"]): c["quantized"] for c in cases if "quantized" in c}
    tolerances = tolerances_of(cases)

    def completed(case):
        key = (case.get("float"), width(case)[1])
        if is_integer(case) and key in made:
            return {**case, "quantized": made[key]}
        if case["kind"] == "VGF-FP" and has_default_tolerance(case):
            return {**case, **tolerances.get(case.get("float"), {})}
        return case

    return [completed(case) for case in cases]
