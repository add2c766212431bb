#include "driver/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/file.h"
#include "driver/estimate.h"
#include "driver/layer_names.h"
#include "driver/outputs.h"
#include "driver/samples.h"
#include "facts/executorch.h"
#include "lower/core_aten.h"
#include "lower/lower.h"
#include "lower/prepare.h"
#include "npu/delegate_blob.h"
#include "npu/vela_raw.h"
#include "partition/partition.h"
#include "plan/compile.h"
#include "pt2/reader.h"
#include "pte/emit.h"
#include "pte/writer.h"
#include "quantize/import.h"
#include "quantize/ptq.h"
#include "tosa/flatbuffer.h"

namespace carina::driver {

namespace {

bool is_tosa(const std::string& path) {
  return path.ends_with(".tosa");
}

bool is_quantize_node(const ir::Node& node) {
  return node.op.is_aten() && node.op.name().starts_with("quantized_decomposed.quantize_per_");
}

struct Prepared {
  ir::Graph graph;
  std::string quantization;  // for the report
};

// How the graph gets its integers: from the model, by calibration, or not at all.
Result<std::string> quantize_graph(ir::Graph& graph, const CompileRequest& request, const Log& log) {
  if (std::ranges::any_of(graph.nodes, is_quantize_node)) {
    if (!request.calibration.empty() || request.quantize == QuantizeMode::kInt8) {
      log.note({.where = request.model,
                .what = "the model is quantized already; the calibration data is not used",
                .severity = Severity::kNote});
    }
    CARINA_CHECKED(quantize::fold_imported(graph, log));
    return "imported from the model";
  }
  if (request.quantize == QuantizeMode::kNone) return "none";
  if (request.calibration.empty()) {
    if (request.quantize == QuantizeMode::kInt8) {
      return fail({.where = request.model,
                   .what = "int8 quantization needs calibration data",
                   .hint = "give --calibrate FILE.npz with real inputs of the model",
                   .fault = Fault::kUsage});
    }
    return "none";
  }
  const std::vector<InputType> inputs = input_types(graph);
  CARINA_TRY(const std::vector<Sample> samples, load_samples(request.calibration, inputs));
  quantize::PtqOptions options;
  options.threads = request.threads;
  CARINA_CHECKED(quantize::quantize(graph, samples, options, log));
  return fmt::format("int8, calibrated on {} sample{}", samples.size(), samples.size() == 1 ? "" : "s");
}

Result<Prepared> prepare_model(const CompileRequest& request, const Log& log) {
  CARINA_TRY(const Buffer file, map_file(request.model));
  CARINA_TRY(ir::Graph graph, pt2::read_pt2(file, request.model, log));
  CARINA_CHECKED(lower::prepare(graph, log));
  CARINA_TRY(std::string quantization, quantize_graph(graph, request, log));
  return Prepared{.graph = std::move(graph), .quantization = std::move(quantization)};
}

partition::NpuFamily family_of(npu::Product product) {
  switch (product) {
    case npu::Product::kU55:
      return partition::NpuFamily::kU55;
    case npu::Product::kU65:
      return partition::NpuFamily::kU65;
    case npu::Product::kU85:
      return partition::NpuFamily::kU85;
  }
  CARINA_UNREACHABLE("product", product);
}

// The TOSA subset that a delegate keeps to, as the Arm backend names it.
std::string_view tosa_spec(npu::Product product) {
  return product == npu::Product::kU85 ? "TOSA-1.0+INT+int16+int4+cf" : "TOSA-1.0+INT+int16+int4+u55";
}

std::vector<uint8_t> bytes_of(std::string_view text) {
  return {text.begin(), text.end()};
}

Result<pte::Delegate> delegate_of(const npu::CompiledNetwork& network, const plan::Target& target) {
  CARINA_TRY(const npu::DelegateBlob blob, npu::write_delegate_blob(network));
  return pte::Delegate{
      .backend = std::string(kEthosUBackendId),
      .blob = Buffer::copy_of(blob.bytes),
      .compile_specs = {
          {"tosa_spec", bytes_of(tosa_spec(target.accelerator.product))},
          {"compile_flags", bytes_of(fmt::format("--accelerator-config={} --system-config={} --memory-mode={}",
                                                 target.accelerator.name, target.system.name, target.memory.name))},
          {"output_format", bytes_of("vela")},
          {"target", bytes_of(target.accelerator.name)},
          {std::string(kLayerNamesSpec), layer_names_text(network.layers)}}};
}

// One delegate on its way: its TOSA graph, and what the NPU compiler made of it.
struct NpuPart {
  ir::Graph tosa;
  npu::CompiledNetwork network;
  simulate::Report timing;
};

Result<NpuPart> compile_part(ir::Graph tosa, const plan::Target& target, const CompileRequest& request,
                             const Log& log) {
  plan::Options options;
  options.threads = request.threads;
  options.arena_limit_bytes = request.sram_budget_bytes;
  CARINA_TRY(npu::CompiledNetwork network, plan::compile(tosa, target, options, log));
  CARINA_TRY(simulate::Report timing, time_network(network, target));
  return NpuPart{.tosa = std::move(tosa), .network = std::move(network), .timing = std::move(timing)};
}

Result<void> dump(const NpuPart& part, size_t index, const plan::Target& target, const std::string& folder) {
  CARINA_CHECKED(make_folder(folder));
  ir::Graph graph = part.tosa;
  graph.name = "main";  // the name by which the reference model's program looks for it
  CARINA_TRY(const auto tosa, tosa::write_tosa({.graphs = {std::move(graph)}}));
  CARINA_TRY(const auto npz, npu::write_vela_raw(part.network));
  CARINA_CHECKED(
      write_file(fmt::format("{}/output_tag{}_{}.tosa", folder, index, tosa_spec(target.accelerator.product)), tosa));
  return write_file(fmt::format("{}/output_tag{}_vela.npz", folder, index), npz);
}

report::DelegateReport delegate_report(const NpuPart& part) {
  return {.tosa_operators = static_cast<int64_t>(part.tosa.nodes.size()),
          .npu_operations = static_cast<int64_t>(part.timing.operations.size()),
          .command_stream_bytes = static_cast<int64_t>(part.network.command_payload.size()),
          .weight_bytes = static_cast<int64_t>(part.network.weights.size()),
          .scratch_bytes = part.network.scratch_bytes,
          .macs = static_cast<int64_t>(part.timing.macs),
          .cycles = static_cast<int64_t>(part.timing.cycles.total)};
}

// A .tosa as a program: one call of one delegate, its inputs and outputs as they are.
partition::Partitioned whole_graph_delegated(const ir::Graph& tosa) {
  partition::Partitioned result;
  ir::Node call{.op = AtenOp::executorch_call_delegate_default,
                .name = "delegate_0",
                .inputs = {},
                .outputs = {},
                .attributes = {{"delegate", int64_t{0}}},
                .source = {}};
  result.program.name = "forward";
  for (const ir::ValueId input : tosa.inputs)
    call.inputs.push_back(result.program.add_value(tosa[input].name, tosa[input].dtype, tosa[input].shape));
  for (const ir::ValueId output : tosa.outputs)
    call.outputs.push_back(result.program.add_value(tosa[output].name, tosa[output].dtype, tosa[output].shape));
  result.program.inputs = call.inputs;
  result.program.outputs = call.outputs;
  result.program.add_node(std::move(call));
  for (size_t n = 0; n < tosa.nodes.size(); ++n) {
    const ir::Node& node = tosa.nodes[n];
    result.decisions.push_back({.node = ir::NodeId(n),
                                .name = node.name,
                                .op = std::string(node.op.name()),
                                .source = node.source,
                                .runs_on_npu = true,
                                .delegate = 0,
                                .reason = "TOSA input",
                                .hint = {}});
  }
  return result;
}

// Nodes that the NPU's compiler would not take, with its reasons.
using Refusals = std::map<std::string, std::string>;

struct Split {
  partition::Partitioned partitioned;
  std::vector<ir::Graph> tosa;  // one per delegate
  std::string quantization;
};

Result<Split> split_tosa(const CompileRequest& request) {
  CARINA_TRY(ir::Module module, read_sound_tosa(request.model));
  if (module.graphs.size() != 1)
    return fail({.where = request.model,
                 .what = "control flow does not run on the NPU",
                 .got = fmt::format("{} regions", module.graphs.size())});
  Split split{.partitioned = whole_graph_delegated(module.main()), .tosa = {}, .quantization = "as in the TOSA file"};
  split.tosa.push_back(std::move(module.main()));
  return split;
}

Result<Split> split_prepared(const Prepared& prepared, const CompileRequest& request, const plan::Target& target,
                             const Refusals& refused, const Log& log) {
  partition::PartitionOptions options{.family = family_of(target.accelerator.product),
                                      .target = std::string(target.accelerator.name),
                                      .cpu_nodes = request.cpu_nodes,
                                      .cpu_ops = {},
                                      .delegate_nothing = request.delegates == DelegateMode::kNothing};
  for (const auto& [node, reason] : refused) options.cpu_nodes.push_back(node);
  CARINA_TRY(partition::Partitioned partitioned, partition::partition(prepared.graph, options, log));
  for (partition::Decision& decision : partitioned.decisions) {
    const auto reason = refused.find(decision.name);
    if (reason != refused.end()) decision.reason = reason->second;
  }
  CARINA_CHECKED(lower::to_core_aten(partitioned.program, log));
  Split split{.partitioned = std::move(partitioned), .tosa = {}, .quantization = prepared.quantization};
  for (const ir::Graph& delegate : split.partitioned.delegates) {
    CARINA_TRY(ir::Graph tosa, lower::to_tosa(delegate, log));
    split.tosa.push_back(std::move(tosa));
  }
  return split;
}

// The parts of a split, compiled; or the nodes that the NPU's compiler refused.
Result<std::vector<NpuPart>> compile_parts(const Split& split, const plan::Target& target,
                                           const CompileRequest& request, const Log& log) {
  std::vector<NpuPart> parts;
  for (size_t i = 0; i < split.tosa.size(); ++i) {
    log.progress("compile for the NPU", i, split.tosa.size());
    CARINA_TRY(NpuPart part, compile_part(split.tosa[i], target, request, log));
    parts.push_back(std::move(part));
  }
  return parts;
}

// The nodes of the user's graph that errors are about: their place is "name" or "name (source)". Nothing when an error
// is about something else.
std::optional<Refusals> refusals_of(const Diagnostics& errors, const ir::Graph& graph) {
  Refusals refused;
  for (const Diagnostic& error : errors) {
    const std::string name = error.where.substr(0, error.where.find(" ("));
    if (error.fault != Fault::kInput || std::ranges::find(graph.nodes, name, &ir::Node::name) == graph.nodes.end())
      return std::nullopt;
    refused.emplace(name, error.what);
  }
  return refused;
}

struct Parts {
  Split split;
  std::vector<NpuPart> parts;
};

Result<Parts> compile_pt2(const CompileRequest& request, const plan::Target& target, const Log& log) {
  CARINA_TRY(const Prepared prepared, prepare_model(request, log));
  Refusals refused;
  for (;;) {
    CARINA_TRY(Split split, split_prepared(prepared, request, target, refused, log));
    auto parts = compile_parts(split, target, request, log);
    if (parts) return Parts{.split = std::move(split), .parts = *std::move(parts)};
    auto more = refusals_of(parts.error(), prepared.graph);
    const size_t before = refused.size();
    if (more) refused.merge(*more);
    if (refused.size() == before) return std::unexpected(std::move(parts).error());
  }
}

Result<Parts> compile_tosa(const CompileRequest& request, const plan::Target& target, const Log& log) {
  CARINA_TRY(Split split, split_tosa(request));
  CARINA_TRY(std::vector<NpuPart> parts, compile_parts(split, target, request, log));
  return Parts{.split = std::move(split), .parts = std::move(parts)};
}

std::vector<report::NodeReport> node_reports(const partition::Partitioned& partitioned,
                                             const std::map<std::string, int64_t>& cycles) {
  std::vector<report::NodeReport> reports;
  for (const partition::Decision& decision : partitioned.decisions) {
    const auto cost = decision.runs_on_npu ? cycles.find(decision.name) : cycles.end();
    reports.push_back({.name = decision.name,
                       .op = decision.op,
                       .source = decision.source,
                       .runs_on_npu = decision.runs_on_npu,
                       .reason = decision.reason,
                       .hint = decision.hint,
                       .cycles = cost == cycles.end() ? 0 : cost->second});
  }
  return reports;
}

}  // namespace

Result<Compiled> compile(const CompileRequest& request, const Log& log) {
  CARINA_TRY(const plan::Target target, find_target(request.target));
  CARINA_TRY(const Parts compiled_parts,
             is_tosa(request.model) ? compile_tosa(request, target, log) : compile_pt2(request, target, log));
  const auto& [split, parts] = compiled_parts;

  Compiled compiled;
  report::CompileReport& report = compiled.report;
  report = {.model = request.model,
            .target = std::string(target.accelerator.name),
            .system_config = std::string(target.system.name),
            .memory_mode = std::string(target.memory.name),
            .quantization = split.quantization,
            .nodes = {},
            .delegates = {},
            .output = {}};
  report.clock_hz = static_cast<int64_t>(target.system.core_clock_hz);

  std::vector<pte::Delegate> delegates;
  std::map<std::string, int64_t> cycles;
  for (size_t i = 0; i < parts.size(); ++i) {
    const NpuPart& part = parts[i];
    if (!request.dump_folder.empty()) CARINA_CHECKED(dump(part, i, target, request.dump_folder));
    CARINA_TRY(pte::Delegate delegate, delegate_of(part.network, target));
    delegates.push_back(std::move(delegate));
    report.delegates.push_back(delegate_report(part));
    report.cycles += report.delegates.back().cycles;
    report.scratch_bytes = std::max(report.scratch_bytes, part.network.scratch_bytes);
    for (const auto& [node, cost] : cycles_by_node(part.timing, part.network)) cycles[node] += cost;
  }
  report.nodes = node_reports(split.partitioned, cycles);

  CARINA_TRY(const pte::Program program, pte::emit(split.partitioned.program, delegates));
  CARINA_TRY(compiled.program, pte::write_program(program, {.delegate_data = pte::DelegateData::kInline}));
  report.program_bytes = static_cast<int64_t>(compiled.program.size());
  for (const int64_t bytes : program.plans.front().planned_bytes) report.planned_bytes += bytes;
  return compiled;
}

Result<std::vector<std::byte>> to_tosa(const TosaRequest& request, const Log& log) {
  const std::string& path = request.model.model;
  if (is_tosa(path)) {
    CARINA_TRY(const ir::Module module, read_sound_tosa(path, request.limits.level));
    return write_sound_tosa(module, request.version, request.limits, path);
  }
  CARINA_TRY(const Prepared prepared, prepare_model(request.model, log));
  CARINA_TRY(ir::Graph graph, lower::to_tosa(prepared.graph, log));
  return write_sound_tosa({.graphs = {std::move(graph)}}, request.version, request.limits, path);
}

}  // namespace carina::driver
