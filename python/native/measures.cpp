#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>
#include <vector>

#include "base/io/file.h"
#include "datasets/images/decode_image.h"
#include "explore/accuracy.h"
#include "explore/compare.h"
#include "explore/layer_accuracy.h"
#include "listeners.h"
#include "module.h"
#include "report/render.h"
#include "values.h"

// Accuracy, comparison and sweeps for Python, as text, JSON and pages.
namespace carina::python {

using namespace nb::literals;

namespace {

struct TextReport {
  std::string json;
  std::string text;
};

template <typename Report>
Result<TextReport> texts_of(const Result<Report>& report) {
  if (!report) return std::unexpected(report.error());
  return TextReport{.json = report::to_json(*report), .text = report::to_text(*report)};
}

datasets::ImageOptions images_of(std::vector<double> mean, std::vector<double> std) {
  return {.mean = std::move(mean), .std = std::move(std), .decoder = datasets::decode_image};
}

void save(const std::string& path, const nb::bytes& bytes) {
  const Buffer file = buffer_of(bytes);
  call({}, [&](const Log&) -> Result<int> {
    CARINA_CHECKED(write_file(path, file.bytes()));
    return 0;
  });
}

}  // namespace

void bind_measures(nb::module_& module) {
  nb::class_<TextReport>(module, "TextReport", "The output of a command, as text and as JSON.")
      .def(
          "to_json", [](const TextReport& report) { return report.json; }, "As with --json.")
      .def("to_text", [](const TextReport& report) { return report.text; });
  module.def("write_file", save, "path"_a, "bytes"_a,
             "Writes a file in two steps: if writing fails, the previous file stays.");
  module.def(
      "accuracy",
      [](const std::string& model, const std::string& program, const std::string& data, const std::string& dump,
         const std::string& metric, std::vector<double> mean, std::vector<double> std, int threads, NoteListener note,
         ProgressListener progress) {
        const explore::AccuracyRequest request{.model = model,
                                               .program = program,
                                               .data = data,
                                               .images = images_of(std::move(mean), std::move(std)),
                                               .dump_folder = dump,
                                               .threads = threads,
                                               .metric = metric};
        return call({std::move(note), std::move(progress)},
                    [&](const Log& log) { return texts_of(explore::accuracy(request, log)); });
      },
      "model"_a, "program"_a, "data"_a, nb::kw_only(), "dump"_a = "", "metric"_a = "", "mean"_a = std::vector<double>(),
      "std"_a = std::vector<double>(), "threads"_a = 1, CARINA_LISTENERS, "`carina accuracy`, of files.");
  module.def(
      "layer_accuracy",
      [](const std::string& model, const std::string& data, const std::string& calibration,
         const models::QuantizeFlags& quantize, std::vector<double> mean, std::vector<double> std, int threads,
         NoteListener note, ProgressListener progress) {
        const explore::LayerAccuracyRequest request{.model = model,
                                                    .data = data,
                                                    .calibration = calibration,
                                                    .images = images_of(std::move(mean), std::move(std)),
                                                    .quantize = quantize,
                                                    .target = {},
                                                    .threads = threads};
        return call({std::move(note), std::move(progress)},
                    [&](const Log& log) { return texts_of(explore::layer_accuracy(request, log)); });
      },
      "model"_a, "data"_a, nb::kw_only(), "calibration"_a = "", "quantize"_a = models::QuantizeFlags{},
      "mean"_a = std::vector<double>(), "std"_a = std::vector<double>(), "threads"_a = 1, CARINA_LISTENERS,
      "`carina accuracy --layers`, of files.");
  module.def(
      "compare",
      [](const std::string& a, const std::string& b, const driver::CompileRequest& compile, const std::string& vela,
         int64_t memory_budget_bytes, NoteListener note, ProgressListener progress) {
        const explore::CompareRequest request{
            .a = a, .b = b, .compile = compile, .vela = vela, .memory_budget_bytes = memory_budget_bytes};
        return call({std::move(note), std::move(progress)},
                    [&](const Log& log) { return texts_of(explore::compare(request, log)); });
      },
      "a"_a, "b"_a, "compile"_a, nb::kw_only(), "vela"_a = "vela", "memory_budget_bytes"_a = int64_t{4} << 30,
      CARINA_LISTENERS, "Compares two files, as `carina compare` does. Without `b`, Vela compiles `a`.");
}

}  // namespace carina::python
