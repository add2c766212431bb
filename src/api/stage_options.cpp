#include "api/stage_options_internal.h"

namespace carina::api {

driver::SplitOptions split_options(const PartitionOptions& options) {
  return {options};
}

backends::DelegateOptions delegate_options(const DelegateOptions& options) {
  backends::DelegateOptions wanted{static_cast<const options::ScheduleOptions&>(options)};
  wanted.threads = options.threads;
  wanted.artifacts = options.artifacts ? backends::Artifacts::kKeep : backends::Artifacts::kDrop;
  return wanted;
}

}  // namespace carina::api
