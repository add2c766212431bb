// Declares the compile specs of an Ethos-U delegate, their writer and their reader.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "npu/compiled_network.h"
#include "pte/program.h"

namespace carina::backends {

// The compile specs of an Ethos-U delegate, which a program stores with the blob. ExecuTorch's Arm backend writes
// some; Carina adds its own, which name the layers so that a run of the .pte can name what it measures. ExecuTorch's
// runtime ignores them all. An empty field means that the spec is absent.
struct EthosUSpecs {
  std::string tosa_spec;               // "TOSA-1.0+INT+int16+int4" and the extensions of the product
  std::string accelerator;             // as Vela names the configuration
  std::string system_config;           // as Vela names it
  std::string memory_mode;             // "Shared_Sram"
  int64_t arena_cache_bytes = 0;       // --arena-cache-size of the flags, if given
  std::string more_flags = {};         // other flags of Vela used for compilation: "--optimise=Size"
  std::vector<npu::LayerNote> layers;  // only names and positions in the command stream
};

using CompileSpecs = decltype(pte::Delegate::compile_specs);

CompileSpecs write_specs(const EthosUSpecs& specs);

// Reads the specs. A field stays empty if its spec is missing or has another form.
EthosUSpecs read_specs(const CompileSpecs& specs);

}  // namespace carina::backends
