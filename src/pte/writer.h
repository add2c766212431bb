#pragma once

#include <cstddef>
#include <vector>

#include "carina/result.h"
#include "pte/program.h"

namespace carina::pte {

// The location of delegate blobs in the file.
enum class DelegateData {
  kInline,   // inside the FlatBuffer, 16-byte aligned: what the Arm flow writes (extract_delegate_segments=False)
  kSegment,  // in a segment of its own, 128-byte aligned
};

// Whether the blobs are small enough, at most 1 GiB together, to stand inside the FlatBuffer, whose offsets have 31
// bits.
bool delegates_fit_inline(const Program& program);

struct WriteOptions {
  DelegateData delegate_data = DelegateData::kInline;
};

// The bytes of the .pte: FlatBuffer "ET12", extended header and segments where there are any. Deterministic. Errors: a
// program over 2 GiB, inline blobs that do not fit. Source: ExecuTorch 1.5, exir/_serialize/_program.py (layout).
Result<std::vector<std::byte>> write_program(const Program& program, const WriteOptions& options);

}  // namespace carina::pte
