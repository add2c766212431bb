#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "npu/compiled_network.h"
#include "pte/program.h"

namespace carina::backends {

// What an Ethos-U delegate says of itself in a program, beside its blob: the compile specs that ExecuTorch's Arm backend
// writes, and Carina's own, which name the layers so that a run of the .pte can name what it measures. ExecuTorch's
// runtime takes no notice of either. Empty: not said.
struct EthosUSpecs {
  std::string tosa_spec;               // "TOSA-1.0+INT+int16+int4" and what the product adds
  std::string accelerator;             // as Vela names the configuration
  std::string system_config;           // as Vela names it
  std::string memory_mode;             // "Shared_Sram"
  int64_t arena_cache_bytes = 0;       // of --arena-cache-size among the flags, where it is there
  std::string more_flags = {};         // others of Vela that it was compiled with: "--optimise=Size"
  std::vector<npu::LayerNote> layers;  // names and places in the command stream only
};

using CompileSpecs = decltype(pte::Delegate::compile_specs);

CompileSpecs write_specs(const EthosUSpecs& specs);

// What the specs say; what they do not say, or say in another form, stays empty.
EthosUSpecs read_specs(const CompileSpecs& specs);

}  // namespace carina::backends
