"""What aot_arm_compiler.py calls its outputs, and where it puts them."""

from pathlib import Path

__all__ = ["default_name", "output_path"]


def default_name(model: str, target: str, *, delegated: bool, bundled: bool) -> str:
    """mv2_arm_delegate_ethos-u55-128.pte"""
    way = "arm_delegate" if delegated else "arm"
    return f"{model}_{way}_{target}{'.bpte' if bundled else '.pte'}"


def output_path(output: str | None, model: str, target: str, *, delegated: bool, bundled: bool) -> Path:
    """The file to write; its folder is made.

    output: a .pte or .bpte, a folder, or None for the current one. model: its name without a suffix.
    Raises: ValueError for a suffix that says the opposite of `bundled`; OSError.
    """
    if output is None:
        return Path(default_name(model, target, delegated=delegated, bundled=bundled))
    if output.endswith((".pte", ".bpte")):
        if bundled and not output.endswith(".bpte"):
            raise ValueError(f"--bundleio expects a .bpte file ending to --output and not .pte {output}")
        if not bundled and output.endswith(".bpte"):
            raise ValueError(f"When not using --bundleio a .bpte file should not be use as --output {output}")
        path = Path(output)
    else:
        path = Path(output) / default_name(model, target, delegated=delegated, bundled=bundled)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path
