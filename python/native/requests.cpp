#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "datasets/run_inputs.h"
#include "driver/compile.h"
#include "explore/alternatives.h"
#include "listeners.h"
#include "module.h"
#include "values.h"

namespace carina::python {

using namespace nb::literals;

namespace {

void bind_target_request(nb::module_& module) {
  using targets::TargetRequest;
  nb::class_<TargetRequest>(module, "TargetRequest", "A target, as the command line has it.")
      .def(nb::init<>())
      .def_rw("accelerator", &TargetRequest::accelerator)
      .def_rw("system_config", &TargetRequest::system_config)
      .def_rw("memory_mode", &TargetRequest::memory_mode)
      .def_rw("config_files", &TargetRequest::config_files)
      .def_rw("arena_cache_bytes", &TargetRequest::arena_cache_bytes, nb::arg().none());
}

void bind_quantize(nb::module_& module) {
  using models::QuantizeFlags;
  nb::class_<QuantizeFlags>(module, "QuantizeFlags", "What is said about quantization, as the command line says it.")
      .def(nb::init<>())
      .def_rw("scheme", &QuantizeFlags::scheme)
      .def_rw("overrides", &QuantizeFlags::overrides)
      .def_rw("io", &QuantizeFlags::io)
      .def_rw("max_cycles", &QuantizeFlags::max_cycles)
      .def_rw("file", &QuantizeFlags::file);
}

void set_arrays(driver::CompileRequest& request, const std::map<std::string, Array>& arrays) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, array] : arrays) tensors.emplace(name, tensor_of(array));
  request.samples = [tensors = std::move(tensors)](std::span<const datasets::InputType> inputs) {
    return datasets::split_samples(tensors, inputs, "calibration");
  };
}

void set_samples(driver::CompileRequest& request, const std::vector<std::vector<Array>>& given) {
  std::vector<datasets::Sample> all;
  for (const std::vector<Array>& arrays : given) all.push_back(sample_of(arrays));
  request.samples =
      [all = std::move(all)](std::span<const datasets::InputType> inputs) -> Result<std::vector<datasets::Sample>> {
    std::vector<datasets::Sample> fitted;
    for (const datasets::Sample& sample : all) {
      CARINA_TRY(datasets::Sample fit, datasets::fit_inputs(sample, inputs, "calibration"));
      fitted.push_back(std::move(fit));
    }
    return fitted;
  };
}

void set_output(driver::CompileRequest& request, const std::string& word) {
  request.output = enum_of<driver::CompileRequest::Output>(word, "output");
}

void bind_request(nb::module_& module) {
  using driver::CompileRequest;
  nb::class_<CompileRequest>(module, "CompileRequest", "What `carina compile` and its siblings are asked for.")
      .def(nb::init<>())
      .def_rw("model", &CompileRequest::model, "A path, or what messages call `file`.")
      .def(
          "set_file", [](CompileRequest& request, const nb::bytes& file) { request.file = buffer_of(file); }, "file"_a,
          "The model's bytes: a .pt2, .tosa or .vgf. They are not copied.")
      .def_rw("target", &CompileRequest::target)
      .def_rw("quantize", &CompileRequest::quantize)
      .def_rw("calibration", &CompileRequest::calibration, "A path; or what messages call the arrays.")
      .def("set_arrays", set_arrays, "arrays"_a, "Calibration: arrays by input, of one or many samples, as in an .npz.")
      .def("set_samples", set_samples, "samples"_a, "Calibration: each sample one array per input, in order.")
      .def_prop_rw(
          "delegates", [](const CompileRequest& request) { return name_of_enum(request.delegates); },
          [](CompileRequest& request, const std::string& word) {
            request.delegates = enum_of<driver::DelegateMode>(word, "delegates");
          },
          "\"npu\", \"all\" or \"nothing\".")
      .def_rw("cpu_nodes", &CompileRequest::cpu_nodes)
      .def_rw("cpu_ops", &CompileRequest::cpu_ops)
      .def_rw("cpu_modules", &CompileRequest::cpu_modules)
      .def_prop_rw(
          "cpu_kernels", [](const CompileRequest& request) { return name_of_enum(request.cpu_kernels); },
          [](CompileRequest& request, const std::string& word) {
            request.cpu_kernels = enum_of<driver::CpuKernels>(word, "cpu_kernels");
          },
          "What nodes on the CPU are written as: \"portable\" or \"cortex-m\".")
      .def_rw("sram_budget_bytes", &CompileRequest::sram_budget_bytes)
      .def_prop_rw(
          "optimize", [](const CompileRequest& request) { return name_of_enum(request.optimize); },
          [](CompileRequest& request, const std::string& word) {
            request.optimize = enum_of<backends::Optimize>(word, "optimize");
          },
          "\"speed\", \"search\" or \"size\"; \"performance\", \"2\", \"3\" and \"s\" are taken too.")
      .def_rw("dynamic_weights", &CompileRequest::dynamic_weights)
      .def_rw("legalize", &CompileRequest::legalize)
      .def_rw("loop_rounds", &CompileRequest::loop_rounds, "How many rounds of a while_loop run at most; 0: refused.")
      .def_rw("dump_folder", &CompileRequest::dump_folder)
      .def_rw("locations", &CompileRequest::locations,
              "By the user's nodes, what dumped TOSA files say of the operators made from them.")
      .def_rw("layers", &CompileRequest::layers, "Whether the report has the estimate operation by operation.")
      .def_prop_rw(
          "alternatives", [](const CompileRequest& request) { return static_cast<bool>(request.alternatives); },
          [](CompileRequest& request, bool wanted) {
            request.alternatives = wanted ? explore::find_alternatives : driver::FindAlternatives();
          },
          "Whether the report says what other choices would bring.")
      .def_rw("vela_flags", &CompileRequest::vela_flags)
      .def_prop_rw(
          "output", [](const CompileRequest& request) { return name_of_enum(request.output); }, set_output,
          "\"program\" (.pte), \"stream\" (Vela's raw .npz) or \"vgf\".")
      .def_rw("threads", &CompileRequest::threads);
}

nb::bytes tosa(const driver::CompileRequest& model, std::string version, files::TosaLimits limits,
               const Listeners& listeners) {
  const driver::TosaRequest request{.model = model, .version = std::move(version), .limits = std::move(limits)};
  return bytes_of(call(listeners, [&](const Log& log) { return driver::to_tosa(request, log); }));
}

}  // namespace

void bind_requests(nb::module_& module) {
  bind_target_request(module);
  bind_quantize(module);
  bind_request(module);
  module.def(
      "compile",
      [](const driver::CompileRequest& request, NoteListener note, ProgressListener progress) {
        return call({std::move(note), std::move(progress)},
                    [request](const Log& log) { return driver::compile(request, log); });
      },
      "request"_a, nb::kw_only(), CARINA_LISTENERS, "`carina compile`.");
  module.def(
      "explain",
      [](const driver::CompileRequest& request, NoteListener note, ProgressListener progress) {
        return call({std::move(note), std::move(progress)},
                    [request](const Log& log) { return driver::explain(request, log); });
      },
      "request"_a, nb::kw_only(), CARINA_LISTENERS,
      "`carina explain`: a report also where the model cannot be compiled; then it has `errors`.");
  module.def(
      "tosa",
      [](const driver::CompileRequest& request, std::string version, std::string level,
         std::vector<std::string> profiles, std::vector<std::string> extensions, NoteListener note,
         ProgressListener progress) {
        return tosa(request, std::move(version),
                    {.level = std::move(level), .profiles = std::move(profiles), .extensions = std::move(extensions)},
                    {std::move(note), std::move(progress)});
      },
      "request"_a, nb::kw_only(), "version"_a = "1.0", "level"_a = "8K", "profiles"_a = std::vector<std::string>(),
      "extensions"_a = std::vector<std::string>(), CARINA_LISTENERS,
      "`carina tosa`: the bytes of a file of version \"1.0\", \"0.80\" or \"vgf\".");
}

}  // namespace carina::python
