#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>

// ValueCounts: statistics of encoded weights.
namespace carina::npu {

// The distribution of the values of weight streams, padding included. The decoding time depends on it.
struct ValueCounts {
  uint64_t values = 0;
  uint64_t zeros = 0;
  std::bitset<512> present = {};  // by value - kMinWeight

  ValueCounts& operator+=(const ValueCounts& other) {
    values += other.values;
    zeros += other.zeros;
    present |= other.present;
    return *this;
  }
  bool operator==(const ValueCounts&) const = default;
};

}  // namespace carina::npu
