#include "execute/interpret.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "base/io/file.h"
#include "datasets/outputs.h"
#include "datasets/run_inputs.h"
#include "datasets/samples.h"
#include "execute/run_progress_internal.h"
#include "files/command_files.h"
#include "files/file_kind.h"
#include "files/tflite_file.h"
#include "files/tosa_file.h"
#include "interpret/interpreter.h"
#include "tensor/npy.h"

namespace carina::execute {

namespace {

datasets::Sample zeros(std::span<const datasets::InputType> inputs) {
  datasets::Sample sample;
  for (const datasets::InputType& input : inputs) {
    MutableTensor tensor(input.dtype, input.shape);
    std::ranges::fill(tensor.bytes(), std::byte{0});
    sample.push_back(std::move(tensor).freeze());
  }
  return sample;
}

Result<datasets::Sample> sample_for(const InterpretRequest& request, std::span<const datasets::InputType> inputs) {
  if (request.arrays) return request.arrays(inputs);
  return request.inputs.empty() ? zeros(inputs) : datasets::load_inputs(request.inputs, inputs, request.images);
}

std::string file_name_of(const std::string& value) {
  std::string name = value;
  std::ranges::replace_if(
      name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_' && c != '-' && c != '.'; },
      '_');
  return name;
}

// Writes a file for each value of each graph. Names stay distinct even if they differ only in characters that file
// names cannot have. If a value is computed several times, its last content is kept.
class Dump {
 public:
  Dump(std::string folder, const ir::Graph& main) : folder_(std::move(folder)), main_(main.name) {}

  // Errors: the file of a value is one of the inputs that are still to be read.
  Result<void> check(const ir::Module& module, const std::vector<std::string>& inputs) {
    for (const ir::Graph& graph : module.graphs) {
      for (size_t v = 0; v < graph.values.size(); ++v) {
        const std::string path = path_of(graph, ir::ValueId(v));
        if (file_id(path))
          CARINA_CHECKED(files::check_files({.inputs = inputs, .outputs = {{"--dump", path}}, .folders = {}}));
      }
    }
    return {};
  }
  // Writes one value. After the first failure nothing more is written.
  void write(const ir::Graph& graph, ir::ValueId value, const Tensor& tensor) {
    if (status_) status_ = write_file(path_of(graph, value), npy_bytes(tensor));
  }
  [[nodiscard]] const Result<void>& status() const { return status_; }

 private:
  std::string path_of(const ir::Graph& graph, ir::ValueId value) {
    return fmt::format("{}/{}.npy", folder_, file_of(graph, value));
  }
  const std::string& file_of(const ir::Graph& graph, ir::ValueId value) {
    std::string& file = files_[{graph.name, value.index()}];
    if (!file.empty()) return file;
    constexpr size_t kLongest = 200;  // file systems allow 255 bytes
    const std::string in_graph = graph.name == main_ ? "" : file_name_of(graph.name) + ".";
    const std::string wanted = (in_graph + file_name_of(graph[value].name)).substr(0, kLongest);
    file = wanted.empty() ? "value" : wanted;
    for (int n = 2; !taken_.insert(file).second; ++n) file = fmt::format("{}~{}", wanted, n);
    return file;
  }

  std::string folder_;
  std::string main_;
  std::map<std::pair<std::string, size_t>, std::string> files_;
  std::set<std::string> taken_;
  Result<void> status_;
};

// Measures the second of two runs. The first run also maps memory and fills caches.
Result<std::vector<results::OperatorTime>> profile(interpret::Interpreter& interpreter, std::span<const Tensor> inputs,
                                                   const std::string& main) {
  interpreter.clear_profile();
  interpreter.reset_variables();
  CARINA_CHECKED(interpreter.run(inputs));
  std::vector<results::OperatorTime> times;
  for (const interpret::NodeTime& time : interpreter.profile()) {
    const bool nested = time.graph != main;
    times.push_back({.name = nested ? time.graph + "/" + time.name : time.name,
                     .op = std::string(time.op),
                     .with = {time.with.begin(), time.with.end()},
                     .nanoseconds = time.nanoseconds,
                     .nested = nested});
  }
  return times;
}

// The rest of the budget after the inputs. Nothing has been allocated at this point.
Result<size_t> budget_without_inputs(size_t budget, const ir::Graph& graph, const std::string& where) {
  size_t used = 0;
  for (const ir::ValueId id : graph.inputs) {
    const size_t bytes = tensor_bytes(graph[id].dtype, graph[id].shape);
    used = bytes > budget - used ? budget : used + bytes;
  }
  if (used < budget) return budget - used;
  return fail({.where = where,
               .what = "the graph's inputs do not fit the memory budget",
               .expected = fmt::format("at most {} bytes", budget),
               .got = {},
               .hint = "--memory-budget sets another"});
}

}  // namespace

namespace {

// A graph with the types that its file declares at its ends. Only in LiteRT files may these differ from those of the
// graph.
struct Loaded {
  ir::Module module;
  std::optional<tflite::Borders> borders;

  [[nodiscard]] std::vector<datasets::InputType> input_types() const {
    std::vector<datasets::InputType> types = datasets::input_types(module.main());
    types.resize(module.main().inputs_without_state());
    for (size_t i = 0; borders && i < types.size(); ++i) types[i].dtype = borders->inputs[i].declared;
    return types;
  }
  [[nodiscard]] datasets::Sample stored(datasets::Sample sample) const {
    for (size_t i = 0; borders && i < sample.size(); ++i) sample[i] = tflite::to_stored(sample[i], borders->inputs[i]);
    for (const ir::State& state : module.main().states) sample.push_back(state.initial);
    return sample;
  }
  [[nodiscard]] Tensor declared(const Tensor& output, size_t i) const {
    return borders ? tflite::to_declared(output, borders->outputs[i]) : output;
  }
};

Result<Loaded> load(const InterpretRequest& request) {
  CARINA_TRY(const Buffer file, request.file.size() == 0 ? map_file(request.model) : Result<Buffer>(request.file));
  if (files::kind_of(file) == files::FileKind::kTflite) {
    CARINA_TRY(files::TfliteGraph graph, files::sound_tflite(file, request.model, request.level));
    return Loaded{.module = std::move(graph.module), .borders = std::move(graph.borders)};
  }
  CARINA_TRY(ir::Module module, request.file.size() == 0
                                    ? files::read_sound_tosa(request.model, request.level)
                                    : files::sound_graph(request.file, request.model, request.level));
  return Loaded{.module = std::move(module), .borders = std::nullopt};
}

}  // namespace

Result<Interpreted> interpret(const InterpretRequest& request, const Log& log) {
  CARINA_TRY(const Loaded loaded, load(request));
  const ir::Module& module = loaded.module;
  Dump dump(request.dump_folder, module.main());
  interpret::Options options{.threads = request.threads, .between_nodes = run_progress(log), .where = request.model};
  CARINA_TRY(options.memory_budget_bytes,
             budget_without_inputs(request.memory_budget_bytes, module.main(), request.model));
  if (request.profile) options.profiling = interpret::Profiling::kOn;
  if (!request.dump_folder.empty()) {
    CARINA_CHECKED(dump.check(module, request.inputs));
    CARINA_CHECKED(make_folder(request.dump_folder));
    options.observer = [&dump](const ir::Graph& graph, ir::ValueId value, const Tensor& tensor) {
      dump.write(graph, value, tensor);
    };
  }
  CARINA_TRY(interpret::Interpreter interpreter, interpret::Interpreter::create(module, options));
  const std::vector<datasets::InputType> inputs = loaded.input_types();
  CARINA_TRY(datasets::Sample given, sample_for(request, inputs));
  const datasets::Sample sample = loaded.stored(std::move(given));
  CARINA_TRY(const std::vector<Tensor> outputs, interpreter.run(sample));
  CARINA_CHECKED(dump.status());
  std::vector<datasets::NamedTensor> named;
  for (size_t i = 0; i < module.main().outputs_without_state(); ++i)
    named.push_back({.name = module.main()[module.main().outputs[i]].name, .tensor = loaded.declared(outputs[i], i)});
  results::InterpretReport report{.model = request.model,
                                  .outputs = {},
                                  .planned_bytes = static_cast<int64_t>(interpreter.planned_bytes()),
                                  .profile = {}};
  CARINA_TRY(report.outputs, datasets::report_tensors(named, request.output_folder));
  if (request.profile) {
    CARINA_TRY(report.profile, profile(interpreter, sample, module.main().name));
  }
  return Interpreted{.outputs = std::move(named), .report = std::move(report)};
}

}  // namespace carina::execute
