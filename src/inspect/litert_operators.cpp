#include "inspect/litert_operators.h"

#include <fmt/format.h>

#include <map>
#include <string_view>

#include "frontend/tflite/kernels/kernels.h"
#include "frontend/tflite/to_tosa/rules.h"

namespace carina::inspect {

std::string litert_operators_page() {
  struct Places {
    bool npu = false;
    bool cpu = false;
  };
  std::map<std::string_view, Places> operators;
  for (const std::string_view name : tflite::operators_with_rules()) operators[name].npu = true;
  for (const std::string_view name : tflite::operators_with_kernels()) operators[name].cpu = true;
  for (const std::string_view name : {"ASSIGN_VARIABLE", "CALL_ONCE", "READ_VARIABLE", "VAR_HANDLE"})
    operators[name].cpu = true;  // the state of a program, which has no kernels
  // These run on the NPU in a .pte only: their states are variable tensors, which the CPU keeps.
  for (const std::string_view name : {"SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM"}) operators[name].npu = false;
  std::string page =
      "# Supported operators\n\n"
      "Operators of LiteRT files and where they run. Types and forms that an NPU does not support stay on the CPU;\n"
      "`carina explain MODEL.tflite --target NPU` gives the reason for each operator of a model. Operators that are "
      "not\n"
      "listed are left as they are.\n\n"
      "| operator | NPU | CPU, evaluated by `carina run` |\n"
      "|---|---|---|\n";
  for (const auto& [name, places] : operators)
    page += fmt::format("| {} | {} | {} |\n", name, places.npu ? "yes" : "no", places.cpu ? "yes" : "no");
  return page;
}

}  // namespace carina::inspect
