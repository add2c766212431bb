#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "carina/options.h"
#include "npu/registers.h"
#include "npu/weights/encoded_weights_cache.h"

// The options of plan::compile().
namespace carina::plan {

// Choices that never change results. Tests vary them, and the outputs must stay the same.
struct Variation {
  // Which legal block each operation uses: the cheapest, or (kSeeded) an arbitrary one that `seed` selects.
  enum class Blocks : uint8_t { kCheapest, kSeeded } blocks = Blocks::kCheapest;
  uint32_t seed = 0;
  enum class Formats : uint8_t { kBricks, kLinear } formats = Formats::kBricks;
  // How many stripes each step has.
  enum class Stripes : uint8_t { kWhole, kHalves } stripes = Stripes::kWhole;
  int64_t cascade_rows =
      // 0: the planner chooses the cascades; otherwise there are cascades wherever possible, with stripes of this many
      // rows
      0;
  // Whether weights in slow memory are copied to the arena before use.
  enum class Staging : uint8_t { kWhereItPays, kNever } staging = Staging::kWhereItPays;
  // kNone: BLOCKDEP is 0 and every command waits for all previous ones
  enum class Overlap : uint8_t { kExact, kNone } overlap = Overlap::kExact;
  // kAll: every operation sets all registers that it uses, also those that have the right value already
  npu::StreamWriter::Writes writes = npu::StreamWriter::Writes::kOmitUnchanged;
};

struct Schedule;

using options::Optimize;

// The options of plan::compile(): the user's options for schedules, and those of the pipeline.
struct Options : options::ScheduleOptions {
  int threads = 1;  // results do not depend on it
  // A cache of encoded weights that several compilations share; nullptr: none. Results do not depend on it.
  npu::EncodedWeightsCache* streams = nullptr;
  Variation variation = {};
  // Called with the schedule after each transformation, with its name, and at the end with the name "finished". For
  // dumps.
  std::function<void(std::string_view transformation, const Schedule& schedule)> watch = {};
};

}  // namespace carina::plan
