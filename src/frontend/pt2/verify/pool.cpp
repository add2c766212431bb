#include <array>

#include "frontend/pt2/verify/rule.h"
#include "frontend/pt2/verify/windows.h"

namespace carina::aten {

namespace {

std::expected<void, std::string> check_rank(const NodeView& n, size_t spatial) {
  if (n.rank(0) == spatial + 1 || n.rank(0) == spatial + 2) return {};
  return broken("its operand has rank {}, not {} or {}", n.rank(0), spatial + 1, spatial + 2);
}

Shapes times(const Sizes& sizes, size_t count) {
  CARINA_TRY(const auto shapes, one(sizes));
  return std::vector<std::optional<Shape>>(count, shapes.front());
}

// [N,C,spatial...] or [C,spatial...]
template <size_t kSpatial>
Shapes pool(const NodeView& n) {
  CARINA_CHECKED(check_rank(n, kSpatial));
  const Sizes &kernel = n.ints("kernel_size"), &padding = n.ints("padding");
  const Sizes& stride = n.ints("stride").empty() ? kernel : n.ints("stride");
  const Sizes dilation = n.node.attributes.find("dilation") != nullptr ? n.ints("dilation") : Sizes(kSpatial, 1);
  for (const Sizes* list : {&kernel, &stride, &padding, &dilation}) {
    if (list->size() != kSpatial) return broken("a list of {} numbers for {} axes", list->size(), kSpatial);
  }
  Sizes sizes = sizes_of(n.shape(0));
  for (size_t i = 0; i < kSpatial; ++i) {
    const Window window{.kernel = kernel[i],
                        .stride = stride[i],
                        .padding = padding[i],
                        .dilation = dilation[i],
                        .ceil_mode = n.flag("ceil_mode")};
    int64_t& size = sizes[sizes.size() - kSpatial + i];
    CARINA_TRY(size, windows_in(size, window));
    if (padding[i] > ((kernel[i] - 1) * dilation[i] + 1) / 2)
      return broken("padding {} is more than half of kernel {}", padding[i], kernel[i]);
  }
  const ir::Attribute* divisor = n.node.attributes.find("divisor_override");
  if (divisor != nullptr && !n.is_none("divisor_override") && n.integer("divisor_override") == 0)
    return broken("its divisor is 0");
  return times(sizes, n.node.outputs.size());
}

template <size_t kSpatial>
Shapes adaptive_pool(const NodeView& n) {
  CARINA_CHECKED(check_rank(n, kSpatial));
  const Sizes& wanted = n.ints("output_size");
  if (wanted.size() != kSpatial) return broken("{} result sizes for {} axes", wanted.size(), kSpatial);
  Sizes sizes = sizes_of(n.shape(0));
  for (size_t i = 0; i < kSpatial; ++i) {
    int64_t& size = sizes[sizes.size() - kSpatial + i];
    if (wanted[i] < 0 || (size == 0 && wanted[i] > 0)) return broken("{} windows over {} elements", wanted[i], size);
    size = wanted[i];
  }
  return times(sizes, n.node.outputs.size());
}

constexpr std::array kPoolRules = {
    Rule{AtenOp::max_pool1d_default, pool<1>, same_type},
    Rule{AtenOp::max_pool2d_default, pool<2>, same_type},
    Rule{AtenOp::max_pool3d_default, pool<3>, same_type},
    Rule{AtenOp::max_pool1d_with_indices_default, pool<1>, values_and_indices},
    Rule{AtenOp::max_pool2d_with_indices_default, pool<2>, values_and_indices},
    Rule{AtenOp::max_pool3d_with_indices_default, pool<3>, values_and_indices},
    Rule{AtenOp::avg_pool1d_default, pool<1>, same_type},
    Rule{AtenOp::avg_pool2d_default, pool<2>, same_type},
    Rule{AtenOp::avg_pool3d_default, pool<3>, same_type},
    Rule{AtenOp::adaptive_avg_pool1d_default, adaptive_pool<1>, same_type},
    Rule{AtenOp::adaptive_avg_pool2d_default, adaptive_pool<2>, same_type},
    Rule{AtenOp::adaptive_avg_pool3d_default, adaptive_pool<3>, same_type},
    Rule{AtenOp::_adaptive_avg_pool2d_default, adaptive_pool<2>, same_type},
    Rule{AtenOp::_adaptive_avg_pool3d_default, adaptive_pool<3>, same_type},
    Rule{AtenOp::adaptive_max_pool1d_default, adaptive_pool<1>, values_and_indices},
    Rule{AtenOp::adaptive_max_pool2d_default, adaptive_pool<2>, values_and_indices},
    Rule{AtenOp::adaptive_max_pool3d_default, adaptive_pool<3>, values_and_indices},
};

}  // namespace

std::span<const Rule> pool_rules() {
  return kPoolRules;
}

}  // namespace carina::aten
