// Transfers around a command stream, for tensors that do not lie where the stream has its inputs and outputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "carina/result.h"

namespace carina::litert {

// A transfer inside one region.
struct RegionCopy {
  int32_t region = 0;
  int64_t from = 0;
  int64_t to = 0;
  int64_t bytes = 0;
};

// Returns the driver payload with these transfers before the first and after the last operation of its stream. Errors:
// those of parse_payload() and read_stream(); an NPU that Carina does not know.
Result<std::vector<std::byte>> with_copies(std::span<const std::byte> payload, const std::vector<RegionCopy>& before,
                                           const std::vector<RegionCopy>& after, const std::string& where);

}  // namespace carina::litert
