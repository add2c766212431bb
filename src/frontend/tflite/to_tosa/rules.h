#pragma once

#include <string_view>
#include <vector>

namespace carina::tflite {

// The names of the operators that have a form in TOSA, in alphabetic order.
std::vector<std::string_view> operators_with_rules();

}  // namespace carina::tflite
