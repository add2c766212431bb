// What:   a batch norm with running statistics becomes part of the convolution or linear before it, otherwise a product
//         and a sum.
// Before: %c = aten.conv2d.default(%x, %w, %b)
//         %n = aten.batch_norm.default(%c, %gamma, %beta, %mean, %var, eps=1e-5)
// After:  %n = aten.conv2d.default(%x, %w_folded, %b_folded)
//         or %m = aten.mul.Tensor(%x, %scale); %n = aten.add.Tensor(%m, %offset)
// Needs:  one-spelling (canonicalize); constant float parameters. Folding also needs that %c has no other reader and
//         that the weights are not quantized.
// Gives:  no-batch-norm: none that reads statistics.
// Legal:  with s = gamma / sqrt(var + eps): s * (w x + b - mean) + beta = (s w) x + (s (b - mean) + beta), per channel.

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "base/memory/prefault.h"
#include "base/memory/prefetch.h"
#include "base/parallel/parallel.h"
#include "normalize/normalize.h"
#include "normalize/passes_internal.h"
#include "normalize/rewriter.h"

namespace carina::normalize {
namespace {

using ir::Node;
using ir::ValueId;

// Per channel: y = scale * x + offset. Computed in double and rounded once at the end.
struct Affine {
  std::vector<double> scale;
  std::vector<double> offset;
};

bool is_float_constant(const Rewriter& in, ValueId id) {
  return id.valid() && in[id].constant && in[id].constant->dtype == DType::kFp32 && !in[id].quantization;
}

std::optional<Affine> affine_of(const Rewriter& in, const Node& norm) {
  const auto values = [&](size_t operand, double otherwise, size_t size) {
    std::vector<double> result(size, otherwise);
    if (norm.inputs[operand].valid()) {
      const auto data = in[norm.inputs[operand]].constant->values<float>();
      result.assign(data.begin(), data.end());
    }
    return result;
  };
  for (size_t operand = 1; operand < 5; ++operand) {
    const bool optional = operand < 3;
    if (!is_float_constant(in, norm.inputs[operand]) && !(optional && !norm.inputs[operand].valid()))
      return std::nullopt;
  }
  const auto channels = static_cast<size_t>(in[norm.inputs[3]].shape.elements());
  const auto gamma = values(1, 1, channels), beta = values(2, 0, channels);
  const auto mean = values(3, 0, channels), variance = values(4, 1, channels);
  const double eps = norm.attributes.number("eps");
  Affine affine;
  for (size_t c = 0; c < channels; ++c) {
    affine.scale.push_back(gamma[c] / std::sqrt(variance[c] + eps));
    affine.offset.push_back(beta[c] - affine.scale[c] * mean[c]);
  }
  return affine;
}

bool is_batch_norm(const Node& node) {
  return node.op == ir::Op(AtenOp::batch_norm_default) ||
         node.op == ir::Op(AtenOp::_native_batch_norm_legit_no_training_default);
}

bool is_training(const Node& norm) {
  return norm.attributes.find("training") != nullptr && norm.attributes.get<bool>("training");
}

// The batch norm that is the only reader of a node's result, if it reads the result as its data operand.
std::optional<ir::NodeId> norm_after(const Rewriter& in, const Node& node) {
  const ValueId result = node.outputs[0];
  if (in.uses(result) != 1 || in.readers(result).size() != 1 || in[result].quantization) return std::nullopt;
  const ir::NodeId reader = in.readers(result).front();
  const Node& norm = in.old_node(reader);
  if (!is_batch_norm(norm) || is_training(norm) || norm.inputs[0] != result) return std::nullopt;
  return reader;
}

void scale_row(std::span<const float> from, double scale, std::span<float> to) {
  constexpr size_t kLine = kLineBytes / sizeof(float);
  const size_t whole = from.size() - from.size() % kLine;
  for (size_t i = 0; i < whole; i += kLine) {
    prefetch_ahead(from.data() + i);
    for (size_t lane = 0; lane < kLine; ++lane) to[i + lane] = static_cast<float>(from[i + lane] * scale);
  }
  for (size_t i = whole; i < from.size(); ++i) to[i] = static_cast<float>(from[i] * scale);
}

Tensor scaled_weight(const Tensor& weight, const Affine& affine) {
  MutableTensor folded(DType::kFp32, weight.shape);
  const auto from = weight.values<float>();
  auto to = folded.values<float>();
  const size_t per_channel = from.size() / affine.scale.size();
  constexpr size_t kPartElements = size_t{1} << 16;  // work per thread; less is not worth a thread
  const size_t part = std::max<size_t>(1, kPartElements / std::max<size_t>(1, per_channel));
  parallel_for_chunks(affine.scale.size(), part, [&](size_t begin, size_t end) {
    prefault(to.subspan(begin * per_channel, (end - begin) * per_channel));
    for (size_t c = begin; c < end; ++c)
      scale_row(from.subspan(c * per_channel, per_channel), affine.scale[c], to.subspan(c * per_channel, per_channel));
  });
  return std::move(folded).freeze();
}

Tensor scaled_bias(const Rewriter& in, ValueId bias, const Affine& affine) {
  MutableTensor folded(DType::kFp32, Shape{static_cast<int64_t>(affine.scale.size())});
  for (size_t c = 0; c < affine.scale.size(); ++c) {
    const double before = bias.valid() ? in[bias].constant->values<float>()[c] : 0.0;
    folded.values<float>()[c] = static_cast<float>(before * affine.scale[c] + affine.offset[c]);
  }
  return std::move(folded).freeze();
}

// Convolutions and linear layers: axis 0 of the weight is the output channel.
Result<bool> fold_next_norm(Rewriter& in, const Node& node) {
  if (!node.attributes.is_none("transposed") && node.attributes.get<bool>("transposed")) return false;
  const auto next = norm_after(in, node);
  if (!next) return false;
  const ValueId weight = node.inputs[1];
  const ValueId bias = node.inputs.size() > 2 ? node.inputs[2] : ValueId();
  if (!is_float_constant(in, weight) || (bias.valid() && !is_float_constant(in, bias))) return false;
  const Node& norm = in.old_node(*next);
  const auto affine = affine_of(in, norm);
  if (!affine || in[weight].shape.rank() == 0 || static_cast<size_t>(in[weight].shape[0]) != affine->scale.size())
    return false;
  // After a linear layer on [N,T,K], a norm over axis 1 does not apply to the layer's channels.
  if (in[weight].shape.rank() == 2 && in[node.outputs[0]].shape.rank() != 2) return false;
  const ValueId folded_weight = in.constant(in[weight].name + "_bn", scaled_weight(*in[weight].constant, *affine));
  const ValueId folded_bias = in.constant(in[weight].name + "_bn_bias", scaled_bias(in, bias, *affine));
  in.skip(*next);
  CARINA_CHECKED(
      in.define(norm.outputs[0], node.op.aten(), {node.inputs[0], folded_weight, folded_bias}, node.attributes));
  return true;
}

ValueId channel_constant(Rewriter& in, const std::string& name, const std::vector<double>& values, size_t rank) {
  Shape shape(std::vector<int64_t>(rank, 1));
  shape[1] = static_cast<int64_t>(values.size());
  MutableTensor tensor(DType::kFp32, shape);
  for (size_t c = 0; c < values.size(); ++c) tensor.values<float>()[c] = static_cast<float>(values[c]);
  return in.constant(name, std::move(tensor).freeze());
}

Result<bool> norm_to_mul_add(Rewriter& in, const Node& node) {
  if (is_training(node)) {
    // A layer that keeps no statistics computes them from each input in eval mode too: decompose rewrites it.
    if (!node.inputs[3].valid()) return false;
    Diagnostic diagnostic = about(node, "batch_norm is in training mode");
    diagnostic.hint = "call model.eval() before torch.export.export()";
    return fail(std::move(diagnostic));
  }
  const auto affine = affine_of(in, node);
  const Shape shape = in.shape(node.inputs[0]);
  if (!affine || shape.rank() < 2) return fail(about(node, "batch_norm needs constant float parameters"));
  const ValueId scale = channel_constant(in, node.name + "_scale", affine->scale, shape.rank());
  const ValueId offset = channel_constant(in, node.name + "_offset", affine->offset, shape.rank());
  const ValueId product = in.make(AtenOp::mul_Tensor, {node.inputs[0], scale}, {}, shape);
  CARINA_CHECKED(in.define(node.outputs[0], AtenOp::add_Tensor, {product, offset}, {{"alpha", int64_t{1}}}));
  return true;
}

constexpr RewriteRow kFoldBatchNormRows[] = {
    {AtenOp::conv1d_default, fold_next_norm},
    {AtenOp::conv1d_padding, fold_next_norm},
    {AtenOp::conv2d_default, fold_next_norm},
    {AtenOp::conv2d_padding, fold_next_norm},
    {AtenOp::conv3d_default, fold_next_norm},
    {AtenOp::convolution_default, fold_next_norm},
    {AtenOp::linear_default, fold_next_norm},
    {AtenOp::batch_norm_default, norm_to_mul_add},
    {AtenOp::_native_batch_norm_legit_no_training_default, norm_to_mul_add},
};

}  // namespace

std::span<const RewriteRow> batch_norm_rows() {
  return kFoldBatchNormRows;
}

Result<void> check_computes_in_fp32(const ir::Graph& graph) {
  const auto rejected = [](const std::string& where, const ir::Value& value) {
    return fail({.where = where,
                 .what = fmt::format("the model computes in {} ({})", name_of(value.dtype), value.name),
                 .expected = "fp32",
                 .hint = "export model.float()"});
  };
  const auto is_other = [&](ValueId id) {
    return id.valid() && is_float(graph[id].dtype) && graph[id].dtype != DType::kFp32;
  };
  for (const ValueId input : graph.inputs) {
    if (is_other(input)) return rejected(graph[input].name, graph[input]);
  }
  for (const Node& node : graph.nodes) {
    const bool has_weights = node.op.is_aten() && std::ranges::find(kFoldBatchNormRows, node.op.aten(),
                                                                    &RewriteRow::op) != std::end(kFoldBatchNormRows);
    if (has_weights && is_other(node.inputs[0])) return rejected(where_of(node), graph[node.inputs[0]]);
  }
  return {};
}

Result<void> fold_batch_norm(ir::Graph& graph, const Log&) {
  return Rewriter(graph, kFoldBatchNormRows).run();
}

}  // namespace carina::normalize
