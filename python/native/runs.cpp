#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "enum_names.h"
#include "execute/external_data.h"
#include "execute/interpret.h"
#include "execute/method_sessions.h"
#include "execute/npu.h"
#include "execute/program_session.h"
#include "execute/run.h"
#include "listeners.h"
#include "module.h"
#include "values.h"

// Runs for Python: programs, TOSA graphs and command streams, with arrays in and out.
namespace carina::python {

using namespace nb::literals;

namespace {

// The outputs and metrics of one inference on any engine.
struct Run {
  std::vector<datasets::NamedTensor> outputs;
  std::vector<datasets::NamedTensor> state = {};  // after the run
  int64_t npu_cycles = 0;
  std::string json;
  std::string text;
};

// No value: the default inputs of the command line (ones or zeros).
using Inputs = std::optional<std::vector<Array>>;

datasets::InputSource source_of(const Inputs& inputs) {
  if (!inputs) return {};
  return [sample = sample_of(*inputs)](std::span<const datasets::InputType> types) {
    return datasets::fit_inputs(sample, types, "inputs");
  };
}

struct RunArguments {
  Buffer pte;
  std::string name;
  const Inputs& inputs;
  const Inputs& state;  // to begin with; no value: the initial values
  std::vector<std::string> data;
  targets::TargetRequest memories;
};

Result<Run> executed(const RunArguments& arguments, execute::RunOptions options, const Log& log) {
  CARINA_TRY(options.memories, targets::read_names(arguments.memories));
  CARINA_TRY(options.data, execute::load_external_data(arguments.pte, arguments.name, arguments.data, log));
  datasets::InputBatch given;
  const auto source = [&](std::span<const datasets::InputType> types) -> Result<std::vector<datasets::Sample>> {
    if (!arguments.inputs) return std::vector<datasets::Sample>{execute::ones(types)};
    CARINA_TRY(given, datasets::split_inputs(sample_of(*arguments.inputs), types, "inputs"));
    return given.samples;
  };
  execute::StateOptions state;
  if (arguments.state) {
    state.first = [&](std::span<const datasets::InputType>) -> Result<std::vector<Tensor>> {
      return sample_of(*arguments.state);
    };
  }
  CARINA_TRY(execute::BatchOutcome batch,
             execute::run_batch(arguments.pte, arguments.name, source, options, log, state));
  execute::RunOutcome& outcome = batch.run;
  CARINA_TRY(outcome.outputs, datasets::joined_outputs(batch.outputs, given.join, batch.inputs, arguments.name));
  CARINA_TRY(results::RunReport report, execute::run_report(outcome, arguments.name, options));
  report.samples = static_cast<int64_t>(batch.outputs.size());
  return Run{.outputs = std::move(outcome.outputs),
             .state = std::move(batch.state),
             .npu_cycles = outcome.npu.cycles,
             .json = report::to_json(report),
             .text = report::to_text(report)};
}

Result<Run> evaluated(const execute::InterpretRequest& request, const Log& log) {
  CARINA_TRY(execute::Interpreted done, execute::interpret(request, log));
  return Run{
      .outputs = std::move(done.outputs), .json = report::to_json(done.report), .text = report::to_text(done.report)};
}

Result<Run> streamed(const execute::NpuRunRequest& request, const Log& log) {
  CARINA_TRY(execute::StreamOutcome done, execute::run_stream(request, log));
  return Run{.outputs = std::move(done.outputs),
             .npu_cycles = done.report.npu.cycles,
             .json = report::to_json(done.report),
             .text = report::to_text(done.report)};
}

std::vector<std::pair<std::string, nb::object>> arrays_of(std::span<const datasets::NamedTensor> tensors) {
  std::vector<std::pair<std::string, nb::object>> arrays;
  for (const datasets::NamedTensor& tensor : tensors) arrays.emplace_back(tensor.name, array_of(tensor.tensor));
  return arrays;
}

// The state with which the methods of a program begin.
Result<std::map<std::string, std::vector<datasets::NamedTensor>>> first_state(const Buffer& pte,
                                                                              const std::string& name) {
  const Log log;
  CARINA_TRY(const auto methods, execute::MethodSessions::load(pte, name, {}, log));
  return methods.states();
}

void bind_run(nb::module_& module) {
  nb::class_<Run>(module, "Run", "The outputs, times and cycles of one inference.")
      .def_prop_ro(
          "state", [](const Run& run) { return arrays_of(run.state); },
          nb::sig("def state(self) -> list[tuple[str, NDArray[Any]]]"),
          "Name and array of each state of the program, after the run.")
      .def_prop_ro(
          "outputs", [](const Run& run) { return arrays_of(run.outputs); },
          nb::sig("def outputs(self) -> list[tuple[str, NDArray[Any]]]"),
          "Name and array of each output. The arrays are views of the memory of this object.")
      .def_ro("npu_cycles", &Run::npu_cycles, "Estimated cycles of the NPU, if the run was timed.")
      .def(
          "to_json", [](const Run& run) { return run.json; }, "The result as the command prints it with --json.")
      .def("to_text", [](const Run& run) { return run.text; }, "As the command prints it.");
}

}  // namespace

void bind_runs(nb::module_& module) {
  bind_run(module);
  module.def(
      "run",
      [](const nb::bytes& pte, const Inputs& inputs, const std::string& name, const Inputs& state,
         const std::string& method, std::vector<std::string> data, bool timed, targets::TargetRequest memories,
         const std::string& vgf, bool portable_kernels, int threads, NoteListener note, ProgressListener progress) {
        const RunArguments arguments{.pte = buffer_of(pte),
                                     .name = name,
                                     .inputs = inputs,
                                     .state = state,
                                     .data = std::move(data),
                                     .memories = std::move(memories)};
        const execute::RunOptions options{.timed = timed,
                                          .memories = {},
                                          .threads = threads,
                                          .vgf = enum_of<execute::VgfDevice>(vgf, "on"),
                                          .portable_kernels = portable_kernels,
                                          .method = method};
        return call({std::move(note), std::move(progress)},
                    [&](const Log& log) { return executed(arguments, options, log); });
      },
      "pte"_a, "inputs"_a.none() = nb::none(), nb::kw_only(), "name"_a = "program.pte", "state"_a.none() = nb::none(),
      "method"_a = "", "data"_a = std::vector<std::string>(), "timed"_a = false,
      "memories"_a = targets::TargetRequest{}, "vgf"_a = "host", "portable_kernels"_a = false, "threads"_a = 1,
      CARINA_LISTENERS,
      "`carina run`: kernels on the CPU, Ethos-U delegates bit for bit on the simulated NPU. `inputs`: one array per "
      "input, in order, of one sample or several; dense ones are not copied. None: ones. `state`: one array per state "
      "of "
      "the program, to begin with; None: the initial values. `method`: \"\" is forward, or the first one. `vgf`: "
      "\"host\" or "
      "\"vulkan\".");
  module.def(
      "first_state",
      [](const nb::bytes& pte, const std::string& name) {
        const Buffer file = buffer_of(pte);
        std::map<std::string, std::vector<std::pair<std::string, nb::object>>> states;
        for (const auto& [method, state] : call({}, [&](const Log&) { return first_state(file, name); }))
          states[method] = arrays_of(state);
        return states;
      },
      nb::sig("def first_state(pte: bytes, name: str) -> dict[str, list[tuple[str, NDArray[Any]]]]"), "pte"_a, "name"_a,
      "For each method, name and array of each state with which it begins. A state that methods share has one name.");
  module.def(
      "interpret",
      [](const nb::bytes& tosa, const Inputs& inputs, const std::string& name, bool profile, const std::string& level,
         size_t memory_budget_bytes, const std::string& dump_folder, int threads, NoteListener note,
         ProgressListener progress) {
        const execute::InterpretRequest request{.model = name,
                                                .file = buffer_of(tosa),
                                                .inputs = {},
                                                .arrays = source_of(inputs),
                                                .output_folder = {},
                                                .dump_folder = dump_folder,
                                                .profile = profile,
                                                .level = level,
                                                .memory_budget_bytes = memory_budget_bytes,
                                                .threads = threads};
        return call({std::move(note), std::move(progress)}, [&](const Log& log) { return evaluated(request, log); });
      },
      "tosa"_a, "inputs"_a.none() = nb::none(), nb::kw_only(), "name"_a = "model.tosa", "profile"_a = false,
      "level"_a = "8K", "memory_budget_bytes"_a = execute::kDefaultMemoryBudget, "dump_folder"_a = "", "threads"_a = 1,
      CARINA_LISTENERS,
      "Evaluates a TOSA file as the specification defines it, as `carina interpret` does. Without inputs: zeros.");
  module.def(
      "npu",
      [](const nb::bytes& stream, const Inputs& inputs, const std::string& name, bool timed, bool check, bool poison,
         const std::string& trace_file, const targets::TargetRequest& memories, int threads, NoteListener note,
         ProgressListener progress) {
        const execute::NpuRunRequest request{.stream = name,
                                             .file = buffer_of(stream),
                                             .inputs = {},
                                             .arrays = inputs ? sample_of(*inputs) : datasets::Sample{},
                                             .output_folder = {},
                                             .timed = timed,
                                             .check = check,
                                             .poison = poison,
                                             .system_config = memories.system_config,
                                             .memory_mode = memories.memory_mode,
                                             .config_files = memories.config_files,
                                             .trace_file = trace_file,
                                             .threads = threads};
        return call({std::move(note), std::move(progress)}, [&](const Log& log) { return streamed(request, log); });
      },
      "stream"_a, "inputs"_a.none() = nb::none(), nb::kw_only(), "name"_a = "stream.npz", "timed"_a = false,
      "check"_a = false, "poison"_a = false, "trace_file"_a = "", "memories"_a = targets::TargetRequest{},
      "threads"_a = 1, CARINA_LISTENERS,
      "`carina npu`: one command stream, Vela's raw .npz, on the simulator. No inputs: zeros.");
}

}  // namespace carina::python
