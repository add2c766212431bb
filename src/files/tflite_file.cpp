#include "files/tflite_file.h"

#include "files/sound_module_internal.h"
#include "frontend/tflite/reader.h"
#include "frontend/tflite/tflite.h"

namespace carina::files {

Result<TfliteGraph> sound_tflite(const Buffer& file, const std::string& where, const std::string& level) {
  CARINA_TRY(tflite::Model model, tflite::read_model(file, where));
  TfliteGraph out{.module = {}, .borders = tflite::cut_float_borders(model)};
  CARINA_TRY(ir::Module module, tflite::to_tosa(model, where));
  CARINA_TRY(out.module, sound_module(std::move(module), where, level));
  return out;
}

}  // namespace carina::files
