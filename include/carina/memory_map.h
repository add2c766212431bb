// Defines the entries of a memory map: which bytes are live during which operations.
#pragma once

#include <cstdint>
#include <string>

namespace carina::results {

// A buffer of working memory that is live from one NPU operation to another.
struct HeldBytes {
  std::string name;    // tensors that share the buffer one after another; for weights the copied slice: "weights w3"
  std::string layer;   // for weights: the layer that reads them
  std::string memory;  // "arena", "fast scratch", "tables"
  int64_t address_bytes = 0;
  int64_t bytes = 0;
  // Operations count from 1. 0: before the first, when inputs are written. One past the last: when outputs are read.
  int64_t first_operation = 0;
  int64_t last_operation = 0;
};

}  // namespace carina::results
