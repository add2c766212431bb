#pragma once

#include <cstddef>
#include <vector>

#include "base/diagnostic.h"
#include "pte/program.h"

namespace carina::pte {

// Where delegate blobs stand in the file.
enum class DelegateData {
  kInline,   // inside the FlatBuffer, 16-byte aligned: what the Arm flow writes (extract_delegate_segments=False)
  kSegment,  // in a segment of its own, 128-byte aligned
};

struct WriteOptions {
  DelegateData delegate_data = DelegateData::kInline;
};

// The bytes of the .pte: FlatBuffer "ET12", extended header and segments where there are any. Deterministic. Errors: a
// program over 2 GiB. Source: ExecuTorch 1.5, exir/_serialize/_program.py (layout).
Result<std::vector<std::byte>> write_program(const Program& program, const WriteOptions& options);

}  // namespace carina::pte
