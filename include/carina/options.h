// Defines the choices that several stages of a compilation share.
#pragma once

#include <cstdint>

namespace carina::options {

// The goal of a schedule.
enum class Optimize : uint8_t {
  kSpeed,   // the fewest cycles that fast rules find
  kSearch,  // fewer cycles, after a search that takes seconds
  kSize,    // the least SRAM in bytes, and among those schedules the fastest
};

// Which nodes the NPU runs, of those that it supports.
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

}  // namespace carina::options
