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
  int32_t instruction = -1;      // index in the method; -1: of no instruction
  std::string delegate_id = {};  // the delegate's name of an event within it; empty for other events
  std::string metadata = {};     // the delegate's data for that event; may be empty
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
};

struct RecordedTensor {
  PteScalarType type = PteScalarType::kFloat;
  std::vector<int64_t> sizes = {};
  std::vector<std::byte> elements = {};  // in the order of the sizes
};

// A value that an instruction wrote, or an output of the program. Types that ExecuTorch's Inspector does not know
// (bf16, complex numbers, uint32) are left out: with one of them it cannot read the record. It cannot read events of
// allocations either ("Unable to find populated event"), and takes several runs of a method for repetitions with equal
// values.
struct RecordedValue {
  enum class Kind : uint8_t { kTensor, kTensorList };
  Kind kind = Kind::kTensor;
  int32_t instruction = -1;  // -1: an output of the program
  std::vector<RecordedTensor> tensors = {};
};

// Returns whether ExecuTorch's Inspector supports tensors of this type.
bool is_recordable(PteScalarType type);

// One run of a method. The format has a field for allocations, but the Inspector rejects a file with it.
struct RunRecord {
  std::string name = "Execute";
  int32_t test_case = -1;  // of a bundled program; -1: none
  std::vector<ProfileEvent> events = {};
  std::vector<RecordedValue> values = {};
};

// An ETDump for ExecuTorch's Inspector (executorch.devtools.Inspector). `debug_buffer` holds the bytes of its tensors,
// which are a separate file (the Inspector's `debug_buffer_path`). Source: ExecuTorch's etdump_schema_flatcc.fbs
// (facts/schemas); event names are those of method.cpp and of the generated kernel calls.
struct EtDump {
  std::vector<std::byte> record;
  std::vector<std::byte> debug_buffer;
};
EtDump write_etdump(std::span<const RunRecord> runs);

}  // namespace carina::pte
