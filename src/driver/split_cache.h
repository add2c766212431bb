// Declares a cache of split_graph() results.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "driver/split.h"

namespace carina::driver {

// Caches the results of split_graph() for one graph, one per NPU; the NPU's memories do not matter. Safe for concurrent
// calls.
class SplitCache {
 public:
  // Returns the result and logs the notes of split_graph() with nothing rejected. Every call must pass the same
  // `normalized` graph, the same `keep` filter (apart from modules) and the same passes.
  Result<Split> split(const ir::Graph& normalized, const backends::Backend& backend, const SplitOptions& options,
                      const Log& log);

 private:
  using Key = std::pair<std::string, options::PartitionOptions>;  // the target and the choices for the CPU
  struct Entry;

  std::mutex mutex_;
  std::map<Key, std::shared_ptr<Entry>> entries_;
};

}  // namespace carina::driver
