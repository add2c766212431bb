#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "base/memory/buffer.h"

namespace carina::boards {

// Which of the runtime's kernels an image is to have.
struct KernelChoice {
  std::vector<std::string> names;     // as a .pte calls them: "aten::add.out"
  std::vector<std::string> programs;  // .pte: those that they call
  [[nodiscard]] bool all() const { return names.empty() && programs.empty(); }
};

// The names that are chosen. Errors: a file that is no program; names that the runtime does not have, all of them.
Result<std::set<std::string>> chosen_kernels(const KernelChoice& choice);

// Links the installed image at `path` anew, with these kernels and no others. Errors: an image that was not built to be
// linked; no cross compiler; what the linker says.
Result<Buffer> link_image(const std::string& path, const std::set<std::string>& kernels);

}  // namespace carina::boards
