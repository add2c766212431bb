#pragma once

#include <cstddef>

namespace carina::check {

// What a compilation did before it planned: a quick check may take a fifth of all of it.
struct FrontEnd {
  bool has_imported = false;  // a .pt2
  size_t samples = 0;         // of calibration
};

}  // namespace carina::check
