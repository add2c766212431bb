#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "npu/encoded_weights_cache.h"

namespace carina::plan {

// Choices that never change results. The tests vary them: outputs must not depend on any.
struct Variation {
  // Which legal block of each operation: the cheapest, or (kSeeded) an arbitrary one that `seed` picks.
  enum class Blocks : uint8_t { kCheapest, kSeeded } blocks = Blocks::kCheapest;
  uint32_t seed = 0;
  enum class Formats : uint8_t { kBricks, kLinear } formats = Formats::kBricks;
  enum class Stripes : uint8_t { kWhole, kHalves } stripes = Stripes::kWhole;  // into how many pieces steps are cut
  int64_t cascade_rows =
      0;  // 0: cascades where they are chosen; else wherever there can be one, in stripes of so many rows
  // Whether weights that live in slow memory are copied to the arena before use.
  enum class Staging : uint8_t { kWhereItPays, kNever } staging = Staging::kWhereItPays;
  enum class Overlap : uint8_t { kExact, kNone } overlap = Overlap::kExact;  // kNone: BLOCKDEP 0, wait for everything
};

struct Schedule;

// What a schedule is made for. kSpeed: the fewest cycles that rules find at once; kSearch: fewer by seconds of search;
// kSize: the least SRAM, and of those schedules the fastest.
enum class Optimize : uint8_t { kSpeed, kSearch, kSize };

struct Options {
  int threads = 1;                // results do not depend on it
  int64_t arena_limit_bytes = 0;  // what the arena may take; 0: no limit but the address space
  Optimize optimize = Optimize::kSpeed;
  // Products of two activations as convolutions whose weights the NPU writes, where it has no such product. Exact on the
  // simulator; no silicon has confirmed it.
  bool dynamic_weights = false;
  // Weights that other compilations have encoded, for these and later ones; nullptr: none. Results do not depend on it.
  npu::EncodedWeightsCache* streams = nullptr;
  Variation variation = {};
  // Called with the schedule after each transformation, under its name; at last under "finished". For dumps.
  std::function<void(std::string_view transformation, const Schedule& schedule)> watch = {};
};

}  // namespace carina::plan
