#pragma once

#include <cstdint>

namespace carina {

// SplitMix64: 64 random bits a call, the same on every machine.
// Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t x = state_ += 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
  }

 private:
  uint64_t state_;
};

}  // namespace carina
