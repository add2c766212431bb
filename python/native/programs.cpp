#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "driver/api.h"
#include "listeners.h"
#include "module.h"
#include "values.h"
#include "words.h"

namespace carina::python {

using namespace nb::literals;

namespace {

std::vector<std::pair<std::string, nb::object>> outputs_of(const driver::RunOutcome& outcome) {
  std::vector<std::pair<std::string, nb::object>> outputs;
  for (const driver::NamedTensor& output : outcome.outputs) outputs.emplace_back(output.name, array_of(output.tensor));
  return outputs;
}

void bind_reports(nb::module_& module) {
  nb::class_<report::CompileReport>(module, "CompileReport", "What became of a model: `carina compile` and `explain`.")
      .def(
          "to_json", [](const report::CompileReport& report) { return report::to_json(report); },
          "As `carina compile --json` prints it.")
      .def(
          "to_text",
          [](const report::CompileReport& report, bool nodes) {
            return report::to_text(report, nodes ? report::Detail::kNodes : report::Detail::kSummary);
          },
          nb::kw_only(), "nodes"_a = false, "As `carina compile` prints it; with `nodes`, as `carina explain` does.")
      .def_ro("errors", &report::CompileReport::errors, "Why the model cannot be compiled.");
}

}  // namespace

void bind_programs(nb::module_& module) {
  bind_reports(module);
  nb::class_<api::Program>(module, "Compiled", "A compiled program and its report.")
      .def_prop_ro(
          "pte", [](const api::Program& program) { return bytes_of(program.pte); },
          "The ExecuTorch program; each call copies it.")
      .def_ro("report", &api::Program::report);
  nb::class_<driver::RunOutcome>(module, "RunOutcome", "What one inference gave and took.")
      .def_prop_ro("outputs", outputs_of, nb::sig("def outputs(self) -> list[tuple[str, NDArray[Any]]]"),
                   "Name and array of each output; the arrays are the run's own memory.")
      .def_ro("memory", &driver::RunOutcome::memory, "Allocator figures in bytes, as ExecuTorch's runner names them.")
      .def_ro("cpu_kernels", &driver::RunOutcome::cpu_kernels, "Kernel calls on the CPU, in order.")
      .def_ro("delegate_calls", &driver::RunOutcome::delegate_calls)
      .def_prop_ro(
          "npu_cycles", [](const driver::RunOutcome& outcome) { return outcome.npu.cycles; },
          "Of a timed run: estimated cycles of the NPU.");
  module.def(
      "package_tosa",
      [](const nb::bytes& tosa, const api::TargetNames& target, int threads, const std::string& optimise,
         NoteListener note, ProgressListener progress) {
        const api::DelegateOptions options{.threads = threads,
                                           .optimise = word_of<driver::Optimise>(optimise, "optimise")};
        const Buffer file = buffer_of(tosa);
        return call({std::move(note), std::move(progress)},
                    [&](const Log& log) { return api::package_tosa(file.bytes(), target, options, log); });
      },
      "tosa"_a, "target"_a, nb::kw_only(), "threads"_a = 1, "optimise"_a = "speed", CARINA_LISTENERS,
      "A program that is one call of one delegate, inputs and outputs as they are.");
  module.def(
      "run",
      [](const nb::bytes& pte, const std::vector<Array>& inputs, bool timed, std::optional<api::TargetNames> memories,
         int threads, NoteListener note, ProgressListener progress) {
        const Buffer file = buffer_of(pte);
        const driver::Sample sample = sample_of(inputs);
        const api::RunOptions options{
            .timed = timed, .memories = memories.value_or(api::TargetNames{}), .threads = threads};
        return call({std::move(note), std::move(progress)},
                    [&](const Log& log) { return api::run(file, sample, options, log); });
      },
      "pte"_a, "inputs"_a, nb::kw_only(), "timed"_a = false, "memories"_a.none() = nb::none(), "threads"_a = 1,
      CARINA_LISTENERS,
      "Runs an ExecuTorch program once: kernels on the CPU, Ethos-U delegates bit for bit on the simulated NPU. "
      "`inputs`: one array per input, in order; dense ones are not copied.");
}

}  // namespace carina::python
