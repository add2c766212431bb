"""ExecuTorch backends whose preprocess() is Carina. Importing this loads ExecuTorch.

ExecuTorch finds a backend by its class name, which is also the id that the runtime on a board looks up. So the classes have the names of
the Arm backend's classes.
"""

from __future__ import annotations

from typing import final

from carina import _native
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec
from torch.export import ExportedProgram
from torch.fx import Node

from .artifacts import Artifacts
from .compile_spec import ArmCompileSpec
from .ethosu_compile_spec import EthosUCompileSpec
from .exported import save_program
from .external_blocks import with_external_blocks
from .layout import order_of_memory, order_of_reference_model
from .summary import is_shown, print_summary
from .targets import aim_of, logger, note, read_model
from .tosa_compile_spec import TosaCompileSpec
from .vgf_compile_spec import VgfCompileSpec

_WITH_WEIGHTS = ("aten::convolution", "aten::conv2d", "aten::linear", "aten::addmm", "aten::mm", "aten::bmm")


def _load_quantize_kernels() -> None:
    """Registers the kernels that ExecuTorch's to_executorch() needs at the boundaries of delegates."""
    try:
        import executorch.kernels.quantized  # noqa: F401
    except (ImportError, OSError) as error:
        logger.info("the quantize kernels of ExecuTorch are not loaded: %s", error)


_load_quantize_kernels()


def must_be_chosen(backend_id: str) -> None:
    """Checks that ExecuTorch uses Carina for delegates of this id.

    Raises:
        RuntimeError: ExecuTorch's own Arm backend was imported after carina.arm, and would be used.
    """
    of_name = [kind for kind in BackendDetails.__subclasses__() if kind.__name__ == backend_id]
    if of_name and of_name[-1].__module__ != __name__:
        raise RuntimeError(
            f"ExecuTorch would hand delegates of {backend_id} to {of_name[-1].__module__}, which was imported after "
            "carina.arm; import carina.arm last, or call carina.arm.install() first"
        )


def compile_program(program: ExportedProgram, spec: ArmCompileSpec) -> bytes:
    """The blob of a delegate. `program` is the delegate's whole program in ExecuTorch's edge dialect.

    Raises:
        carina.CarinaError: all nodes that the target does not support.
    """
    aim = aim_of(spec, program)
    order = order_of_reference_model if isinstance(spec, TosaCompileSpec) else order_of_memory
    model = read_model(save_program(program, boundary=order))
    artifacts = Artifacts(program, spec)
    is_summarized = isinstance(spec, EthosUCompileSpec) and is_shown()
    traced = _native.to_traced_tosa(model, aim.target, locations=artifacts.locations(), note=note)
    artifacts.write_tosa(traced)
    blob = _native.compile_delegate(
        traced.tosa, aim.target, optimize=aim.optimize, artifacts=artifacts.wanted, layers=is_summarized, note=note
    )
    artifacts.write(blob)
    if is_summarized:
        original = _bytes_of_weights(program) if "--verbose-weights" in spec.compiler_flags else None
        print_summary(artifacts.name, aim.target, blob, original)
    return bytes(blob.blob)


def _bytes_of_weights(program: ExportedProgram) -> int:
    """The bytes of the integer weights of convolutions, linear layers and products, before they are encoded."""
    from .exported import operator_name

    found: dict[Node, int] = {}
    for node in program.graph.nodes:
        if operator_name(node) in _WITH_WEIGHTS:
            for weight in node.all_input_nodes[1:2]:
                source = weight.all_input_nodes[0] if weight.all_input_nodes else weight
                if source.op == "placeholder":
                    found[source] = source.meta["val"].nbytes
    return sum(found.values())


@final
class EthosUBackend(BackendDetails):  # type: ignore[misc]
    """Delegates for an Ethos-U, as ExecuTorch's EthosUBackend runs them."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Compiles a delegate."""
        spec = EthosUCompileSpec._from_list(compile_specs)
        return with_external_blocks(compile_program(edge_program, spec), spec.external_block_placements)


@final
class VgfBackend(BackendDetails):  # type: ignore[misc]
    """Delegates as VGF files, as ExecuTorch's VgfBackend runs them."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Compiles a delegate."""
        spec = VgfCompileSpec._from_list(compile_specs)
        return PreprocessResult(processed_bytes=compile_program(edge_program, spec))


@final
class TOSABackend(BackendDetails):  # type: ignore[misc]
    """Delegates as TOSA FlatBuffers."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Lowers a delegate."""
        spec = TosaCompileSpec._from_list(compile_specs)
        return PreprocessResult(processed_bytes=compile_program(edge_program, spec))

    @staticmethod
    def filter_tosa_compile_specs(compile_spec: ArmCompileSpec) -> TosaCompileSpec:
        """The part of another target's spec that concerns TOSA."""
        spec = TosaCompileSpec(compile_spec.tosa_spec)
        spec.set_pass_pipeline_config(compile_spec._get_pass_pipeline_config())
        spec.dump_intermediate_artifacts_to(compile_spec._get_intermediate_path())
        return spec.dump_debug_info(compile_spec.tosa_debug_mode)._set_tosa_dev_mode(compile_spec.tosa_dev_mode)
