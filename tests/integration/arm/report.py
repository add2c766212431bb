"""Tables of outcomes."""

from collections import Counter, defaultdict

import reference

CLASSES = ("pass", "as_peer", "partial", "rejected", "wrong", "crash", "na", "counted")
GOOD = ("pass", "as_peer")
LISTS = ("ops", "modules", "models")


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def order(kind):
    return (kind not in reference.RUN, reference.RUN.index(kind) if kind in reference.RUN else 0, kind)


def share(part, whole):
    return f"{part} / {whole} = {100 * part / whole:.1f} %" if whole else ""


def is_run(outcome):
    return outcome["class"] not in ("na", "counted")


def peer_passes(outcome):
    return outcome["peer"] == "pass"


def kind_row(kind, outcomes):
    count = Counter(o["class"] for o in outcomes)
    run = [o for o in outcomes if is_run(o)]
    peer = [o for o in run if peer_passes(o)]
    good = lambda some: sum(o["class"] in GOOD for o in some)
    return [
        kind,
        len(outcomes),
        *(count[c] or "" for c in CLASSES),
        share(good(run), len(run)),
        share(good(peer), len(peer)),
    ]


def by_kind(outcomes):
    groups = defaultdict(list)
    for o in outcomes:
        groups[o["kind"]].append(o)
    head = ["kind", "total", *CLASSES, "good of those run", "good, of those that the backend passes"]
    return table(head, [kind_row(k, groups[k]) for k in sorted(groups, key=order)])


def in_list(outcomes, name):
    return [o for o in outcomes if o["id"].startswith(name + "/")]


def rejected_by_operator(outcomes, kind):
    """[(operator, cases, cases without another unsupported operator, its most common reason)], most cases first."""
    cases, alone, texts = Counter(), Counter(), defaultdict(Counter)
    for o in outcomes:
        if o["kind"] != kind or o["class"] != "rejected":
            continue
        names = {name for name, _ in o["reasons"]}
        cases.update(names)
        if len(names) == 1:
            alone.update(names)
        for name, what in o["reasons"]:
            texts[name][what] += 1
    return [
        (name or "(no operator)", n, alone[name], texts[name].most_common(1)[0][0][:110].replace("|", "\\|"))
        for name, n in cases.most_common()
    ]


def text(outcomes):
    """The text that a run prints."""
    parts = []
    for name in LISTS:
        if some := in_list(outcomes, name):
            parts.append(f"## {name}\n\n{by_kind(some)}")
    for kind in sorted({o["kind"] for o in outcomes}, key=order):
        if rows := rejected_by_operator(outcomes, kind):
            parts.append(f"## rejected, {kind}\n\n" + table(["operator", "cases", "alone", "most common reason"], rows))
    lines = [line(o) for o in outcomes if o["class"] in ("wrong", "crash")]
    return "\n\n".join([*parts, *partials(outcomes), "\n".join(lines)])


def partials(outcomes):
    """A line for each reason, with an example."""
    groups = defaultdict(list)
    for o in outcomes:
        if o["class"] == "partial":
            groups[o["kind"], o["reason"]].append(o["id"])
    return [
        "\n".join(f"partial {kind}, {len(ids)} cases like {ids[0]}: {why[:200]}" for (kind, why), ids in groups.items())
    ]


def line(o):
    return f"{o['class']} {o['kind']} {o['id']} [{o.get('stage', '')}] {o.get('reason', '')[:200]} | peer {o['peer']}"
