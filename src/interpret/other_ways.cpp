#include "interpret/other_ways_internal.h"

#include <cmath>
#include <cstring>

#include "carina/check.h"
#include "interpret/elements_internal.h"

namespace carina::interpret {

namespace {

// Multiply-adds that plain loops take some tens of milliseconds for. Winograd's algorithm, whose bits differ, begins at
// 16e6 (winograd_f32.cpp).
constexpr int64_t kMaxWork = 12'000'000;

// The multiply-adds of one output element.
int64_t terms_of(const ir::Graph& graph, const ir::Node& node) {
  if (!node.op.is_tosa() || node.inputs.size() < 2) return 1;
  const Shape& shape = graph[node.inputs[1]].shape;
  const int64_t channels = graph[node.outputs.front()].shape.dims().back();
  switch (node.op.tosa()) {
    case TosaOp::CONV2D:
    case TosaOp::CONV3D:
    case TosaOp::DEPTHWISE_CONV2D:
    case TosaOp::TRANSPOSE_CONV2D:
      return shape.elements() / std::max<int64_t>(channels, 1);
    case TosaOp::MATMUL:
      return shape.rank() == 3 ? shape[1] : 1;
    default:
      return 1;
  }
}

bool is_small(const ir::Module& module) {
  int64_t work = 0;
  for (const ir::Graph& graph : module.graphs) {
    for (const ir::Node& node : graph.nodes) {
      for (const ir::ValueId output : node.outputs) {
        const Shape& shape = graph[output].shape;
        if (shape.rank() == 0) continue;
        const int64_t elements = shape.elements(), terms = terms_of(graph, node);
        if (elements > kMaxWork || terms > kMaxWork) return false;
        work += elements * terms;
        if (work > kMaxWork) return false;
      }
    }
  }
  return true;
}

template <typename Element>
bool same_floats(const Tensor& a, const Tensor& b) {
  const auto x = a.values<typename Element::Storage>(), y = b.values<typename Element::Storage>();
  for (size_t i = 0; i < x.size(); ++i) {
    const bool same = std::memcmp(&x[i], &y[i], sizeof(x[i])) == 0;
    if (!same && !(std::isnan(Element::load(x[i])) && std::isnan(Element::load(y[i])))) return false;
  }
  return true;
}

bool same(const Tensor& a, const Tensor& b) {
  if (identical(a, b)) return true;
  if (a.dtype != b.dtype || !(a.shape == b.shape)) return false;
  if (a.dtype == DType::kFp32) return same_floats<F32>(a, b);
  if (a.dtype == DType::kFp16) return same_floats<F16>(a, b);
  if (a.dtype == DType::kBf16) return same_floats<BF16>(a, b);
  return false;
}

}  // namespace

std::vector<Options> other_ways(const ir::Module& module, const Options& options) {
  if (!is_small(module)) return {};
  Options other{.threads = options.threads == 3 ? 1 : 3, .where = options.where, .loop_limit = options.loop_limit};
  Options plain = other;
  plain.threads = 1;
  plain.kernels = Kernels::kPlain;
  return {other, plain};
}

void check_same_outputs(const ir::Graph& graph, std::span<const Tensor> outputs, const Options& options,
                        std::span<const Tensor> other, const Options& other_options) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    CARINA_CHECK(same(outputs[i], other[i]),
                 "output {} ({}) with {} threads differs from that with {} threads and {} kernels: "
                 "two ways to run a graph must give the same bits",
                 i, graph[graph.outputs[i]].name, options.threads, other_options.threads,
                 other_options.kernels == Kernels::kPlain ? "plain" : "fast");
  }
}

}  // namespace carina::interpret
