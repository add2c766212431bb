// Links a firmware image with a chosen set of CPU kernels.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/result.h"

namespace carina::boards {

// The selection of the runtime's kernels for an image.
struct KernelChoice {
  std::vector<std::string> names;     // names as in a .pte: "aten::add.out"
  std::vector<std::string> programs;  // .pte files; the kernels that they call are selected
  [[nodiscard]] bool all() const { return names.empty() && programs.empty(); }
};

// Returns the names of the selected kernels. Errors: a file that is not a program; all names that the runtime lacks.
Result<std::set<std::string>> chosen_kernels(const KernelChoice& choice);

// Links the installed image at `path` again, with exactly these kernels. Errors: an image without the files needed for
// linking; no cross compiler; the linker's errors.
Result<Buffer> link_image(const std::string& path, const std::set<std::string>& kernels);

}  // namespace carina::boards
