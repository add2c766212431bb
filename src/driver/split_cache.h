#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include "driver/split.h"

namespace carina::driver {

// split_graph() of one graph, done once for an NPU whatever its memories. Safe for concurrent calls.
class SplitCache {
 public:
  // As split_graph() with nothing refused; says what that says. `prepared` is the same graph in every call, and so are
  // the options' filter, but for modules, and passes.
  Result<Split> split(const ir::Graph& prepared, const backends::Backend& backend, const SplitOptions& options,
                      const Log& log);

 private:
  // The target, and what is chosen for the CPU.
  using Key = std::tuple<std::string, DelegateMode, std::vector<std::string>, std::vector<std::string>,
                         std::vector<std::string>>;
  struct Entry;

  std::mutex mutex_;
  std::map<Key, std::shared_ptr<Entry>> entries_;
};

}  // namespace carina::driver
