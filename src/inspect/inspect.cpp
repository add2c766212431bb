#include "inspect/inspect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/io/file.h"
#include "base/text/number.h"
#include "datasets/outputs.h"
#include "datasets/samples.h"
#include "facts/executorch.h"
#include "files/file_kind.h"
#include "frontend/pt2/reader.h"
#include "frontend/tflite/reader.h"
#include "frontend/tosa/flatbuffer.h"
#include "frontend/vgf/vgf.h"
#include "inspect/list_tflite_internal.h"
#include "inspect/program_signature.h"
#include "inspect/vgf_file_internal.h"
#include "ir/text.h"
#include "litert/compiled_graph.h"
#include "npu/delegate_blob.h"
#include "npu/disassemble.h"
#include "npu/payload.h"
#include "npu/registers.h"
#include "npu/vela_raw.h"
#include "pte/bundled.h"
#include "pte/reader.h"
#include "results/listing.h"
#include "runtime/backends/ethos_u.h"
#include "runtime/backends/npu_sizes.h"
#include "runtime/kernels/kernel_stacks.h"
#include "runtime/sizes.h"
#include "tensor/npy.h"

namespace carina::inspect {

namespace {

constexpr size_t kShownElements = 32;

using results::Listing;

template <typename Sized>
int64_t count(const Sized& sized) {
  return static_cast<int64_t>(sized.size());
}

Result<Listing> list_graphs(const ir::Module& module) {
  Listing listing;
  for (const ir::Graph& graph : module.graphs) {
    listing.add("graph", {{"name", graph.name}, {"nodes", count(graph.nodes)}, {"values", count(graph.values)}});
  }
  listing.text = ir::print(module, {.elide_above_elements = kShownElements});
  return listing;
}

// A value of a .pte on one line.
struct ValueText {
  std::string operator()(pte::None) const { return "None"; }
  std::string operator()(int64_t v) const { return std::to_string(v); }
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(double v) const { return fmt::format("{}", v); }
  std::string operator()(const std::string& v) const { return fmt::format("\"{}\"", v); }
  std::string operator()(const pte::TensorSpec& t) const {
    std::string text = datasets::type_text(t.dtype, t.shape);
    if (t.constant != 0) text += fmt::format(" constant {}", t.constant);
    if (t.allocation) text += fmt::format(" at {}:{}", t.allocation->memory_id, t.allocation->offset_bytes);
    return text;
  }
  std::string operator()(const pte::IntList& list) const {
    return fmt::format("ints of values [{}]", fmt::join(list.values, ","));
  }
  std::string operator()(const pte::DoubleList& list) const {
    return fmt::format("[{}]", fmt::join(list.numbers, ","));
  }
  std::string operator()(const pte::BoolList& list) const { return fmt::format("{} bools", list.flags.size()); }
  std::string operator()(const pte::TensorList& list) const {
    return fmt::format("tensors [{}]", fmt::join(list.tensors, ","));
  }
};

// The same for a program that reads the listing: numbers are numbers.
Listing::Value listed(const pte::Value& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return *number;
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  return std::visit(ValueText{}, value);
}

std::vector<int64_t> numbers_of(const auto& values) {
  return {values.begin(), values.end()};
}

struct InstructionText {
  const pte::Plan& plan;
  std::string operator()(const pte::KernelCall& c) const {
    const pte::Operator& op = plan.operators[static_cast<size_t>(c.op)];
    return fmt::format("kernel {}{}{} ({})", op.name, op.overload.empty() ? "" : ".", op.overload,
                       fmt::join(c.arguments, ", "));
  }
  std::string operator()(const pte::DelegateCall& c) const {
    return fmt::format("delegate {} {} ({})", c.delegate, plan.delegates[static_cast<size_t>(c.delegate)].backend,
                       fmt::join(c.arguments, ", "));
  }
  std::string operator()(const pte::MoveCall& c) const { return fmt::format("move {} -> {}", c.from, c.to); }
  std::string operator()(const pte::JumpFalseCall& c) const {
    return fmt::format("if not {} go to {}", c.condition, c.destination);
  }
  std::string operator()(const pte::FreeCall& c) const { return fmt::format("free {}", c.value); }
};

// The arguments of quantize_per_tensor.out and dequantize_per_tensor.out: tensor, scale, zero point ..., result.
struct Scaling {
  double scale = 0;
  int64_t zero_point = 0;
  std::string integers;  // "int8"
};

std::string full_name(const pte::Operator& op) {
  return op.name + (op.overload.empty() ? "" : ".") + op.overload;
}

// How a float input is quantized at once, or a float output comes from integers. None: it is not, or it has integers.
std::optional<Scaling> scaling_of(const pte::Plan& plan, int32_t value, bool is_input) {
  const std::string_view kernel =
      is_input ? "quantized_decomposed::quantize_per_tensor" : "quantized_decomposed::dequantize_per_tensor";
  for (const pte::Instruction& instruction : plan.instructions) {
    const auto* call = std::get_if<pte::KernelCall>(&instruction);
    if (call == nullptr || plan.operators[static_cast<size_t>(call->op)].name != kernel || call->arguments.size() < 4)
      continue;
    const int32_t edge = is_input ? call->arguments.front() : call->arguments.back();
    const int32_t integers = is_input ? call->arguments.back() : call->arguments.front();
    const auto at = [&](int32_t index) -> const pte::Value& { return plan.values[static_cast<size_t>(index)]; };
    const auto* scale = std::get_if<double>(&at(call->arguments[1]));
    const auto* zero_point = std::get_if<int64_t>(&at(call->arguments[2]));
    const auto* tensor = std::get_if<pte::TensorSpec>(&at(integers));
    if (edge != value || scale == nullptr || zero_point == nullptr || tensor == nullptr) continue;
    return Scaling{.scale = *scale, .zero_point = *zero_point, .integers = std::string(name_of(tensor->dtype))};
  }
  return std::nullopt;
}

void list_edges(const pte::Plan& plan, std::string_view kind, const std::vector<int32_t>& edges, Listing& listing) {
  for (size_t i = 0; i < edges.size(); ++i) {
    const pte::Value& value = plan.values[static_cast<size_t>(edges[i])];
    const auto* tensor = std::get_if<pte::TensorSpec>(&value);
    Listing::Properties fields{{"method", plan.name},
                               {"index", static_cast<int64_t>(i)},
                               {"type", tensor == nullptr ? std::visit(ValueText{}, value)
                                                          : datasets::type_text(tensor->dtype, tensor->shape)}};
    if (tensor != nullptr)
      fields.emplace_back("bytes", static_cast<int64_t>(tensor_bytes(tensor->dtype, tensor->shape)));
    if (const auto scaling = scaling_of(plan, edges[i], kind == "input")) {
      fields.emplace_back("quantized_as", scaling->integers);
      fields.emplace_back("scale", scaling->scale);
      fields.emplace_back("zero_point", scaling->zero_point);
    }
    listing.add(std::string(kind), std::move(fields));
  }
}

// What a method takes and gives.
void list_signature(const pte::Plan& plan, Listing& listing) {
  list_edges(plan, "input", plan.inputs, listing);
  list_edges(plan, "output", plan.outputs, listing);
}

// The kernels and delegates that a method calls.
void list_calls(const pte::Plan& plan, Listing& listing) {
  std::map<std::string, int64_t> calls;
  for (const pte::Instruction& instruction : plan.instructions) {
    if (const auto* call = std::get_if<pte::KernelCall>(&instruction))
      ++calls[full_name(plan.operators[static_cast<size_t>(call->op)])];
    if (const auto* call = std::get_if<pte::DelegateCall>(&instruction))
      ++calls["delegate " + std::to_string(call->delegate)];
  }
  for (const auto& [name, count] : calls) listing.add("calls", {{"method", plan.name}, {"of", name}, {"times", count}});
}

void list_delegates(const pte::Plan& plan, Listing& listing) {
  for (size_t i = 0; i < plan.delegates.size(); ++i) {
    const pte::Delegate& delegate = plan.delegates[i];
    listing.add("delegate", {{"method", plan.name},
                             {"index", static_cast<int64_t>(i)},
                             {"backend", delegate.backend},
                             {"bytes", count(delegate.blob)}});
    for (const auto& [key, value] : delegate.compile_specs) {
      if (value.size() <= 256)
        listing.add("compile_spec", {{"key", key}, {"value", std::string(value.begin(), value.end())}});
    }
  }
}

void list_plan(const pte::Plan& plan, Listing& listing) {
  listing.add("method", {{"name", plan.name},
                         {"inputs", numbers_of(plan.inputs)},
                         {"outputs", numbers_of(plan.outputs)},
                         {"planned_bytes", numbers_of(plan.planned_bytes)}});
  for (size_t i = 0; i < plan.values.size(); ++i)
    listing.add("value", {{"index", static_cast<int64_t>(i)}, {"is", listed(plan.values[i])}});
  for (size_t i = 0; i < plan.instructions.size(); ++i) {
    listing.add("instruction", {{"index", static_cast<int64_t>(i)},
                                {"does", std::visit(InstructionText{plan}, plan.instructions[i])}});
  }
}

void list_values(std::string_view kind, const std::vector<pte::BundledValue>& values, Listing& listing) {
  for (const pte::BundledValue& value : values) {
    const auto* tensor = std::get_if<pte::BundledTensor>(&value);
    listing.add(std::string(kind), {{"type", tensor == nullptr ? std::string("number")
                                                               : datasets::type_text(tensor->dtype, tensor->shape)}});
  }
}

// The memory that each method needs on a Cortex-M. Nothing is listed for delegates whose needs are not known.
void list_memory(const Buffer& file, Listing& listing) {
  runtime::Program program;
  if (program.load(file.bytes()) != runtime::Error::kOk) return;
  for (size_t method = 0; method < program.methods(); ++method) {
    runtime::MethodSizes sizes;
    const runtime::Sizers sizers{.delegate = runtime::npu_delegate_sizes,
                                 .kernel_stack = runtime::portable_kernel_stack,
                                 .place_of = runtime::npu_argument_place};
    if (runtime::method_sizes(program, method, sizers, sizes, runtime::kCortexMTypes) != runtime::Error::kOk) continue;
    listing.add("memory", {{"method", std::string(program.method_name(method))},
                           {"cpu", std::string("cortex-m")},
                           {"method_arena_bytes", static_cast<int64_t>(sizes.method_bytes)},
                           {"planned_bytes", static_cast<int64_t>(sizes.planned_bytes)},
                           {"scratch_bytes", static_cast<int64_t>(sizes.scratch_bytes)},
                           {"calls_with_more_scratch", static_cast<int64_t>(sizes.calls_with_more_scratch)},
                           {"kernel_stack_bytes", static_cast<int64_t>(sizes.kernel_stack_bytes)}});
  }
}

Result<void> add_program(const Buffer& file, const std::string& path, Listing& listing) {
  CARINA_TRY(const pte::Program program, pte::read_program(file, path));
  int64_t constant_bytes = 0;
  for (const Buffer& constant : program.constants) constant_bytes += count(constant);
  const auto signature = signature_of(file, path);  // a damaged delegate has no target, and is listed all the same
  listing.add("program", {{"bytes", count(file)},
                          {"target", signature && !signature->target.empty() ? signature->target : "cpu"},
                          {"constants", count(program.constants) - 1},
                          {"constant_bytes", constant_bytes}});
  for (const pte::Plan& plan : program.plans) list_signature(plan, listing);
  list_memory(file, listing);
  for (const pte::Plan& plan : program.plans) list_calls(plan, listing);
  for (const pte::Plan& plan : program.plans) list_delegates(plan, listing);
  for (const pte::Plan& plan : program.plans) list_plan(plan, listing);
  return {};
}

Result<Listing> list_program(const Buffer& file, const std::string& path) {
  Listing listing;
  CARINA_CHECKED(add_program(file, path, listing));
  return listing;
}

Result<Listing> list_bundle(const Buffer& file, const std::string& path) {
  CARINA_TRY(const pte::BundledProgram bundle, pte::read_bundled_program(file, path));
  Listing listing;
  for (const pte::TestSuite& suite : bundle.suites) {
    for (size_t i = 0; i < suite.cases.size(); ++i) {
      listing.add("test_case", {{"method", suite.method}, {"index", static_cast<int64_t>(i)}});
      list_values("input", suite.cases[i].inputs, listing);
      list_values("expected_output", suite.cases[i].expected_outputs, listing);
    }
  }
  CARINA_CHECKED(add_program(bundle.program, path, listing));
  return listing;
}

Result<Listing> list_arrays(const Buffer& file, const std::string& path) {
  CARINA_TRY(const NpzContent content, read_npz(file, path));
  Listing listing;
  for (const auto& [name, array] : content.arrays)
    listing.add("array", {{"name", name}, {"type", datasets::type_text(array.dtype, array.shape)}});
  for (const std::string& name : content.skipped)
    listing.add("array", {{"name", name}, {"type", "pickled objects, not read"}});
  return listing;
}

Result<Listing> list_array(const Buffer& file, const std::string& path) {
  CARINA_TRY(const Tensor array, read_npy(file, path));
  Listing listing;
  listing.add("array", {{"type", datasets::type_text(array.dtype, array.shape)}, {"values", datasets::preview(array)}});
  return listing;
}

// The kind of a file whose first bytes are unknown. It is chosen by the file's name, and the reader of that kind
// reports the error.
files::FileKind kind_by_name(const std::string& path) {
  constexpr std::array<std::pair<std::string_view, files::FileKind>, 7> kEndings{{{".pt2", files::FileKind::kPt2},
                                                                                  {".vgf", files::FileKind::kVgf},
                                                                                  {".tosa", files::FileKind::kTosa},
                                                                                  {".tflite", files::FileKind::kTflite},
                                                                                  {".pte", files::FileKind::kPte},
                                                                                  {".npz", files::FileKind::kNpz},
                                                                                  {".npy", files::FileKind::kNpy}}};
  for (const auto& [ending, kind] : kEndings) {
    if (path.ends_with(ending)) return kind;
  }
  return files::FileKind::kUnknown;
}

files::FileKind kind_of_named(const Buffer& file, const std::string& path) {
  const files::FileKind kind = files::kind_of(file, path);
  return kind == files::FileKind::kUnknown ? kind_by_name(path) : kind;
}

Result<Listing> list_file(const std::string& path, const Log& log) {
  CARINA_TRY(const Buffer file, map_file(path));
  const files::FileKind kind = kind_of_named(file, path);
  if (kind == files::FileKind::kPt2) {
    CARINA_TRY(ir::Graph graph, pt2::read_pt2(file, path, log));
    return list_graphs({.graphs = {std::move(graph)}});
  }
  if (kind == files::FileKind::kTosa) {
    CARINA_TRY(const ir::Module module, tosa::read_tosa(file, path));
    return list_graphs(module);
  }
  if (kind == files::FileKind::kVgf) return list_vgf(file, path);
  if (kind == files::FileKind::kTflite) return list_tflite(file, path);
  if (kind == files::FileKind::kPte) return list_program(file, path);
  if (kind == files::FileKind::kBundledProgram) return list_bundle(file, path);
  if (kind == files::FileKind::kNpz || kind == files::FileKind::kVelaRaw) return list_arrays(file, path);
  if (kind == files::FileKind::kNpy) return list_array(file, path);
  return files::wrong_kind(path, kind, "a .pt2, .tosa, .vgf, .tflite, .pte, .bpte, .npz or .npy");
}

// The value of a field: a number if its text is one. No name of an enumeration is a number.
Listing::Value value_of(const npu::FieldText& field) {
  if (const auto number = number_in<int64_t>(field.text)) return *number;
  return field.text;
}

// Every command stream of a file, with a title.
struct Stream {
  std::string title;
  npu::CompiledNetwork network;
};

// Those of the custom operators of a LiteRT file.
Result<std::vector<Stream>> streams_of_tflite(const Buffer& file, const std::string& path) {
  CARINA_TRY(const tflite::Model model, tflite::read_model(file, path));
  CARINA_TRY(const litert::CompiledGraph compiled, litert::read_compiled(model, path));
  std::vector<Stream> streams;
  for (const litert::NpuOperator& stream : compiled.streams)
    streams.push_back({.title = fmt::format("{}: operator {}", path, stream.index),
                       .network = litert::network_of(model.subgraphs.front(), compiled, stream).network});
  if (streams.empty()) return fail({.where = path, .what = "the file has no custom operator ethos-u"});
  return streams;
}

Result<std::vector<Stream>> streams_of(const Buffer& file, const std::string& path) {
  std::vector<Stream> streams;
  if (kind_of_named(file, path) == files::FileKind::kTflite) return streams_of_tflite(file, path);
  if (kind_of_named(file, path) != files::FileKind::kPte) {
    CARINA_TRY(npu::CompiledNetwork network, npu::read_vela_raw(file, path));
    streams.push_back({.title = path, .network = std::move(network)});
    return streams;
  }
  CARINA_TRY(const pte::Program program, pte::read_program(file, path));
  for (const pte::Plan& plan : program.plans) {
    for (size_t i = 0; i < plan.delegates.size(); ++i) {
      if (!is_ethos_u(plan.delegates[i].backend)) continue;
      CARINA_TRY(npu::CompiledNetwork network,
                 npu::read_delegate_blob(plan.delegates[i].blob, path, npu::BlobAlignment::kAny, {}));
      streams.push_back(
          {.title = fmt::format("{}: method {}, delegate {}", path, plan.name, i), .network = std::move(network)});
    }
  }
  if (streams.empty()) return fail({.where = path, .what = "the program has no Ethos-U delegate"});
  return streams;
}

// Disassembles the SPIR-V of a VGF file; each line counts as a command.
Result<Disassembly> disassemble_vgf(const Buffer& file, const std::string& path) {
  Disassembly made;
  CARINA_TRY(made.text, vgf::disassemble(file, path));
  std::istringstream lines(made.text);
  for (std::string line; std::getline(lines, line);) made.listing.add("line", {{"text", line}});
  return made;
}

}  // namespace

Result<Listing> inspect(const std::string& path, const Log& log) {
  return list_file(path, log);
}

Result<Disassembly> disassemble(const std::string& path) {
  CARINA_TRY(const Buffer file, files::open_file(path, {files::FileKind::kPte, files::FileKind::kVelaRaw,
                                                        files::FileKind::kVgf, files::FileKind::kTflite}));
  if (kind_of_named(file, path) == files::FileKind::kVgf) return disassemble_vgf(file, path);
  CARINA_TRY(const std::vector<Stream> streams, streams_of(file, path));
  Disassembly made;
  for (const Stream& stream : streams) {
    CARINA_TRY(const npu::Payload payload, npu::parse_payload(stream.network.command_payload, path));
    if (payload.accelerator() == nullptr)
      return fail({.where = path,
                   .what = "the stream is for an NPU that Carina does not know",
                   .got = fmt::format("CONFIG {:#x}", payload.config_word)});
    CARINA_TRY(const std::vector<npu::Command> commands,
               npu::read_commands(payload.accelerator()->product, payload.stream, path));
    made.text += fmt::format("// {} for {}\n", stream.title, payload.accelerator()->name) +
                 npu::disassemble(payload.accelerator()->product, commands, stream.network.layers);
    for (const npu::Command& command : commands) {
      const npu::CommandText shown = npu::describe(payload.accelerator()->product, command);
      Listing::Properties fields{{"offset", static_cast<int64_t>(shown.byte_offset)},
                                 {"command", std::string(shown.name)}};
      for (const npu::FieldText& field : shown.fields) fields.emplace_back(std::string(field.name), value_of(field));
      made.listing.add("command", std::move(fields));
    }
  }
  return made;
}

}  // namespace carina::inspect
