#include "files/tflite_file.h"

#include <optional>
#include <utility>
#include <vector>

#include "files/sound_module_internal.h"
#include "frontend/tflite/reader.h"
#include "frontend/tflite/shapes.h"
#include "frontend/tflite/signatures.h"
#include "frontend/tflite/tflite.h"

namespace carina::files {

Result<TfliteGraph> sound_tflite(const Buffer& file, const std::string& where, const std::string& level,
                                 const TfliteReading& how) {
  CARINA_TRY(tflite::Model model, tflite::read_model(file, where));
  if (!how.signature.empty()) CARINA_CHECKED(tflite::choose_signature(model, how.signature, where));
  CARINA_CHECKED(tflite::set_shapes(model, how.shapes));
  model.subgraphs.front().rounding = how.rounding;
  TfliteGraph out;
  if (how.borders == FloatBorders::kCut) out.borders = tflite::cut_float_borders(model);
  const tflite::Subgraph& graph = model.subgraphs.front();
  for (const tflite::Operator& op : graph.operators) {
    const bool is_named = !op.outputs.empty();
    out.operators.push_back(
        {.name = is_named ? graph.tensors[static_cast<size_t>(op.outputs.front())].name : op.name, .op = op.name});
  }
  CARINA_TRY(out.module, sound_model(model, where, level));
  return out;
}

Result<ir::Module> sound_model(const tflite::Model& model, const std::string& where, const std::string& level) {
  CARINA_TRY(ir::Module module, tflite::to_tosa(model, where));
  return sound_model(std::move(module), where, level);
}

Result<ir::Module> sound_model(ir::Module module, const std::string& where, const std::string& level) {
  std::vector<ir::NodeId> origins;
  for (const ir::Node& node : module.main().nodes) origins.push_back(node.origin);
  auto sound = sound_module(std::move(module), where, level);
  if (sound) return sound;
  for (Diagnostic& error : sound.error()) {
    if (!error.node) continue;
    const ir::NodeId origin = *error.node < origins.size() ? origins[*error.node] : ir::NodeId();
    error.node = origin.valid() ? std::optional(origin.index()) : std::nullopt;
  }
  return sound;
}

}  // namespace carina::files
