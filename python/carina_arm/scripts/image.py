"""Firmware images with the options of run.sh and build_executor_runner.sh: the image, its kernels and its pools."""

import argparse
import os
import re
import shutil
import struct
from dataclasses import dataclass
from pathlib import Path

from carina.__main__ import program_path

from carina_arm.scripts.commands import carina, carina_program

__all__ = ["copy_of_image", "image_of", "make_image", "place_in_image", "qemu_options"]

_SLOT_MAGIC = b"CARINA FIRMWARE\0"  # kSlotMagic of facts/firmware.h
# The library of quantized kernels, which the Arm backend's runner always links.
_ALWAYS_LINKED = ("quantized_decomposed::quantize_per_tensor.out", "quantized_decomposed::dequantize_per_tensor.out")


@dataclass(frozen=True)
class _Image:
    """first, last: the range of addresses for a program. Source: MODEL of the linker scripts in firmware/."""

    name: str
    cpu: str
    first: int
    last: int


_IMAGES = (
    _Image("corstone300-host", "cortex-m55", 0x70000000, 0x7FFFFFFF),
    _Image("corstone300-flash", "cortex-m55", 0x28000000, 0x287FFFFF),
    _Image("corstone320-host", "cortex-m85", 0x78000000, 0x7FFFFFFF),
)


def _address(text: str) -> int:
    if re.fullmatch(r"0x[0-9a-fA-F]{1,16}", text) is None:
        raise ValueError(
            f"--pte_placement: {text}: expected elf or an address, 0x followed by up to 16 hexadecimal digits"
        )
    return int(text, 16)


def image_of(placement: str, cpu: str | None) -> str:
    """The name of the image for this CPU, with the model in this memory ("elf": any). Raises: ValueError if there is no such image."""
    wanted = cpu or "cortex-m55"
    of_cpu = [image for image in _IMAGES if image.cpu == wanted]
    if not of_cpu:
        raise ValueError(
            f"TARGET_CPU={wanted}: images are built for cortex-m55 and cortex-m85; for others build your own: docs/porting.md"
        )
    if placement == "elf":
        return of_cpu[0].name
    address = _address(placement)
    found = next((image for image in of_cpu if image.first <= address <= image.last), None)
    if found is None:
        places = ", ".join(f"0x{image.first:08x} to 0x{image.last:08x} ({image.name})" for image in of_cpu)
        raise ValueError(
            f"--pte_placement: no image has memory for models at 0x{address:08x}: {places}; for other maps see docs/porting.md"
        )
    return found.name


def place_in_image(image: str, address: str) -> None:
    """Checks that the address of a program fits the image. Raises: ValueError; OSError."""
    wanted = _address(address)
    first = model_address(Path(image).read_bytes())
    if first is not None and wanted != first:
        raise ValueError(f"--data: {image} has its memory for models at 0x{first:08x}, not at 0x{wanted:08x}")


def model_address(image: bytes) -> int | None:
    """The address of the program, from the slot of the image; None for an image without a slot."""
    place = image.find(_SLOT_MAGIC)
    return None if place < 0 else int(struct.unpack_from("<16xII", image, place)[1])


def _folders_of_images() -> list[Path]:
    """The folders that `carina firmware` looks in: the one of CARINA_FIRMWARE; beside the program, or in the build tree around it. The
    program of a wheel is in its package, and a script of that name starts it."""
    programs = [Path(carina_program()).resolve(), program_path().resolve()]
    named = os.environ.get("CARINA_FIRMWARE")
    return [
        *([Path(named)] if named else []),
        *(program.parents[1] / "share" / "carina" / "firmware" for program in programs),
    ]


def copy_of_image(name: str, path: Path) -> None:
    """Copies an image without a program. Raises: OSError."""
    folders = _folders_of_images()
    found = next((folder / f"{name}.elf" for folder in folders if (folder / f"{name}.elf").exists()), None)
    if found is None:
        places = ", ".join(dict.fromkeys(map(str, folders)))
        raise FileNotFoundError(
            f"the firmware image {name} is in none of {places}: `make build` makes it where the cross compiler is installed"
        )
    shutil.copy(found, path)


def _given(args: argparse.Namespace, **names: str) -> list[str]:
    """--option VALUE for each argument that is given."""
    found = [(option.replace("_", "-"), getattr(args, dest, None)) for option, dest in names.items()]
    return [word for name, value in found if value is not None for word in (f"--{name}", str(value))]


def make_image(
    args: argparse.Namespace, program: Path, image: Path, base: str | None = None, target: str | None = None
) -> int:
    """Puts the program into an image. Returns the exit code of `carina firmware`. Raises: ValueError."""
    name = base or image_of(getattr(args, "pte_placement", "elf"), getattr(args, "target_cpu", None))
    words = ["firmware", str(program), "--image", name, "-o", str(image)]
    words += ["-t", target] if target and target.startswith("ethos-u") else []
    if args.select_ops_list:
        words += ["--ops", ",".join([*args.select_ops_list.replace(" ", "").split(","), *_ALWAYS_LINKED])]
    return carina([*words, *_given(args, method_pool="method_pool", temp_pool="temp_pool", fast_pool="fast_pool")])


def qemu_options(args: argparse.Namespace) -> list[str]:
    """The options of `carina qemu` for these arguments."""
    return _given(
        args, timeout="timeout", inferences="inferences", system_config="system_config", memory_mode="memory_mode"
    )
