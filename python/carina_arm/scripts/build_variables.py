"""The CMake variables that the Arm backend's documents set for its runner (--extra_build_flags="-DNAME=VALUE ..."). For each variable: the
corresponding option of Carina, or why there is none. Source: examples/arm/executor_runner/CMakeLists.txt and backends/arm/scripts of
ExecuTorch."""

import argparse
import shlex
from dataclasses import dataclass

from carina_arm.scripts.options import Effect, note

__all__ = ["VARIABLES", "Variable", "apply"]


@dataclass(frozen=True)
class Variable:
    """dest: the argument of arm-run and arm-build that gets the value."""

    name: str
    help: str
    effect: Effect = Effect.HAS
    dest: str = ""


def _built(name: str) -> Variable:
    return Variable(name, "images are built with Carina, without ExecuTorch's sources", Effect.NONE)


VARIABLES = (
    Variable("ET_NUM_INFERENCES", "As --inferences", dest="inferences"),
    Variable("ET_ARM_BAREMETAL_METHOD_ALLOCATOR_POOL_SIZE", "As `carina firmware --method-pool`", dest="method_pool"),
    Variable("ET_ARM_BAREMETAL_SCRATCH_TEMP_ALLOCATOR_POOL_SIZE", "As `carina firmware --temp-pool`", dest="temp_pool"),
    Variable(
        "ET_ARM_BAREMETAL_FAST_SCRATCH_TEMP_ALLOCATOR_POOL_SIZE", "As `carina firmware --fast-pool`", dest="fast_pool"
    ),
    Variable(
        "ET_ARM_BAREMETAL_PLANNED_FAST_MEMORY_SIZE",
        "programs of Carina plan no buffers in a memory of number 3",
        Effect.NONE,
    ),
    Variable(
        "ET_ARM_BAREMETAL_SEMIHOSTING_FILE_ALLOCATOR_POOL_SIZE",
        "the program stands in the image, and inputs are read into its buffers",
        Effect.NONE,
    ),
    Variable("EXECUTORCH_SELECT_OPS_LIST", "As --select_ops_list", dest="select_ops_list"),
    Variable("SYSTEM_CONFIG", "As --system_config", dest="system_config"),
    Variable("MEMORY_MODE", "As --memory_mode", dest="memory_mode"),
    Variable("ETHOSU_TARGET_NPU_CONFIG", "As --target", dest="target"),
    Variable(
        "TARGET_CPU",
        "cortex-m55 or cortex-m85: the CPU that the image is built for (cortex-m85: the image corstone320-host)",
        dest="target_cpu",
    ),
    Variable("ET_MODEL_PTE_ADDR", "As --pte_placement", dest="pte_placement"),
    Variable("ET_PTE_FILE_PATH", "the program is named by --model_name or --pte", Effect.REJECTED),
    Variable(
        "ET_LOG_DUMP_OUTPUT",
        "ON: the log has all values of the outputs; OFF and default: the first 16",
        dest="dump_output",
    ),
    Variable("ET_LOG_DUMP_INPUT", "ON: the log has all values of the inputs; OFF is the default", dest="dump_input"),
    Variable("ET_BUNDLE_IO", "As --bundleio", dest="bundleio"),
    Variable("ET_ATOL", "Of --bundleio: the absolute tolerance (default here: ExecuTorch's 1e-8)", dest="atol"),
    Variable("ET_RTOL", "Of --bundleio: the relative tolerance (default here: ExecuTorch's 1e-5)", dest="rtol"),
    Variable("EXECUTORCH_ENABLE_EVENT_TRACER", "As --etdump", dest="etdump"),
    Variable("ET_DUMP_OUTPUTS", "With --etdump: outputs of each instruction in debug_buffer.bin", dest="debug_buffer"),
    Variable("ET_DUMP_INTERMEDIATE_OUTPUTS", "As ET_DUMP_OUTPUTS", dest="debug_buffer"),
    Variable("ET_DEBUG_BUFFER_SIZE", "the buffer is a file on the host", Effect.NONE),
    Variable(
        "SEMIHOSTING",
        "inputs and outputs are files of the host in any case; the program stands in the image",
        Effect.NONE,
    ),
    *(
        _built(f"EXECUTORCH_BUILD_{part}")
        for part in (
            "ARM_BAREMETAL",
            "CORTEX_M",
            "DEVTOOLS",
            "EXTENSION_RUNNER_UTIL",
            "KERNELS_QUANTIZED",
            "PRESET_FILE",
            "VGF",
        )
    ),
    *(
        _built(name)
        for name in (
            *(
                "BUNDLED_PROGRAM_LIBRARY_DIR",
                "CMAKE_BUILD_TYPE",
                "CMAKE_TOOLCHAIN_FILE",
                "CMSIS_NN_LOCAL_PATH",
                "ETHOS_SDK_PATH",
            ),
            *(
                "ET_BUILD_DIR_PATH",
                "ET_DIR_PATH",
                "ET_INCLUDE_PATH",
                "EXECUTORCH_BAREMETAL_SKIP_INSTALL",
                "EXECUTORCH_ROOT",
            ),
            *("FETCH_ETHOS_U_CONTENT", "FLATC_EXECUTABLE", "MAX_KERNEL_NUM", "PYTHON_EXECUTABLE"),
        )
    ),
)

_BY_NAME = {variable.name: variable for variable in VARIABLES}
_ON, _OFF = ("ON", "TRUE", "1", "YES", "Y"), ("OFF", "FALSE", "0", "NO", "N", "")
_SWITCHES = ("bundleio", "etdump", "debug_buffer", "dump_input", "dump_output")


def _definition(word: str) -> tuple[str, str]:
    """-DNAME=VALUE or -DNAME:TYPE=VALUE. Raises: ValueError for anything else."""
    name, equals, value = word.removeprefix("-D").partition("=")
    if not word.startswith("-D") or not equals:
        raise ValueError(f"--extra_build_flags: {word}: expected -DNAME=VALUE")
    return name.partition(":")[0], value


def _switch(name: str, value: str) -> bool:
    if value.upper() in _ON:
        return True
    if value.upper() in _OFF:
        return False
    raise ValueError(f"--extra_build_flags: {name}: expected ON or OFF, got {value}")


def _bytes(name: str, value: str) -> int:
    try:
        return int(value, 0)
    except ValueError:
        raise ValueError(f"--extra_build_flags: {name}: expected a number of bytes, got {value}") from None


def apply(flags: str, args: argparse.Namespace) -> None:
    """Sets the arguments that correspond to the flags. Raises: ValueError for an unknown or rejected variable."""
    for word in shlex.split(flags):
        name, value = _definition(word)
        variable = _BY_NAME.get(name)
        if variable is None:
            raise ValueError(f"--extra_build_flags: {name}: unknown variable; known are {', '.join(_BY_NAME)}")
        if variable.effect is Effect.REJECTED:
            raise ValueError(f"--extra_build_flags: {name}: not supported: {variable.help}")
        if variable.effect is Effect.NONE:
            note(f"{name} makes no difference: {variable.help}")
        elif variable.dest in _SWITCHES:
            setattr(args, variable.dest, _switch(name, value))
        elif variable.dest.endswith("_pool"):
            setattr(args, variable.dest, _bytes(name, value))
        else:
            setattr(args, variable.dest, value.replace(";", ",") if variable.dest == "select_ops_list" else value)
