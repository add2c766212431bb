#pragma once

#include "frontend/tflite/model.h"

namespace carina::tflite {

namespace fb {
struct Operator;
}

// Returns the options of a verified operator; the defaults if the file has none of a known kind.
Options read_options(const fb::Operator& from);

}  // namespace carina::tflite
