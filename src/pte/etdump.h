#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace carina::pte {

// Something that took time, in nanoseconds of one clock.
struct ProfileEvent {
  std::string name = {};         // "native_call_add.out"
  int32_t instruction = -1;      // of the method; -1: of none
  std::string delegate_id = {};  // what a delegate did by itself: its name of it; else empty
  std::string metadata = {};     // what a delegate adds to that; may be empty
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
};

// One run of a method. The format has room for what was allocated; the Inspector refuses a file that says it.
struct RunRecord {
  std::string name = "Execute";
  int32_t test_case = -1;  // of a bundled program; -1: none
  std::vector<ProfileEvent> events = {};
};

// The bytes of an ETDump, which ExecuTorch's Inspector reads (executorch.devtools.Inspector). Source: ExecuTorch's
// etdump_schema_flatcc.fbs (facts/schemas); names of events as method.cpp and the generated kernel calls give them.
std::vector<std::byte> write_etdump(std::span<const RunRecord> runs);

}  // namespace carina::pte
