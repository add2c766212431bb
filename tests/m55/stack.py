"""Stack use of the runtime's kernels on a Cortex-M55, from the disassembly of libcarina_runtime.a.

A frame is the registers that a function saves and the stack that it reserves. A kernel's stack is its frame and those of the deepest
chain of functions that it calls or whose address it takes. Not included: functions of the C library, and memory of variable size, which
the runtime does not use. check_m55.py and footprint.py use this module.
"""

import re
import subprocess
import sys

MEMBER = re.compile(r"^(\S+):\s+file format")
HEAD = re.compile(r"^[0-9a-f]{8} <(\w+)>:$")
SAVED = re.compile(r"\s(?:push|stmdb\s+sp!,)\s*\{(.*?)\}|\s(vpush|vstmdb\s+sp!,)\s*\{(.*?)\}")
RESERVED = re.compile(r"\ssubw?(?:\.w)?\s+sp,\s+(?:sp,\s+)?#(\d+)")
REFERENCE = re.compile(r"R_ARM_(?:THM_CALL|THM_JUMP24|THM_JUMP19|ABS32|THM_MOVW_ABS_NC)\s+(?:\.text\.)?(\w+)")
BEFORE = re.compile(r"\sstr(?:d)?(?:\.w)?\s+.*\[sp, #-(\d+)\]!")


def registers(words):
    count = 0
    for word in words.split(","):
        first, _, last = word.strip().partition("-")
        count += 1 if not last else int(last.strip().lstrip("rds")) - int(first.strip().lstrip("rds")) + 1
    return count


def frames(library):
    """{(object, function): (bytes of its frame, functions that it refers to)}"""
    text = subprocess.run(["arm-none-eabi-objdump", "-dr", library], check=True, capture_output=True, text=True).stdout
    found, file, name = {}, None, None
    for line in text.splitlines():
        if member := MEMBER.match(line):
            file, name = member[1], None
        elif head := HEAD.match(line):
            name = (file, head[1])
            found[name] = [0, set()]
        elif name is None:
            continue
        elif saved := SAVED.search(line):
            found[name][0] += (
                registers(saved[1]) * 4 if saved[1] else registers(saved[3]) * (8 if "d" in saved[3] else 4)
            )
        elif reserved := RESERVED.search(line):
            found[name][0] += int(reserved[1])
        elif before := BEFORE.search(line):
            found[name][0] += int(before[1])
        elif reference := REFERENCE.search(line):
            found[name][1].add(reference[1])
    return found


def depths(found):
    """{(object, function): bytes of the deepest chain that begins with it}. Functions of several objects may have one name."""
    anywhere = {name: (file, name) for file, name in found}
    known = {}

    def depth(key, chain):
        if key in known or key is None or key in chain:  # the runtime has no recursion: a cycle is one of addresses
            return known.get(key, 0)
        own, called = found[key]
        chain = chain | {key}
        known[key] = own + max(
            (depth((key[0], n) if (key[0], n) in found else anywhere.get(n), chain) for n in called), default=0
        )
        return known[key]

    for key in found:
        depth(key, frozenset())
    return known


ROW = re.compile(r'CARINA_PORTABLE_KERNEL\("([^"]+)", (\w+)\)')


def kernel_stacks(library, source):
    """{kernel: bytes}, in the order of the names"""
    known = depths(frames(library))
    table = ROW.findall((source / "runtime" / "kernels" / "portable_kernels.def").read_text())
    stacks = {}
    for name, function in table:
        prefix = f"_ZN6carina7runtime{len(function)}{function}E"
        (stacks[name],) = [
            stack for (_, symbol), stack in known.items() if symbol.startswith(prefix) and "Arena" in symbol
        ]
    return stacks


def large_frames(library, at_least):
    """[(function, bytes of its frame)], the largest first"""
    found = {name: own for (_, name), (own, _) in frames(library).items() if own >= at_least}
    names = subprocess.run(
        ["arm-none-eabi-c++filt"], input="\n".join(found), capture_output=True, text=True, check=True
    ).stdout
    plain = [
        re.sub(r"<.*|\(.*", "", re.sub(r"\(anonymous namespace\)::|carina::runtime::|^Error ", "", n))
        for n in names.splitlines()
    ]
    return sorted(zip(plain, found.values()), key=lambda row: (-row[1], row[0]))


def executor_stack(library):
    """Bytes of Method::execute() and run() before a kernel is called."""
    found = frames(library).items()
    return sum(own for (_, name), (own, _) in found if re.match(r"_ZN6carina7runtime6Method(7execute|3run)E", name))


def table(library, source):
    lines = ["// CARINA_KERNEL_STACK(name of a kernel, bytes of its stack on a Cortex-M55), in the order of the names.",
             "// `tests/m55/check_m55.py . --rebase` writes this file from the code of the kernels."]  # fmt: skip
    lines += [f'CARINA_KERNEL_STACK("{name}", {stack})' for name, stack in kernel_stacks(library, source).items()]
    return "\n".join(lines) + "\n"


GROWTH_ALLOWED = 1.1
LISTED = re.compile(r'CARINA_KERNEL_STACK\("([^"]+)", (\d+)\)')


def more_than_listed(library, source):
    """Errors: kernels that take more stack than kernel_stacks.def says."""
    listed = dict(LISTED.findall((source / "runtime" / "kernels" / "kernel_stacks.def").read_text()))
    return [
        f"{name}: {stack} bytes of stack, {listed.get(name, 'none')} in runtime/kernels/kernel_stacks.def\n  tests/m55/check_m55.py . --rebase"
        for name, stack in kernel_stacks(library, source).items()
        if stack > int(listed.get(name, 0)) * GROWTH_ALLOWED
    ]
