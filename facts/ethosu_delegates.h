#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "facts/npu_enums.h"

// The strings in the delegates of each product line, and what a vela.ini must contain for it. Sources: the compile
// specs of ExecuTorch's Arm backend 1.5 (EthosUCompileSpec); config_files/Arm/vela.ini of ethos-u-vela 5.2.0.
namespace carina::npu {

struct DelegateConventions {
  Product product;
  std::string_view tosa_spec;  // the TOSA subset of its delegates
  bool ini_needs_max_reads;  // U85's model needs the number of outstanding reads; vela.ini files for other products may
                             // omit it
};
inline constexpr auto kDelegateConventions = std::to_array<DelegateConventions>({
    {.product = Product::kU55, .tosa_spec = "TOSA-1.0+INT+int16+int4+u55", .ini_needs_max_reads = false},
    {.product = Product::kU65, .tosa_spec = "TOSA-1.0+INT+int16+int4+u55", .ini_needs_max_reads = false},
    {.product = Product::kU85, .tosa_spec = "TOSA-1.0+INT+int16+int4+cf", .ini_needs_max_reads = true},
});
constexpr const DelegateConventions& delegate_conventions_of(Product product) {
  return kDelegateConventions[static_cast<size_t>(product)];
}

// The NPU whose memories name a timed run of a program without delegates. The result does not depend on the choice.
inline constexpr std::string_view kAcceleratorOfNoDelegate = "ethos-u55-128";

}  // namespace carina::npu
