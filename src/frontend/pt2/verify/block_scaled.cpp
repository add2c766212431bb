#include <array>

#include "frontend/pt2/verify/rule.h"
#include "frontend/pt2/verify/windows.h"

namespace carina::aten {

namespace {

// Weights [..,C] or, with two elements in a byte, [..,C/2]; scales of blocks along the last axis.
std::expected<void, std::string> check_blocks(const NodeView& n, int64_t channels) {
  const Shape &weight = n.shape(1), &scale = n.shape(2);
  const int64_t size = n.integer("block_size"), stored = weight[weight.rank() - 1];
  if (size < 1 || channels % size != 0 ||
      (stored != channels && (stored * 2 != channels || n.dtype(1) != DType::kUInt8)))
    return broken("weights {} for {} channels in blocks of {}", to_string(weight), channels, size);
  Shape wanted = weight;
  wanted[wanted.rank() - 1] = channels / size;
  if (scale != wanted) return broken("its scales are {}, not {}", to_string(scale), to_string(wanted));
  return {};
}

// [..,C] with weights [1,W,C] -> [..,W]
Shapes scaled_linear(const NodeView& n) {
  const Shape &x = n.shape(0), &weight = n.shape(1);
  if (x.rank() < 1 || weight.rank() != 3 || weight[0] != 1)
    return broken("an operand {} and weights {}", to_string(x), to_string(weight));
  CARINA_CHECKED(check_blocks(n, x[x.rank() - 1]));
  CARINA_CHECKED(expect_shape(n, 3, "bias", Shape{weight[1]}));
  Shape shape = x;
  shape[shape.rank() - 1] = weight[1];
  return one(shape);
}

// [N,C,H,W] with weights [O,KH,KW,C] -> [N,O,H,W]
Shapes scaled_conv2d(const NodeView& n) {
  Shape shape = n.shape(0);
  const Shape& weight = n.shape(1);
  if (shape.rank() != 4 || weight.rank() != 4 || n.integer("groups") < 1 || shape[1] % n.integer("groups") != 0)
    return broken("an operand {} and weights {}", to_string(shape), to_string(weight));
  CARINA_CHECKED(check_blocks(n, shape[1] / n.integer("groups")));
  CARINA_CHECKED(expect_shape(n, 3, "bias", Shape{weight[0]}));
  for (const std::string_view list : {"stride", "padding", "dilation"}) {
    if (n.ints(list).size() != 2) return broken("a list of {} numbers for 2 axes", n.ints(list).size());
  }
  shape[1] = weight[0];
  for (size_t i = 0; i < 2; ++i) {
    const Window window{.kernel = weight[1 + i],
                        .stride = n.ints("stride")[i],
                        .padding = n.ints("padding")[i],
                        .dilation = n.ints("dilation")[i]};
    CARINA_TRY(shape[2 + i], windows_in(shape[2 + i], window));
  }
  return one(shape);
}

// The operand's type, or fp32: the operators of a bf16 model give either, by how the model was exported.
ResultType own_type_or_fp32(const NodeView& n, size_t) {
  return {.dtype = n.dtype(0), .instead = ResultType::Instead::kAnyFloat};
}

constexpr std::array kBlockScaledRules = {
    Rule{AtenOp::mxfp_linear_default, scaled_linear, own_type_or_fp32},
    Rule{AtenOp::mxfp_conv2d_default, scaled_conv2d, own_type_or_fp32},
};

}  // namespace

std::span<const Rule> block_scaled_rules() {
  return kBlockScaledRules;
}

}  // namespace carina::aten
