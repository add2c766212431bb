#pragma once

#include <memory>

namespace carina::plan {

// Remembers what encode_slices() has encoded for one network and target, so that the plans of a network share it. It
// takes as much memory as the encoded weights. Not for several threads.
class SliceCache {
 public:
  SliceCache();
  ~SliceCache();
  SliceCache(const SliceCache&) = delete;
  SliceCache& operator=(const SliceCache&) = delete;
  class Slices;
  [[nodiscard]] Slices& slices() { return *slices_; }

 private:
  std::unique_ptr<Slices> slices_;
};

}  // namespace carina::plan
