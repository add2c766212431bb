#include "backends/vgf_backend_internal.h"

#include "backends/checked_file_internal.h"
#include "facts/executorch.h"
#include "facts/vgf.h"
#include "files/tosa_file.h"

namespace carina::backends {

namespace {

int64_t constant_bytes(const ir::Graph& graph) {
  int64_t bytes = 0;
  for (const ir::Value& value : graph.values)
    bytes += value.constant ? static_cast<int64_t>(value.constant->data.size()) : 0;
  return bytes;
}

// The keys of ExecuTorch's VgfCompileSpec.
decltype(pte::Delegate::compile_specs) specs() {
  return {{"tosa_spec", spec_bytes(kVgfTosaSpec)}, {"compile_flags", {}}, {"output_format", spec_bytes("vgf")}};
}

Result<Delegate> compile_vgf(const ir::Graph& tosa, const DelegateOptions& options, const Log& log) {
  CARINA_TRY(std::vector<std::byte> file, files::write_sound_tosa({.graphs = {tosa}}, "vgf", {}, "delegate"));
  Delegate delegate{
      .packaged = {.backend = std::string(kVgfBackendId), .blob = Buffer::copy_of(file), .compile_specs = specs()},
      .report = {.tosa_operators = static_cast<int64_t>(tosa.nodes.size()), .weight_bytes = constant_bytes(tosa)},
      .cycles_of_node = {},
      .artifacts = {}};
  CARINA_TRY(delegate.report.check, checked_file(tosa, delegate.packaged.blob, options, log));
  if (options.artifacts == Artifacts::kKeep)
    delegate.artifacts.push_back({.suffix = "graph.vgf", .bytes = std::move(file)});
  return delegate;
}

}  // namespace

std::vector<std::string_view> vgf_targets() {
  return {kVgfTarget};
}

Backend vgf_backend() {
  return {.target = std::string(kVgfTarget),
          .accelerator = "Vulkan device",
          .system_config = {},
          .memory_mode = {},
          .arena_memory = {},
          .tosa_spec = std::string(kVgfTosaSpec),
          .lowering = {.name = "VGF",
                       .limits = kPlainTosa.limits,
                       .idioms = kPlainTosa.idioms,
                       .takes_floats = true,
                       .fewest_transposes = true},
          .compile = compile_vgf};
}

}  // namespace carina::backends
