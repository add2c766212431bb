#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "carina/api.h"
#include "carina/buffer.h"
#include "carina/log.h"
#include "carina/result.h"
#include "driver/delegate_map.h"
#include "quantize/annotate/annotation.h"
#include "quantize/annotate/expansion.h"

// The part of the API for callers that keep PyTorch's graphs: the Python module. It is not installed.
namespace carina::api {

// Returns the annotations that PyTorch's quantizer (torchao's PT2E) sets on a float model, for users who keep PyTorch's
// graph: quantize/annotate/annotation.h. Errors: the reader's.
Result<quantize::Annotations> annotate(const Buffer& pt2, std::string_view name, const quantize::NodeSchemes& schemes,
                                       const Log& log = {});

// Returns the nodes that the quantizer decomposes before it annotates, each with its replacement:
// quantize/annotate/expansion.h. Errors: the reader's.
Result<std::vector<quantize::Expansion>> expand(const Buffer& pt2, std::string_view name,
                                                const quantize::NodeSchemes& schemes, const Log& log = {});

// Maps the model's nodes to delegates, for use by an ExecuTorch partitioner: driver/delegate_map.h. The target may also
// be a TOSA specification, for example "TOSA-1.0+INT".
Result<std::vector<driver::NodeAssignment>> map_delegates(const Buffer& pt2, std::string_view name,
                                                          const TargetNames& target, const CompileOptions& options = {},
                                                          const Log& log = {});

// The memories of a target with an NPU, for the summary of a delegate.
struct TargetMemories {
  std::string system_config;     // the section of a vela.ini
  std::string memory_mode;       // "Shared_Sram"
  int64_t clock_hz = 0;          // 0: unknown
  std::string arena_memory;      // the memory that holds the arena: "SRAM"; empty for a target without an NPU
  std::string constants_memory;  // the memory that holds weights: "flash"
};

// Errors (usage): no such target.
Result<TargetMemories> memories_of(const TargetNames& target, const Log& log = {});

}  // namespace carina::api
