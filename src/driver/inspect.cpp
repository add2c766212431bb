#include "driver/inspect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>
#include <variant>
#include <vector>

#include "base/file.h"
#include "driver/samples.h"
#include "driver/vgf_file.h"
#include "facts/executorch.h"
#include "ir/text.h"
#include "npu/delegate_blob.h"
#include "npu/disassemble.h"
#include "npu/payload.h"
#include "npu/registers.h"
#include "npu/vela_raw.h"
#include "pt2/reader.h"
#include "pte/reader.h"
#include "report/listing.h"
#include "tensor/npy.h"
#include "tosa/flatbuffer.h"
#include "vgf/vgf.h"

namespace carina::driver {

namespace {

constexpr size_t kShownElements = 32;

using report::Listing;

Result<Listing> list_graphs(const ir::Module& module) {
  Listing listing;
  for (const ir::Graph& graph : module.graphs) {
    listing.add("graph", {{"name", graph.name},
                          {"nodes", std::to_string(graph.nodes.size())},
                          {"values", std::to_string(graph.values.size())}});
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
    std::string text = type_text(t.dtype, t.shape);
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

void list_plan(const pte::Plan& plan, Listing& listing) {
  listing.add("method", {{"name", plan.name},
                         {"inputs", fmt::format("{}", fmt::join(plan.inputs, " "))},
                         {"outputs", fmt::format("{}", fmt::join(plan.outputs, " "))},
                         {"planned_bytes", fmt::format("{}", fmt::join(plan.planned_bytes, " "))}});
  for (size_t i = 0; i < plan.values.size(); ++i)
    listing.add("value", {{"index", std::to_string(i)}, {"is", std::visit(ValueText{}, plan.values[i])}});
  for (size_t i = 0; i < plan.delegates.size(); ++i) {
    const pte::Delegate& delegate = plan.delegates[i];
    listing.add(
        "delegate",
        {{"index", std::to_string(i)}, {"backend", delegate.backend}, {"bytes", std::to_string(delegate.blob.size())}});
    for (const auto& [key, value] : delegate.compile_specs) {
      if (value.size() <= 256)
        listing.add("compile_spec", {{"key", key}, {"value", std::string(value.begin(), value.end())}});
    }
  }
  for (size_t i = 0; i < plan.instructions.size(); ++i) {
    listing.add("instruction",
                {{"index", std::to_string(i)}, {"does", std::visit(InstructionText{plan}, plan.instructions[i])}});
  }
}

Result<Listing> list_program(const Buffer& file, const std::string& path) {
  CARINA_TRY(const pte::Program program, pte::read_program(file, path));
  Listing listing;
  size_t constant_bytes = 0;
  for (const Buffer& constant : program.constants) constant_bytes += constant.size();
  listing.add("program", {{"bytes", std::to_string(file.size())},
                          {"constants", std::to_string(program.constants.size() - 1)},
                          {"constant_bytes", std::to_string(constant_bytes)}});
  for (const pte::Plan& plan : program.plans) list_plan(plan, listing);
  return listing;
}

Result<Listing> list_arrays(const Buffer& file, const std::string& path) {
  CARINA_TRY(const NpzContent content, read_npz(file, path));
  Listing listing;
  for (const auto& [name, array] : content.arrays)
    listing.add("array", {{"name", name}, {"type", type_text(array.dtype, array.shape)}});
  for (const std::string& name : content.skipped)
    listing.add("array", {{"name", name}, {"type", "pickled objects, not read"}});
  return listing;
}

Result<Listing> list_file(const std::string& path, const Log& log) {
  CARINA_TRY(const Buffer file, map_file(path));
  if (path.ends_with(".pt2")) {
    CARINA_TRY(ir::Graph graph, pt2::read_pt2(file, path, log));
    return list_graphs({.graphs = {std::move(graph)}});
  }
  if (path.ends_with(".vgf")) return list_vgf(file, path);
  if (path.ends_with(".tosa")) {
    CARINA_TRY(const ir::Module module, tosa::read_tosa(file, path));
    return list_graphs(module);
  }
  if (path.ends_with(".pte")) return list_program(file, path);
  if (path.ends_with(".npz")) return list_arrays(file, path);
  return fail({.where = path,
               .what = "unknown kind of file",
               .expected = ".pt2, .tosa, .vgf, .pte or .npz",
               .fault = Fault::kUsage});
}

Result<std::vector<npu::Command>> commands_of(const npu::Payload& payload, const std::string& path) {
  npu::StreamReader reader(payload.accelerator()->product, payload.stream, path);
  std::vector<npu::Command> commands;
  for (npu::Command command;;) {
    CARINA_TRY(const bool more, reader.next(command));
    if (!more) return commands;
    commands.push_back(command);
  }
}

// Every command stream of a file, with a title.
struct Stream {
  std::string title;
  npu::CompiledNetwork network;
};

Result<std::vector<Stream>> streams_of(const Buffer& file, const std::string& path) {
  std::vector<Stream> streams;
  if (path.ends_with(".npz")) {
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

// The SPIR-V of a VGF file; as JSON a line is a command.
Result<std::string> disassemble_vgf(const Buffer& file, const std::string& path, TextFormat format) {
  CARINA_TRY(std::string text, vgf::disassemble(file, path));
  if (format == TextFormat::kText) return text;
  Listing listing;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) listing.add("line", {{"text", line}});
  return report::to_json(listing);
}

}  // namespace

Result<std::string> inspect(const std::string& path, TextFormat format, const Log& log) {
  CARINA_TRY(const Listing listing, list_file(path, log));
  return format == TextFormat::kJson ? report::to_json(listing) : report::to_text(listing);
}

Result<std::string> disassemble(const std::string& path, TextFormat format) {
  CARINA_TRY(const Buffer file, map_file(path));
  if (path.ends_with(".vgf")) return disassemble_vgf(file, path, format);
  CARINA_TRY(const std::vector<Stream> streams, streams_of(file, path));
  std::string text;
  Listing listing;
  for (const Stream& stream : streams) {
    CARINA_TRY(const npu::Payload payload, npu::parse_payload(stream.network.command_payload, path));
    if (payload.accelerator() == nullptr)
      return fail({.where = path,
                   .what = "the stream is for an NPU that Carina does not know",
                   .got = fmt::format("CONFIG {:#x}", payload.config_word)});
    CARINA_TRY(const std::vector<npu::Command> commands, commands_of(payload, path));
    text += fmt::format("// {} for {}\n", stream.title, payload.accelerator()->name) +
            npu::disassemble(payload.accelerator()->product, commands, stream.network.layers);
    for (const npu::Command& command : commands) {
      const npu::CommandText shown = npu::describe(payload.accelerator()->product, command);
      std::vector<std::pair<std::string, std::string>> fields{{"offset", fmt::format("{:#x}", shown.byte_offset)},
                                                              {"command", std::string(shown.name)}};
      for (const npu::FieldText& field : shown.fields) fields.emplace_back(std::string(field.name), field.text);
      listing.add("command", std::move(fields));
    }
  }
  return format == TextFormat::kJson ? report::to_json(listing) : text;
}

}  // namespace carina::driver
