#pragma once

#include "backends/backend.h"
#include "carina/api.h"
#include "driver/split.h"
#include "execute/run_program.h"

namespace carina::api {

// Converts the API's options to those of the stages.
driver::SplitOptions split_options(const PartitionOptions& options);
backends::DelegateOptions delegate_options(const DelegateOptions& options);
execute::RunOptions run_options(const RunOptions& options);

}  // namespace carina::api
