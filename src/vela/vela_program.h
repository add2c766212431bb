// Runs the installed Vela and reads its output.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "carina/buffer.h"
#include "carina/result.h"
#include "npu/compiled_network.h"
#include "targets/target.h"

namespace carina::vela {

struct VelaRun {
  std::string program = "vela";  // the executable, which is searched in the PATH
  targets::TargetRequest
      // `target` names a system configuration and a memory mode of its `config_files`, or of Vela's own.
      target;
  backends::Optimize optimize = backends::Optimize::kSpeed;
};

// Compiles a TOSA file with the installed Vela. Notes of the result name the layers after the file's tensors. Errors:
// Vela is not installed, or rejects the file (with the end of its output).
Result<npu::CompiledNetwork> run_vela(std::span<const std::byte> tosa, const VelaRun& run);

// Parses Vela's debug database (--enable-debug-db, <network>_debug.xml) to the layer notes of a command stream. Returns
// none if the text has another form.
std::vector<npu::LayerNote> notes_of_debug_db(std::string_view xml, size_t stream_words);

}  // namespace carina::vela
