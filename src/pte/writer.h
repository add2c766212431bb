#pragma once

#include <cstddef>
#include <vector>

#include "carina/result.h"
#include "pte/program.h"

namespace carina::pte {

// The location of delegate blobs in the file.
enum class DelegateData {
  kInline,   // inside the FlatBuffer, 16-byte aligned, as the Arm flow writes it (extract_delegate_segments=False)
  kSegment,  // in a separate segment, 128-byte aligned
};

// Returns whether the blobs together have at most 1 GiB, so that they fit the FlatBuffer, whose offsets have 31 bits.
bool delegates_fit_inline(const Program& program);

struct WriteOptions {
  DelegateData delegate_data = DelegateData::kInline;
};

// Returns the bytes of a .pte: FlatBuffer "ET12", and if needed extended header and segments. Equal programs give equal
// bytes. Errors: a program over 2 GiB; inline blobs that do not fit. Source: ExecuTorch 1.5,
// module exir._serialize._program (layout).
Result<std::vector<std::byte>> write_program(const Program& program, const WriteOptions& options);

}  // namespace carina::pte
