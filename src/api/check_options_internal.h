#pragma once

#include <span>
#include <string_view>

#include "carina/api.h"
#include "carina/result.h"

// Mistakes in the arguments of a call, collected in `wrong` with Fault::kUsage.
namespace carina::api {

// At most kMaxThreads threads: more is a mistake of units, and would take the machine's memory.
inline constexpr int kMaxThreads = 1024;
void check_threads(int threads, Diagnostics& wrong);
// A Model that was moved from, or made of nothing, has no content.
void check_model(const Model& model, Diagnostics& wrong);
void check_target(const TargetNames& target, Diagnostics& wrong);
void check_options(const QuantizeOptions& options, Diagnostics& wrong);
void check_options(const PartitionOptions& options, Diagnostics& wrong);
void check_options(const DelegateOptions& options, Diagnostics& wrong);
void check_options(const CompileOptions& options, Diagnostics& wrong);

// A tensor whose element type is no enumerator of DType.
void check_samples(std::span<const Sample> samples, Diagnostics& wrong);

// The bytes at an address aligned to 16 bytes, as files are in memory: a copy where they are not. A null pointer has no
// bytes.
Buffer aligned(const Buffer& bytes);

}  // namespace carina::api
