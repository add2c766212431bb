#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>

namespace carina::npu {

// How the values of streams of weights are spread, padding included: what the time of decoding depends on.
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
