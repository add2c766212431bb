#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace carina::quantize {

// Schemes to try if a model loses too much accuracy. `accuracy --layers` lists their results; --quantize auto uses the
// best that its budget allows.
struct SchemeAlternative {
  std::string_view what;
  std::string_view spec;
};
inline constexpr std::array kSchemeAlternatives{
    SchemeAlternative{.what = "ranges: all that is seen", .spec = "int8+minmax"},
    SchemeAlternative{.what = "ranges: measured", .spec = "int8"},
    SchemeAlternative{.what = "ranges: least square error", .spec = "int8+mse"},
    SchemeAlternative{.what = "ranges: least square error, clipping counts twice", .spec = "int8+histogram"},
    SchemeAlternative{.what = "weights rounded for the layers' inputs", .spec = "int8+rounded-for-inputs"},
    SchemeAlternative{.what = "ranges: 99.99 % of what is seen", .spec = "int8+percentile"},
    SchemeAlternative{.what = "channels as the model has them", .spec = "int8+unequalized"},
    SchemeAlternative{.what = "weights per tensor", .spec = "int8+per-tensor"},
    SchemeAlternative{.what = "16-bit activations", .spec = "int16x8"},
    SchemeAlternative{.what = "16-bit activations, weights rounded for the layers' inputs",
                      .spec = "int16x8+rounded-for-inputs"},
    SchemeAlternative{.what = "16-bit activations, weights per tensor and rounded for the layers' inputs",
                      .spec = "int16x8+per-tensor+rounded-for-inputs"},
    SchemeAlternative{.what = "16-bit activations and weights", .spec = "int16x16"},
};
inline constexpr size_t kWorstLayers = 3;  // layers to which another alternative gives 16 bits

}  // namespace carina::quantize
