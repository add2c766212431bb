#include <array>

#include "frontend/pt2/verify/rule.h"
#include "frontend/pt2/verify/windows.h"

namespace carina::aten {

namespace {

// The arguments of a convolution, whatever its schema calls them.
struct Convolution {
  size_t spatial = 0;
  int64_t groups = 1;
  bool transposed = false;
  bool padded_to_same = false;
  Sizes stride;
  Sizes padding;
  Sizes dilation;
  Sizes output_padding;
};

std::expected<void, std::string> check_channels(const NodeView& n, const Convolution& c, int64_t channels,
                                                int64_t results) {
  const Shape& weight = n.shape(1);
  if (c.groups < 1 || channels % c.groups != 0 || weight[0] % c.groups != 0)
    return broken("{} channels and weights {} in {} groups", channels, to_string(weight), c.groups);
  const int64_t expected = c.transposed ? weight[0] : weight[1] * c.groups;
  if (channels != expected)
    return broken("its operand has {} channels, its weights {} are for {}", channels, to_string(weight), expected);
  return expect_shape(n, 2, "bias", Shape{results});
}

// [N,C,spatial...] or [C,spatial...], weights [O,C/groups,kernel...], transposed [C,O/groups,kernel...].
Shapes result_of(const NodeView& n, const Convolution& c) {
  CARINA_CHECKED(expect_one_type(n, 1, 2));
  const Shape &x = n.shape(0), &weight = n.shape(1);
  if (weight.rank() != c.spatial + 2) return broken("its weights have rank {}, not {}", weight.rank(), c.spatial + 2);
  if (x.rank() != c.spatial + 1 && x.rank() != c.spatial + 2)
    return broken("its operand has rank {}, not {} or {}", x.rank(), c.spatial + 1, c.spatial + 2);
  for (const Sizes* list : {&c.stride, &c.padding, &c.dilation, &c.output_padding}) {
    if (list->size() != c.spatial) return broken("a list of {} numbers for {} axes", list->size(), c.spatial);
  }
  const size_t channel = x.rank() - c.spatial - 1;
  const int64_t results = c.transposed ? weight[1] * c.groups : weight[0];
  CARINA_CHECKED(check_channels(n, c, x[channel], results));
  Sizes sizes = sizes_of(x);
  sizes[channel] = results;
  for (size_t i = 0; i < c.spatial; ++i) {
    const Window window{
        .kernel = weight[2 + i], .stride = c.stride[i], .padding = c.padding[i], .dilation = c.dilation[i]};
    int64_t& size = sizes[channel + 1 + i];
    if (c.padded_to_same) {
      if (window.kernel < 1 || window.dilation < 1 || window.stride != 1) return broken("padding same with a stride");
      continue;
    }
    CARINA_TRY(size, c.transposed ? transposed_size(size, window, c.output_padding[i]) : windows_in(size, window));
  }
  return one(sizes);
}

Convolution arguments_of(const NodeView& n, size_t spatial) {
  return {.spatial = spatial,
          .groups = n.integer("groups"),
          .stride = n.ints("stride"),
          .padding = Sizes(spatial, 0),
          .dilation = n.ints("dilation"),
          .output_padding = Sizes(spatial, 0)};
}

template <size_t kSpatial>
Shapes convolution(const NodeView& n) {
  Convolution c = arguments_of(n, kSpatial);
  c.padding = n.ints("padding");
  return result_of(n, c);
}

template <size_t kSpatial>
Shapes convolution_with_word(const NodeView& n) {
  Convolution c = arguments_of(n, kSpatial);
  const auto& word = n.node.attributes.get<std::string>("padding");
  if (word != "same" && word != "valid") return broken("padding is neither same nor valid");
  c.padded_to_same = word == "same";
  return result_of(n, c);
}

template <size_t kSpatial>
Shapes transposed_convolution(const NodeView& n) {
  Convolution c = arguments_of(n, kSpatial);
  c.transposed = true;
  c.padding = n.ints("padding");
  c.output_padding = n.ints("output_padding");
  return result_of(n, c);
}

Shapes any_convolution(const NodeView& n) {
  if (n.rank(1) < 3) return broken("its weights have rank {}", n.rank(1));
  Convolution c = arguments_of(n, n.rank(1) - 2);
  c.transposed = n.flag("transposed");
  c.padding = n.ints("padding");
  if (c.transposed) c.output_padding = n.ints("output_padding");
  return result_of(n, c);
}

// [...,K], weights [N,K] or [K] -> [...,N] or [...]
Shapes linear(const NodeView& n) {
  CARINA_CHECKED(expect_one_type(n, 1, 2));
  const Shape &x = n.shape(0), &weight = n.shape(1);
  if (x.rank() < 1 || weight.rank() < 1 || weight.rank() > 2)
    return broken("an operand of rank {} and weights of rank {}", x.rank(), weight.rank());
  if (x[x.rank() - 1] != weight[weight.rank() - 1])
    return broken("its operand {} does not fit its weights {}", to_string(x), to_string(weight));
  Sizes sizes = sizes_of(x);
  sizes.pop_back();
  if (weight.rank() == 2) sizes.push_back(weight[0]);
  if (n.has(2) && !broadcasts_to(n.shape(2), Shape(sizes)))
    return broken("its bias {} does not fit its result {}", to_string(n.shape(2)), to_string(Shape(sizes)));
  return one(sizes);
}

constexpr std::array kConvolutionRules = {
    Rule{AtenOp::conv1d_default, convolution<1>, same_type},
    Rule{AtenOp::conv2d_default, convolution<2>, same_type},
    Rule{AtenOp::conv3d_default, convolution<3>, same_type},
    Rule{AtenOp::conv1d_padding, convolution_with_word<1>, same_type},
    Rule{AtenOp::conv2d_padding, convolution_with_word<2>, same_type},
    Rule{AtenOp::conv3d_padding, convolution_with_word<3>, same_type},
    Rule{AtenOp::conv_transpose1d_default, transposed_convolution<1>, same_type},
    Rule{AtenOp::conv_transpose2d_input, transposed_convolution<2>, same_type},
    Rule{AtenOp::conv_transpose3d_input, transposed_convolution<3>, same_type},
    Rule{AtenOp::convolution_default, any_convolution, same_type},
    Rule{AtenOp::_convolution_deprecated, any_convolution, same_type},
    Rule{AtenOp::_convolution_default, any_convolution, same_type},
    Rule{AtenOp::linear_default, linear, same_type},
};

}  // namespace

std::span<const Rule> convolution_rules() {
  return kConvolutionRules;
}

}  // namespace carina::aten
