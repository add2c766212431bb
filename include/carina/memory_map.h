// Defines the entries of a memory map: which bytes are live during which operations.
#pragma once

#include <cstdint>
#include <string>

namespace carina::results {

// A buffer of working memory that is live from one NPU operation to another.
struct HeldBytes {
  std::string name;    // names of the tensors that use the buffer one after another; for weights the copied slice:
                       // "weights w3"
  std::string layer;   // for weights: the layer that reads them
  std::string memory;  // "arena", "fast scratch", "tables"
  int64_t address_bytes = 0;
  int64_t bytes = 0;
  // Operations are numbered from 1. 0 means before the first operation, when inputs are written. One more than the last
  // number means after the last operation, when outputs are read.
  int64_t first_operation = 0;
  int64_t last_operation = 0;
};

}  // namespace carina::results
