#pragma once

#include <cstdint>
#include <string>

namespace carina::results {

// Bytes of working memory that hold something from one operation of the NPU to another.
struct HeldBytes {
  std::string name;    // the tensors that stand there one after the other; of weights the copied slice: "weights w3"
  std::string layer;   // of weights: that reads them
  std::string memory;  // "arena", "fast scratch", "tables"
  int64_t address_bytes = 0;
  int64_t bytes = 0;
  // Operations count from 1; 0: before the first, where inputs are written. One past the last: where outputs are read.
  int64_t first_operation = 0;
  int64_t last_operation = 0;
};

}  // namespace carina::results
