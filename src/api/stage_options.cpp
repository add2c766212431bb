#include "api/stage_options_internal.h"

namespace carina::api {

driver::SplitOptions split_options(const PartitionOptions& options) {
  return {.delegates = options.delegates,
          .cpu_nodes = options.cpu_nodes,
          .cpu_ops = options.cpu_ops,
          .cpu_modules = options.cpu_modules};
}

backends::DelegateOptions delegate_options(const DelegateOptions& options) {
  return {.threads = options.threads,
          .arena_limit_bytes = options.arena_limit_bytes,
          .optimize = options.optimize,
          .dynamic_weights = options.dynamic_weights,
          .artifacts = options.artifacts ? backends::Artifacts::kKeep : backends::Artifacts::kDrop};
}

}  // namespace carina::api
