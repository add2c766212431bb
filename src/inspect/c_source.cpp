#include "inspect/c_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "inspect/program_signature.h"
#include "runtime/backends/ethos_u.h"
#include "runtime/backends/npu_sizes.h"
#include "runtime/kernels/kernel_stacks.h"
#include "runtime/sizes.h"

namespace carina::inspect {

namespace {

constexpr size_t kBytesPerLine = 16;

size_t rounded(size_t bytes) {
  return (bytes + 15) / 16 * 16;
}

// The types of C for those of tensors. bool, uint8 and types that C lacks are bytes.
constexpr std::array<std::pair<DType, std::string_view>, 9> kCTypes{{{DType::kFp32, "float"},
                                                                     {DType::kFp64, "double"},
                                                                     {DType::kInt8, "int8_t"},
                                                                     {DType::kInt16, "int16_t"},
                                                                     {DType::kInt32, "int32_t"},
                                                                     {DType::kInt64, "int64_t"},
                                                                     {DType::kFp16, "uint16_t"},
                                                                     {DType::kBf16, "uint16_t"},
                                                                     {DType::kUInt16, "uint16_t"}}};

std::string_view c_type_of(DType dtype) {
  const auto* row = std::ranges::find(kCTypes, dtype, [](const auto& pair) { return pair.first; });
  return row == kCTypes.end() ? "uint8_t" : row->second;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

// An input or an output as C sees it.
struct Port {
  std::string name;  // as in the model
  std::string_view type;
  int64_t elements = 0;
  size_t bytes = 0;
  std::string dims;
  std::optional<double> scale;
  int64_t zero_point = 0;
  bool is_number = false;
};

std::vector<Port> ports_of(std::span<const datasets::InputType> types, std::span<const results::PortReport> reported) {
  std::vector<Port> ports;
  for (size_t n = 0; n < types.size(); ++n) {
    const datasets::InputType& type = types[n];
    Port port{.name = type.name,
              .type = c_type_of(type.dtype),
              .elements = type.shape.elements(),
              .bytes = tensor_bytes(type.dtype, type.shape),
              .dims = to_string(type.shape),
              .scale = {},
              .is_number = type.number.has_value()};
    if (reported.size() == types.size()) {
      port.name = reported[n].name;
      port.scale = reported[n].scale;
      port.zero_point = reported[n].zero_point;
    }
    ports.push_back(std::move(port));
  }
  return ports;
}

// The constants of a port: its type, sizes, and the parameters of raw integers.
std::string defines_of(const Port& port, const std::string& prefix) {
  std::string text = fmt::format(
      "#define {0}_NAME \"{1}\"\n#define {0}_TYPE {2} /* {3} */\n#define {0}_ELEMENTS {4}\n#define {0}_BYTES {5}\n",
      prefix, port.name, port.type, port.dims, port.elements, port.bytes);
  if (port.scale)
    text += fmt::format(
        "/* real = (integer - {0}_ZERO_POINT) * {0}_SCALE */\n#define {0}_SCALE {1:.9g}f\n#define {0}_ZERO_POINT {2}\n",
        prefix, *port.scale, port.zero_point);
  return text;
}

std::string array_text(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve(bytes.size() * 6);
  for (size_t at = 0; at < bytes.size(); ++at)
    fmt::format_to(std::back_inserter(text), "{}0x{:02x},", at % kBytesPerLine == 0 ? "\n  " : " ",
                   std::to_integer<unsigned>(bytes[at]));
  return text + "\n";
}

Result<runtime::MethodSizes> sizes_of(const Buffer& file, const std::string& name) {
  runtime::Program program;
  runtime::MethodSizes sizes;
  const runtime::Sizers sizers{.delegate = runtime::npu_delegate_sizes,
                               .kernel_stack = runtime::portable_kernel_stack,
                               .place_of = runtime::npu_argument_place};
  if (program.load(file.bytes()) == runtime::Error::kOk &&
      runtime::method_sizes(program, 0, sizers, sizes, runtime::kCortexMTypes) == runtime::Error::kOk)
    return sizes;
  return fail({.where = name,
               .what = "the memory that the program needs on a Cortex-M is not known",
               .expected = "a program without delegates other than those of Ethos-U",
               .hint = "write a .pte"});
}

// The class for Carina's runtime: memory of the sizes above, and one call per inference.
std::string class_text(const std::string& name, const std::vector<Port>& inputs, const std::vector<Port>& outputs) {
  std::string parameters, given, taken;
  for (size_t n = 0; n < inputs.size(); ++n) {
    if (inputs[n].is_number) continue;
    parameters += fmt::format("{}const {}* input_{}", parameters.empty() ? "" : ", ", inputs[n].type, n);
    given += fmt::format(
        "    if (auto error = set_input({0}, input_{0}, {1}_INPUT_{0}_BYTES); error != Error::kOk) return error;\n", n,
        upper(name));
  }
  for (size_t n = 0; n < outputs.size(); ++n) {
    parameters += fmt::format("{}{}* output_{}", parameters.empty() ? "" : ", ", outputs[n].type, n);
    taken += fmt::format(
        "    if (auto error = get_output({0}, output_{0}, {1}_OUTPUT_{0}_BYTES); error != Error::kOk) return error;\n",
        n, upper(name));
  }
  return fmt::format(R"(
#if defined(__cplusplus) && __has_include("runtime/model.h")
#include "runtime/model.h"
/* The program for Carina's runtime (docs/guide/c-array.md):
     alignas(16) static std::byte memory[{1}_MEMORY_BYTES];
     static {0}_model model;
     model.load(memory);            once; with the driver of an NPU: model.load(memory, backends)
     model.run(input, output);      for each inference */
class {0}_model : public carina::runtime::Model {{
 public:
  using Error = carina::runtime::Error;
  Error load(std::span<std::byte> memory, std::span<carina::runtime::Backend* const> backends = {{}}) {{
    return load_program({0}_program, {{{1}_PROGRAM_BYTES, {1}_SCRATCH_BYTES}}, memory, backends);
  }}
  Error run({2}) {{
{3}    if (auto error = execute(); error != Error::kOk) return error;
{4}    return Error::kOk;
  }}
}};
#endif
)",
                     name, upper(name), parameters, given, taken);
}

}  // namespace

std::string c_identifier(const std::string& file_name) {
  std::string name;
  for (const char c : file_name) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  return name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0 ? "model_" + name : name;
}

Result<CSource> c_source(const Buffer& program, const std::string& name, std::span<const results::PortReport> inputs,
                         std::span<const results::PortReport> outputs, CFiles files) {
  CARINA_TRY(const ProgramSignature signature, signature_of(program, name));
  CARINA_TRY(const runtime::MethodSizes sizes, sizes_of(program, name));
  const std::vector<Port> in = ports_of(signature.inputs, inputs), out = ports_of(signature.outputs, outputs);
  const std::string big = upper(name);
  const bool is_whole = files == CFiles::kHeaderOnly;
  std::string header = fmt::format(
      "/* Made by `carina compile`: do not edit. A program for {1}, which an ExecuTorch runtime runs. */\n"
      "#ifndef {0}_H\n#define {0}_H\n#include <stddef.h>\n#include <stdint.h>\n\n"
      "#define {0}_TARGET \"{2}\"\n#define {0}_PROGRAM_BYTES {3}\n"
      "/* Memory of Carina's runtime on a Cortex-M: tables, tensors between calls, scratch of delegates{4} */\n"
      "#define {0}_METHOD_BYTES {5}\n#define {0}_PLANNED_BYTES {6}\n#define {0}_SCRATCH_BYTES {7}\n"
      "#define {0}_KERNEL_STACK_BYTES {8}\n"
      "#define {0}_MEMORY_BYTES {9} /* all of it, but the stack */\n",
      big, signature.target.empty() ? "a Cortex-M" : signature.target, signature.target, program.size(),
      sizes.calls_with_more_scratch > 0 ? "; kernels take more scratch, by their inputs" : "", sizes.method_bytes,
      sizes.planned_bytes, sizes.scratch_bytes, sizes.kernel_stack_bytes,
      rounded(sizes.method_bytes) + sizes.planned_bytes + rounded(sizes.scratch_bytes));
  header += fmt::format("\n#define {}_INPUTS {}\n", big, in.size());
  for (size_t n = 0; n < in.size(); ++n) header += defines_of(in[n], fmt::format("{}_INPUT_{}", big, n));
  header += fmt::format("\n#define {}_OUTPUTS {}\n", big, out.size());
  for (size_t n = 0; n < out.size(); ++n) header += defines_of(out[n], fmt::format("{}_OUTPUT_{}", big, n));
  const std::string declared = fmt::format("const uint8_t {}_program[{}]", name, program.size());
  const std::string array =
      fmt::format("{} __attribute__((aligned(16))) = {{{}}};\n", declared, array_text(program.bytes()));
  header += "\n/* The .pte, aligned as runtimes want it. It may stay in flash. */\n";
  header += is_whole ? "static " + array
                     : "#ifdef __cplusplus\nextern \"C\" {\n#endif\nextern " + declared +
                           ";\n#ifdef __cplusplus\n}\n#endif\n";
  header += class_text(name, in, out) + fmt::format("#endif /* {}_H */\n", big);
  return CSource{.header = std::move(header), .source = is_whole ? "" : array};
}

}  // namespace carina::inspect
