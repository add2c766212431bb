#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "carina/api.h"
#include "keyword_options.h"
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
  nb::class_<api::Decision>(module, "Decision",
                            "The side on which a node of the normalized graph runs, and the reason.")
      .def_ro("user_node", &api::Decision::user_node,
              "Name of the node of the exported graph from which the node was made; \"\" if there is none.")
      .def_ro("name", &api::Decision::name)
      .def_ro("op", &api::Decision::op, "\"aten.conv2d.default\"")
      .def_ro("source", &api::Decision::source, "\"model.py:41\", or \"\".")
      .def_ro("runs_on_npu", &api::Decision::runs_on_npu)
      .def_ro("delegate", &api::Decision::delegate, "Index of the delegate; -1: on the CPU.")
      .def_ro("reason", &api::Decision::reason)
      .def_ro("hint", &api::Decision::hint, "The change that would put the node on the NPU, or \"\".")
      .def_ro("rule", &api::Decision::rule, "Which rule rejected it: \"conv.stride\"; \"\" on the NPU.")
      .def_ro("cpu_cycles", &api::Decision::cpu_cycles, "Estimated cycles of a Cortex-M55; 0 on the NPU.");
}

void bind_values(nb::module_& module) {
  nb::class_<datasets::InputType>(module, "InputType", "The name, type and shape of an input of a model or program.")
      .def_ro("name", &datasets::InputType::name)
      .def_prop_ro(
          "dtype", [](const datasets::InputType& input) { return numpy_name(input.dtype); },
          "The type by its NumPy name: \"float32\".")
      .def_prop_ro("shape", shape_of, nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro(
          "is_number", [](const datasets::InputType& input) { return input.number.has_value(); },
          "The value of an int, float or bool input that the export has fixed.");
  nb::class_<api::Model>(module, "Model", "A normalized model in memory. import_pt2() returns one.")
      .def_prop_ro("name", &api::Model::name)
      .def_prop_ro("quantization", &api::Model::quantization,
                   "The origin of the quantization: \"none\", \"imported\" ...");
  bind_decision(module);
  nb::class_<api::Partition>(module, "Partition", "A model divided between NPU and CPU. partition() returns one.")
      .def_ro("decisions", &api::Partition::decisions, "One decision for each node of the normalized graph.")
      .def_prop_ro("delegates", delegates_of, nb::sig("def delegates(self) -> list[bytes]"),
                   "A TOSA 1.0 FlatBuffer for each delegate, whose inputs and outputs are those of the delegate call.");
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
      "Reads the bytes of a .pt2 (torch.export.save()) and normalizes the model. The bytes are not copied. `name` "
      "appears in messages.");
  module.def("inputs", &api::inputs, "model"_a,
             "Returns the inputs of the model, in the order of the arrays of a sample.");
  module.def(
      "quantize",
      [](const api::Model& model, const std::vector<std::vector<Array>>& samples, const std::string& scheme,
         std::vector<std::string> overrides, int threads, NoteListener note, ProgressListener progress) {
        return quantize(model, samples, scheme, std::move(overrides), threads, {std::move(note), std::move(progress)});
      },
      "model"_a, "samples"_a, nb::kw_only(), "scheme"_a = "", "overrides"_a = std::vector<std::string>(),
      "threads"_a = 1, CARINA_LISTENERS,
      "Quantizes a model by calibration. A sample has one array for each input, of the input's type and shape. "
      "`scheme` and "
      "`overrides` have the values of `carina compile --quantize` and `--quantize-at`.");
  module.def(
      "partition",
      [](const api::Model& model, const api::TargetNames& target, NoteListener note, ProgressListener progress,
         const nb::kwargs& named) {
        api::PartitionOptions options;
        set_options<options::PartitionOptions>(options, named);
        const Listeners listeners{std::move(note), std::move(progress)};
        return call(listeners, [&](const Log& log) { return api::partition(model, target, options, log); });
      },
      "model"_a, "target"_a, nb::kw_only(), CARINA_LISTENERS, "options"_a,
      nb::sig(signature_with_options<options::PartitionOptions>("def partition(model: Model, target: Target, *, ",
                                                                "Partition")
                  .c_str()),
      help_with_options<options::PartitionOptions>(
          "Divides a model between NPU and CPU, and lowers the NPU's parts to TOSA.")
          .c_str());
  module.def(
      "package", package, "partition"_a, "blobs"_a,
      nb::sig("def package(partition: Partition, blobs: Sequence[DelegateBlob]) -> bytes"),
      "Returns an ExecuTorch program (.pte) of a partition and its compiled delegates, in the order of the partition.");
  module.def(
      "to_tosa",
      [](const api::Model& model, const api::TargetNames& target, NoteListener note, ProgressListener progress) {
        const Listeners listeners{std::move(note), std::move(progress)};
        return bytes_of(call(listeners, [&](const Log& log) { return api::to_tosa(model, target, log); }));
      },
      "model"_a, "target"_a, nb::kw_only(), CARINA_LISTENERS,
      "Lowers the whole model to one TOSA 1.0 FlatBuffer, with the operators that the target prefers. Inputs and "
      "outputs "
      "have the types of the model.");
}

}  // namespace carina::python
