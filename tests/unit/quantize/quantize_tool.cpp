// quantize_tool MODEL.pt2 INPUTS.npz OUTPUTS.npz [CALIBRATION.npz [SCHEME]]: quantizes the model, lowers it and runs
// the integer graph on every input, for tests/integration/quantize/test_quantize.py. The parameters come from the
// model's quantize nodes or from calibration. Arrays of the .npz files are called "<sample>_<input>" and
// "<sample>_<output>". Inputs and outputs are floats: the tool quantizes and dequantizes them. It prints the
// quantization of each value as JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <string>

#include "base/io/file.h"
#include "frontend/pt2/reader.h"
#include "interpret/interpreter.h"
#include "lower/lower.h"
#include "normalize/normalize.h"
#include "quantize/import.h"
#include "quantize/ptq.h"
#include "tensor/elements.h"
#include "tensor/npy.h"

namespace {

using namespace carina;

template <typename T>
Tensor to_integers(const Tensor& floats, const Quantization& q) {
  MutableTensor out(q.dtype, floats.shape);
  const auto from = floats.values<float>();
  const auto to = out.values<T>();
  const float inverse = static_cast<float>(1.0 / q.scale());
  for (size_t i = 0; i < from.size(); ++i) {
    const double step = static_cast<double>(std::nearbyint(from[i] * inverse)) + static_cast<double>(q.zero_point());
    to[i] = static_cast<T>(std::clamp(step, static_cast<double>(q.qmin), static_cast<double>(q.qmax)));
  }
  return std::move(out).freeze();
}

Tensor to_integers(const Tensor& floats, const Quantization& q) {
  return q.dtype == DType::kInt16 ? to_integers<int16_t>(floats, q) : to_integers<int8_t>(floats, q);
}

Result<std::vector<std::vector<Tensor>>> read_samples(const std::string& path, size_t inputs) {
  CARINA_TRY(const Buffer file, map_file(path));
  CARINA_TRY(const NpzContent content, read_npz(file, path));
  std::vector<std::vector<Tensor>> samples(content.arrays.size() / inputs);
  for (size_t s = 0; s < samples.size(); ++s) {
    for (size_t i = 0; i < inputs; ++i) samples[s].push_back(content.arrays.at(fmt::format("{}_{}", s, i)));
  }
  return samples;
}

void print_quantization(const ir::Graph& graph) {
  std::string text;
  for (const ir::Value& value : graph.values) {
    if (!value.quantization) continue;
    const Quantization& q = *value.quantization;
    text += fmt::format(
        "{}\n\"{}\": {{\"dtype\": \"{}\", \"axis\": {}, \"scales\": [{}], \"zero_points\": [{}], \"constant\": {}}}",
        text.empty() ? "" : ",", value.name, name_of(q.dtype), q.axis, fmt::join(q.scales, ", "),
        fmt::join(q.zero_points, ", "), value.constant.has_value());
  }
  fmt::print("{{\"values\": {{{}}},\n\"nodes\": [", text);
  for (const ir::Node& node : graph.nodes)
    fmt::print("{}\"{}\"", &node == graph.nodes.data() ? "" : ", ", node.op.name());
  fmt::print("]}}\n");
}

Result<void> run(const std::vector<std::string>& arguments) {
  const Log log{.note = [](const Diagnostic& d) { fmt::print(stderr, "note: {}\n", to_string(d)); }};
  CARINA_TRY(const Buffer file, map_file(arguments[0]));
  CARINA_TRY(ir::Graph graph, pt2::read_pt2(file, arguments[0], log));
  CARINA_CHECKED(quantize::fold_imported_weights(graph));
  CARINA_CHECKED(normalize::normalize(graph, log));
  if (arguments.size() > 3) {
    CARINA_TRY(const auto calibration, read_samples(arguments[3], graph.inputs.size()));
    quantize::PtqOptions options;
    if (arguments.size() > 4) {
      CARINA_TRY(const auto scheme, quantize::parse_scheme(arguments[4]));
      if (scheme) options.scheme.general = *scheme;
    }
    CARINA_CHECKED(quantize::quantize(graph, calibration, options, log));
  } else {
    CARINA_CHECKED(quantize::fold_imported(graph, log));
  }
  print_quantization(graph);
  CARINA_TRY(lower::Lowered lowered,
             lower::to_tosa(graph, {.limits = kDefaultLowering.limits, .idioms = kDefaultLowering.idioms}, log));
  ir::Module module;
  module.graphs.push_back(std::move(lowered.graph));
  CARINA_TRY(interpret::Interpreter interpreter, interpret::Interpreter::create(module, {}));
  CARINA_TRY(const auto samples, read_samples(arguments[1], graph.inputs.size()));
  std::map<std::string, Tensor> results;
  for (size_t s = 0; s < samples.size(); ++s) {
    std::vector<Tensor> inputs = samples[s];
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (const auto& q = graph[graph.inputs[i]].quantization) inputs[i] = to_integers(inputs[i], *q);
    }
    CARINA_TRY(const std::vector<Tensor> outputs, interpreter.run(inputs));
    for (size_t i = 0; i < outputs.size(); ++i) {
      const auto& q = graph[graph.outputs[i]].quantization;
      results.emplace(fmt::format("{}_{}", s, i), q ? dequantized(outputs[i], *q) : outputs[i]);
    }
  }
  CARINA_TRY(const std::vector<std::byte> bytes, npz_bytes(results));
  return write_file(arguments[2], bytes);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const Result<void> done = run({argv + 1, argv + argc});
  if (!done) fmt::print(stderr, "{}\n", to_string(done.error()));
  return done ? 0 : 1;
}
