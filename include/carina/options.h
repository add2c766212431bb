// Defines the choices that several stages of a compilation share.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace carina::options {

// The goal of a schedule.
enum class Optimize : uint8_t {
  kSpeed,   // the fewest cycles that fast rules find
  kSearch,  // fewer cycles, after a search that takes seconds
  kSize,    // the least SRAM in bytes, and among those schedules the fastest
};

// Which of the supported nodes run on the NPU.
enum class DelegateMode : uint8_t {
  kNpu,  // nodes that run faster there
  kAll,  // also subgraphs whose call costs more than it saves: data movement only, or small
  kNothing
};

// Whether a model is quantized.
enum class QuantizeMode : uint8_t {
  kAuto,    // keep the model's quantization; quantize a float model if calibration data are given
  kNone,    // a float model stays float
  kAlways,  // quantize a float model; it is an error if that is impossible
};

// The kernels that nodes on the CPU call.
enum class CpuKernels : uint8_t {
  kPortable,  // kernels of every ExecuTorch runtime; a quantized network computes in floats between Q and DQ
  kCortexM,   // int8 stays int8 where ExecuTorch's Cortex-M backend has a kernel
};

// How the int8 FULLY_CONNECTED of a LiteRT file rounds: once, as LiteRT's reference kernel, or twice, as in the command
// streams that Vela makes.
enum class TfliteRounding : uint8_t { kLiteRt, kVela };

// How much of a compiled program is run beside the model before it is written.
enum class Check : uint8_t {
  kQuick,  // all if that takes at most a fifth of the work of the compilation, otherwise the first operators
  kFull,
  kOff,
};

// The options of each stage: one member per row of options.def, which has its help text, default and range.
#define CARINA_MEMBER(group, type, member, initial, ...) type member = initial;

// The accelerator and its memories by name, with configuration files by path.
struct TargetOptions {
#define CARINA_TARGET_OPTION CARINA_MEMBER
#include "carina/options.def"
};

// How a model is quantized, as text.
struct QuantizeOptions {
#define CARINA_QUANTIZE_OPTION CARINA_MEMBER
#include "carina/options.def"
};

// Which nodes run on the NPU.
struct PartitionOptions {
#define CARINA_PARTITION_OPTION CARINA_MEMBER
#include "carina/options.def"
  auto operator<=>(const PartitionOptions&) const = default;
};

// The schedules of delegates.
struct ScheduleOptions {
#define CARINA_SCHEDULE_OPTION CARINA_MEMBER
#include "carina/options.def"
};

// The stages from a model file to a program.
struct PipelineOptions {
#define CARINA_PIPELINE_OPTION CARINA_MEMBER
#include "carina/options.def"
};

// Files, and flags in Vela's form.
struct DriverOptions {
#define CARINA_DRIVER_OPTION CARINA_MEMBER
#include "carina/options.def"
};

#undef CARINA_MEMBER

}  // namespace carina::options
