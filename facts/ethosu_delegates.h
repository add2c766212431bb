#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "facts/npu_enums.h"

// What a delegate of each product line says of itself in a program, and what a vela.ini must say for it. Sources: the
// compile specs of ExecuTorch's Arm backend 1.5 (EthosUCompileSpec); config_files/Arm/vela.ini of ethos-u-vela 5.2.0.
namespace carina::npu {

struct DelegateConventions {
  Product product;
  std::string_view tosa_spec;  // the TOSA subset that its delegates keep to
  bool ini_needs_max_reads;  // only U85's model asks how many reads may be outstanding: others' files may leave it out
};
inline constexpr auto kDelegateConventions = std::to_array<DelegateConventions>({
    {.product = Product::kU55, .tosa_spec = "TOSA-1.0+INT+int16+int4+u55", .ini_needs_max_reads = false},
    {.product = Product::kU65, .tosa_spec = "TOSA-1.0+INT+int16+int4+u55", .ini_needs_max_reads = false},
    {.product = Product::kU85, .tosa_spec = "TOSA-1.0+INT+int16+int4+cf", .ini_needs_max_reads = true},
});
constexpr const DelegateConventions& delegate_conventions_of(Product product) {
  return kDelegateConventions[static_cast<size_t>(product)];
}

// The NPU whose memories a timed run of a program without delegates names: nothing of it depends on which.
inline constexpr std::string_view kAcceleratorOfNoDelegate = "ethos-u55-128";

}  // namespace carina::npu
