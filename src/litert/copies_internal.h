// Transfers around a command stream, for tensors that do not lie where the stream has its inputs and outputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "carina/result.h"

namespace carina::litert {

// A place in one of the memories that a stream is given.
struct RegionPlace {
  int32_t region = 0;
  int64_t offset = 0;
};
struct RegionCopy {
  RegionPlace from;
  RegionPlace to;
  int64_t bytes = 0;
};

// Returns the driver payload with these transfers before the first and after the last operation of its stream. Errors:
// those of parse_payload() and read_stream(); an NPU that Carina does not know.
Result<std::vector<std::byte>> with_copies(std::span<const std::byte> payload, const std::vector<RegionCopy>& before,
                                           const std::vector<RegionCopy>& after, const std::string& where);

}  // namespace carina::litert
