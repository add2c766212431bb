#include "quantize/raw_io.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <span>

namespace carina::quantize {

namespace {

using ir::ValueId;

class RawEdges {
 public:
  RawEdges(ir::Graph& graph, DType type, const Log& log) : graph_(graph), type_(type), log_(log) {}

  Result<void> run() {
    for (ValueId& input : std::span(graph_.inputs).first(graph_.inputs_without_state())) {
      if (const auto parameters = of_edge(input, "input")) input = dequantized(input, *parameters);
    }
    std::ranges::move(graph_.nodes, std::back_inserter(nodes_));
    for (ValueId& output : std::span(graph_.outputs).first(graph_.outputs_without_state())) {
      if (const auto parameters = of_edge(output, "output")) output = quantized(output, *parameters);
    }
    graph_.nodes = std::move(nodes_);
    if (!errors_.empty()) return fail(std::move(errors_));
    return {};
  }

 private:
  // Returns the parameters with the same steps, for integers of type_. No value: the input or output stays as it is.
  std::optional<Quantization> of_edge(ValueId id, std::string_view what) {
    if (!id.valid() || graph_[id].dtype != DType::kFp32 || graph_[id].constant) return std::nullopt;
    const ir::Value& value = graph_[id];
    if (!value.quantization) {
      log_.note({.where = value.name,
                 .what = fmt::format("the {} stays float: no quantized node reads or writes it", what),
                 .severity = Severity::kWarning});
      return std::nullopt;
    }
    Quantization q = *value.quantization;
    if (row_of(q.dtype).bits != row_of(type_).bits) {
      errors_.push_back({.where = value.name,
                         .what = fmt::format("the {} is quantized to other integers than it is to have", what),
                         .expected = std::string(name_of(type_)),
                         .got = std::string(name_of(q.dtype)),
                         .hint = fmt::format("--quantize-at {}s=SCHEME, or another --io", what),
                         .fault = Fault::kUsage});
      return std::nullopt;
    }
    const int64_t shift = range_of(type_).min - range_of(q.dtype).min;
    q.dtype = type_;
    q.qmin += shift;
    q.qmax += shift;
    for (int64_t& zero_point : q.zero_points) zero_point += shift;
    log_.note({.where = value.name,
               .what = fmt::format("the {} is {}: real = (integer {} {}) * {}", what, name_of(type_),
                                   q.zero_point() < 0 ? '+' : '-', std::abs(q.zero_point()), q.scale()),
               .severity = Severity::kNote});
    return q;
  }

  // Adds an integer value that takes over the name of a float value.
  ValueId add_integers(ValueId real) {
    const std::string name = graph_[real].name;
    const ValueId raw = graph_.add_value(name + "_raw", type_, Shape(graph_[real].shape));
    graph_.rename(real, name + "_real");
    graph_.rename(raw, name);
    return raw;
  }

  static ir::Attributes attributes_of(const Quantization& q) {
    return {{"scale", q.scale()},
            {"zero_point", q.zero_point()},
            {"quant_min", q.qmin},
            {"quant_max", q.qmax},
            {"dtype", q.dtype}};
  }

  ValueId dequantized(ValueId real, const Quantization& q) {
    const ValueId raw = add_integers(real);
    ir::Attributes attributes = attributes_of(q);
    attributes.set("out_dtype", std::monostate());
    nodes_.push_back({.op = AtenOp::dequantize_per_tensor_default,
                      .name = graph_[raw].name,
                      .inputs = {raw},
                      .outputs = {real},
                      .attributes = std::move(attributes),
                      .source = {}});
    return raw;
  }

  ValueId quantized(ValueId real, const Quantization& q) {
    const ValueId raw = add_integers(real);
    nodes_.push_back({.op = AtenOp::quantize_per_tensor_default,
                      .name = graph_[raw].name,
                      .inputs = {real},
                      .outputs = {raw},
                      .attributes = attributes_of(q),
                      .source = {}});
    return raw;
  }

  ir::Graph& graph_;
  DType type_;
  const Log& log_;
  std::vector<ir::Node> nodes_;
  Diagnostics errors_;
};

}  // namespace

Result<void> make_edges_raw(ir::Graph& graph, DType type, const Log& log) {
  return RawEdges(graph, type, log).run();
}

}  // namespace carina::quantize
