#include "api/stage_options_internal.h"

#include "api/check_options_internal.h"

namespace carina::api {

driver::SplitOptions split_options(const PartitionOptions& options) {
  return {options};
}

backends::DelegateOptions delegate_options(const DelegateOptions& options) {
  backends::DelegateOptions wanted{static_cast<const options::ScheduleOptions&>(options)};
  wanted.threads = options.threads;
  wanted.artifacts = options.artifacts ? backends::Artifacts::kKeep
                     : options.layers  ? backends::Artifacts::kLayers
                                       : backends::Artifacts::kDrop;
  return wanted;
}

execute::RunOptions run_options(const RunOptions& options) {
  execute::RunOptions wanted{.timed = options.timed, .memories = options.memories};
  wanted.exact_memories = true;
  wanted.threads = options.threads;
  wanted.method = options.method;
  for (const Buffer& file : options.data) wanted.data.push_back(aligned(file));
  return wanted;
}

}  // namespace carina::api
