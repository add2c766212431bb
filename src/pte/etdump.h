// Declares the record of a run in ExecuTorch's ETDump format, and its writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "facts/executorch.h"

namespace carina::pte {

// An event with its start and end, in nanoseconds of one clock.
struct ProfileEvent {
  std::string name = {};         // "native_call_add.out"
  int32_t instruction = -1;      // of the method; -1: of none
  std::string delegate_id = {};  // what a delegate did by itself: its name of it; else empty
  std::string metadata = {};     // what a delegate adds to that; may be empty
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
};

struct RecordedTensor {
  PteScalarType type = PteScalarType::kFloat;
  std::vector<int64_t> sizes = {};
  std::vector<std::byte> elements = {};  // in the order of the sizes
};

// A value that an instruction wrote, or an output of the program.
struct RecordedValue {
  enum class Kind : uint8_t { kTensor, kTensorList };
  Kind kind = Kind::kTensor;
  int32_t instruction = -1;  // -1: an output of the program
  std::vector<RecordedTensor> tensors = {};
};

// Whether the Inspector knows tensors of this type.
bool is_recordable(PteScalarType type);

// One run of a method. The format has a field for allocations, but the Inspector rejects a file with it.
struct RunRecord {
  std::string name = "Execute";
  int32_t test_case = -1;  // of a bundled program; -1: none
  std::vector<ProfileEvent> events = {};
  std::vector<RecordedValue> values = {};
};

// An ETDump, which ExecuTorch's Inspector reads (executorch.devtools.Inspector), and the bytes of its tensors, which
// stand in a file of their own (its `debug_buffer_path`). Source: ExecuTorch's etdump_schema_flatcc.fbs
// (facts/schemas); names of events as method.cpp and the generated kernel calls give them.
struct EtDump {
  std::vector<std::byte> record;
  std::vector<std::byte> debug_buffer;
};
EtDump write_etdump(std::span<const RunRecord> runs);

}  // namespace carina::pte
