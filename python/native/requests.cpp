#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <type_traits>
#include <utility>

#include "datasets/images/decode_image.h"
#include "datasets/run_inputs.h"
#include "driver/compile.h"
#include "enum_names.h"
#include "explore/alternatives.h"
#include "explore/compression.h"
#include "listeners.h"
#include "module.h"
#include "options/rows.h"
#include "values.h"

// The requests of the driver as Python classes. The members of options come from carina/options.def.
namespace carina::python {

using namespace nb::literals;

namespace {

// Binds the members of a stage's options: enumerations by name, an optional number as a number or None.
template <typename Stage, typename Request>
void bind_options(nb::class_<Request>& request) {
  options::visit_options<Stage>([&](const options::OptionRow& row, auto member) {
    using Value = std::remove_reference_t<decltype(std::declval<Stage&>().*member)>;
    if constexpr (std::is_enum_v<Value>) {
      request.def_prop_rw(
          row.member, [member](const Request& it) { return name_of_enum(it.*member); },
          [member, name = row.member](Request& it, const std::string& word) {
            it.*member = enum_of<Value>(word, name);
          },
          row.help);
    } else if constexpr (std::is_same_v<Value, std::optional<int64_t>>) {
      request.def_rw(row.member, member, row.help, nb::arg().none());
    } else {
      request.def_rw(row.member, member, row.help);
    }
  });
}

void bind_target_request(nb::module_& module) {
  nb::class_<targets::TargetRequest> request(module, "TargetRequest", "A target and its memories, by name.");
  request.def(nb::init<>());
  bind_options<options::TargetOptions>(request);
}

void bind_quantize(nb::module_& module) {
  nb::class_<models::QuantizeFlags> request(module, "QuantizeFlags",
                                            "The options of quantization, as text of the command line.");
  request.def(nb::init<>());
  bind_options<options::QuantizeOptions>(request);
}

void set_arrays(driver::CompileRequest& request, const std::map<std::string, Array>& arrays) {
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, array] : arrays) tensors.emplace(name, tensor_of(array));
  request.samples = [tensors = std::move(tensors)](
                        std::span<const datasets::InputType> inputs) -> Result<std::vector<datasets::Sample>> {
    CARINA_CHECKED(datasets::check_names(tensors, inputs, "calibration"));
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

// Each sequence has an array for each input, with time along the first axis.
void set_sequences(driver::CompileRequest& request, const std::vector<std::map<std::string, Array>>& given) {
  std::vector<std::map<std::string, Tensor>> sequences;
  for (const std::map<std::string, Array>& arrays : given) {
    std::map<std::string, Tensor>& tensors = sequences.emplace_back();
    for (const auto& [name, array] : arrays) tensors.emplace(name, tensor_of(array));
  }
  request.samples =
      [sequences = std::move(sequences)](std::span<const datasets::InputType> inputs) -> Result<datasets::DataSet> {
    std::vector<datasets::Sample> all;
    std::vector<size_t> firsts;
    for (size_t n = 0; n < sequences.size(); ++n) {
      const std::string where = fmt::format("sequences[{}]", n);
      CARINA_CHECKED(datasets::check_names(sequences[n], inputs, where));
      CARINA_TRY(std::vector<datasets::Sample> steps, datasets::split_samples(sequences[n], inputs, where));
      firsts.push_back(all.size());
      std::ranges::move(steps, std::back_inserter(all));
    }
    return datasets::DataSet(std::move(all)).in_sequences(std::move(firsts));
  };
}

// The model and the data of `further` become a method. Its other arguments are those of the request.
void add_method(driver::CompileRequest& request, const std::string& name, const driver::CompileRequest& further) {
  request.further_methods.push_back({.name = name,
                                     .model = further.model,
                                     .file = further.file,
                                     .calibration = further.calibration,
                                     .samples = further.samples});
}

void set_output(driver::CompileRequest& request, const std::string& word) {
  request.output = enum_of<driver::CompileRequest::Output>(word, "output");
}

void bind_request(nb::module_& module) {
  using driver::CompileRequest;
  nb::class_<CompileRequest> request(module, "CompileRequest",
                                     "The arguments of `carina compile`, `explain` or `tosa`.");
  request.def("__init__", [](CompileRequest* it) {
    new (it) CompileRequest();
    it->images.decoder = datasets::decode_image;
  });
  bind_options<options::PartitionOptions>(request);
  bind_options<options::PipelineOptions>(request);
  bind_options<options::ScheduleOptions>(request);
  bind_options<options::DriverOptions>(request);
  request.def_rw("model", &CompileRequest::model, "A path, or if `file` is set, its name in messages.")
      .def(
          "set_file", [](CompileRequest& it, const nb::bytes& file) { it.file = buffer_of(file); }, "file"_a,
          "The bytes of the model: a .pt2, .tosa or .vgf. They are not copied.")
      .def(
          "set_images",
          [](CompileRequest& it, std::vector<double> mean, std::vector<double> std) {
            it.images.mean = std::move(mean);
            it.images.std = std::move(std);
          },
          "mean"_a, "std"_a,
          "Mean and deviation of the channels of images: a number for each channel, or one for all. Default: 0 and 1.")
      .def_rw("target", &CompileRequest::target)
      .def_rw("quantize", &CompileRequest::quantize)
      .def("set_arrays", set_arrays, "arrays"_a,
           "Sets the calibration data: an array for each input, with one or several samples, as in an .npz.")
      .def("set_sequences", set_sequences, "sequences"_a,
           "Sets the calibration data of a model that keeps state: sequences, each of which has an array for each "
           "input, "
           "with time along the first axis. Each begins with the initial state.")
      .def("set_samples", set_samples, "samples"_a,
           "Sets the calibration data: samples with one array for each input, in order.")
      .def("add_method", add_method, "name"_a, "further"_a,
           "Adds a method of the program, with the model and the calibration data of another request.")
      .def_rw("locations", &CompileRequest::locations,
              "Locations of operators in dumped TOSA files, by the user's nodes from which they were lowered.")
      .def_rw("layers", &CompileRequest::layers, "Whether the report contains the estimate of each operation.")
      .def_prop_rw(
          "alternatives", [](const CompileRequest& it) { return static_cast<bool>(it.alternatives); },
          [](CompileRequest& it, bool wanted) {
            it.alternatives = wanted ? explore::find_alternatives : driver::FindAlternatives();
          },
          "Whether the report has the results of other choices.")
      .def_prop_rw(
          "compression", [](const CompileRequest& it) { return static_cast<bool>(it.compression); },
          [](CompileRequest& it, bool wanted) {
            it.compression = wanted ? explore::find_compression : driver::FindCompression();
          },
          "Whether the report has bytes and cycles of layers with compressed weights.")
      .def_prop_rw(
          "remedies", [](const CompileRequest& it) { return static_cast<bool>(it.remedies); },
          [](CompileRequest& it, bool wanted) {
            it.remedies = wanted ? explore::find_remedies : driver::FindAlternatives();
          },
          "Whether an exceeded budget names choices that keep to it.")
      .def_prop_rw(
          "output", [](const CompileRequest& it) { return name_of_enum(it.output); }, set_output,
          "\"program\" (.pte), \"stream\" (Vela's raw .npz), \"tflite\" (of a .tflite) or \"vgf\".")
      .def_rw("threads", &CompileRequest::threads);
}

nb::bytes tosa(const driver::CompileRequest& model, std::string version, files::TosaLimits limits,
               const Listeners& listeners) {
  const driver::TosaRequest request{.model = model, .version = std::move(version), .limits = std::move(limits)};
  return bytes_of(call(listeners, [&](const Log& log) { return driver::to_tosa(request, log); }));
}

Result<driver::Compiled> compiled(const driver::CompileRequest& request, const Log& log) {
  CARINA_TRY(driver::Compiled compiled, driver::compile(request, log));
  if (compiled.dump) CARINA_CHECKED(compiled.dump->commit());
  return compiled;
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
                    [request](const Log& log) { return compiled(request, log); });
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
