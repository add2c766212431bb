#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "carina/api.h"
#include "enum_names.h"
#include "listeners.h"
#include "models/quantize_flags.h"
#include "module.h"
#include "values.h"

// carina::api models, partitions and delegates for Python.
namespace carina::python {

using namespace nb::literals;

namespace {

api::Model import_pt2(const nb::bytes& pt2, const std::string& name, Listeners listeners) {
  const Buffer file = buffer_of(pt2);
  return call(listeners, [&](const Log& log) { return api::import_pt2(file, name, log); });
}

nb::tuple shape_of(const datasets::InputType& input) {
  nb::list sizes;
  for (const int64_t size : input.shape.dims()) sizes.append(size);
  return nb::tuple(sizes);
}

Result<api::QuantizeOptions> quantize_options(const models::QuantizeFlags& flags, int threads) {
  CARINA_TRY(const models::QuantizeRequest request, models::parse_quantize_flags(flags));
  return api::QuantizeOptions{.mode = request.mode, .scheme = request.scheme, .threads = threads};
}

api::Model quantize(const api::Model& model, const std::vector<std::vector<Array>>& samples, const std::string& scheme,
                    std::vector<std::string> overrides, int threads, Listeners listeners) {
  std::vector<datasets::Sample> all;
  for (const std::vector<Array>& arrays : samples) all.push_back(sample_of(arrays));
  return call(listeners, [&](const Log& log) -> Result<api::Model> {
    CARINA_TRY(const api::QuantizeOptions options,
               quantize_options({.scheme = scheme, .overrides = std::move(overrides)}, threads));
    return api::quantize(model, all, options, log);
  });
}

std::vector<nb::bytes> delegates_of(const api::Partition& partition) {
  std::vector<nb::bytes> files;
  for (const api::TosaFile& tosa : partition.delegates) files.push_back(bytes_of(tosa));
  return files;
}

nb::bytes package(const api::Partition& partition, const std::vector<api::DelegateBlob>& blobs) {
  return bytes_of(call({}, [&](const Log&) { return api::package(partition, blobs); }));
}

void bind_decision(nb::module_& module) {
  nb::class_<api::Decision>(module, "Decision", "Where one node of the normalized graph runs, and why.")
      .def_ro("user_node", &api::Decision::user_node,
              "Name of the node of the exported graph that it was made from; \"\": of none.")
      .def_ro("name", &api::Decision::name)
      .def_ro("op", &api::Decision::op, "\"aten.conv2d.default\"")
      .def_ro("source", &api::Decision::source, "\"model.py:41\", or \"\".")
      .def_ro("runs_on_npu", &api::Decision::runs_on_npu)
      .def_ro("delegate", &api::Decision::delegate, "Index of its delegate; -1 on the CPU.")
      .def_ro("reason", &api::Decision::reason)
      .def_ro("hint", &api::Decision::hint, "What would put it on the NPU, or \"\".")
      .def_ro("rule", &api::Decision::rule, "Which rule refused it: \"conv.stride\"; \"\" on the NPU.")
      .def_ro("cpu_cycles", &api::Decision::cpu_cycles, "Cycles of a Cortex-M55, an estimate; 0 on the NPU.");
}

void bind_values(nb::module_& module) {
  nb::class_<datasets::InputType>(module, "InputType", "What a model or a program takes as one of its inputs.")
      .def_ro("name", &datasets::InputType::name)
      .def_prop_ro(
          "dtype", [](const datasets::InputType& input) { return numpy_name(input.dtype); },
          "NumPy's name of the type: \"float32\".")
      .def_prop_ro("shape", shape_of, nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro(
          "is_number", [](const datasets::InputType& input) { return input.number.has_value(); },
          "An int, float or bool that exporting fixed.");
  nb::class_<api::Model>(module, "Model", "A model in memory, normalized; import_pt2() makes one.")
      .def_prop_ro("name", &api::Model::name)
      .def_prop_ro("quantization", &api::Model::quantization,
                   "Where its integers came from: \"none\", \"imported\" ...");
  bind_decision(module);
  nb::class_<api::Partition>(module, "Partition", "A model cut in two sides; partition() makes one.")
      .def_ro("decisions", &api::Partition::decisions, "One per node of the normalized graph.")
      .def_prop_ro("delegates", delegates_of, nb::sig("def delegates(self) -> list[bytes]"),
                   "A TOSA 1.0 FlatBuffer for each; inputs and outputs are those of the delegate call.");
}

}  // namespace

void bind_models(nb::module_& module) {
  bind_values(module);
  module.def(
      "import_pt2",
      [](const nb::bytes& pt2, const std::string& name, NoteListener note, ProgressListener progress) {
        return import_pt2(pt2, name, {std::move(note), std::move(progress)});
      },
      "pt2"_a, "name"_a = "model.pt2", nb::kw_only(), CARINA_LISTENERS,
      "Reads what torch.export.save() wrote, and normalizes it. The bytes are not copied. `name` is for messages.");
  module.def("inputs", &api::inputs, "model"_a, "The model's inputs, in order: what a sample holds.");
  module.def(
      "quantize",
      [](const api::Model& model, const std::vector<std::vector<Array>>& samples, const std::string& scheme,
         std::vector<std::string> overrides, int threads, NoteListener note, ProgressListener progress) {
        return quantize(model, samples, scheme, std::move(overrides), threads, {std::move(note), std::move(progress)});
      },
      "model"_a, "samples"_a, nb::kw_only(), "scheme"_a = "", "overrides"_a = std::vector<std::string>(),
      "threads"_a = 1, CARINA_LISTENERS,
      "The model with integers, by calibration on samples: each one array per input, of exactly its type and shape. "
      "Words as of `carina compile --quantize` and `--quantize-at`.");
  module.def(
      "partition",
      [](const api::Model& model, const api::TargetNames& target, const std::string& delegates,
         std::vector<std::string> cpu_nodes, std::vector<std::string> cpu_ops, std::vector<std::string> cpu_modules,
         NoteListener note, ProgressListener progress) {
        const api::PartitionOptions options{.delegates = enum_of<driver::DelegateMode>(delegates, "delegates"),
                                            .cpu_nodes = std::move(cpu_nodes),
                                            .cpu_ops = std::move(cpu_ops),
                                            .cpu_modules = std::move(cpu_modules)};
        const Listeners listeners{std::move(note), std::move(progress)};
        return call(listeners, [&](const Log& log) { return api::partition(model, target, options, log); });
      },
      "model"_a, "target"_a, nb::kw_only(), "delegates"_a = "npu", "cpu_nodes"_a = std::vector<std::string>(),
      "cpu_ops"_a = std::vector<std::string>(), "cpu_modules"_a = std::vector<std::string>(), CARINA_LISTENERS,
      "Splits the model for a target, and lowers the NPU's parts to TOSA. `delegates`: \"npu\" (what is faster there), "
      "\"all\" (whatever it takes) or \"nothing\".");
  module.def("package", package, "partition"_a, "blobs"_a,
             nb::sig("def package(partition: Partition, blobs: Sequence[DelegateBlob]) -> bytes"),
             "An ExecuTorch program (.pte) of a partition and its compiled delegates, in their order.");
  module.def(
      "to_tosa",
      [](const api::Model& model, const api::TargetNames& target, NoteListener note, ProgressListener progress) {
        const Listeners listeners{std::move(note), std::move(progress)};
        return bytes_of(call(listeners, [&](const Log& log) { return api::to_tosa(model, target, log); }));
      },
      "model"_a, "target"_a, nb::kw_only(), CARINA_LISTENERS,
      "The whole model as one TOSA 1.0 FlatBuffer, in the idioms of a target. Types of inputs and outputs are the "
      "model's.");
}

}  // namespace carina::python
