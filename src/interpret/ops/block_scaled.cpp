// The operators on block-scaled tensors: CAST_TO_BLOCK_SCALED, CAST_FROM_BLOCK_SCALED, MATMUL_T_BLOCK_SCALED and
// CONV2D_BLOCK_SCALED. 32 elements along the last axis share one scale, a power of two.

#include <array>
#include <cmath>

#include "interpret/checks_internal.h"
#include "interpret/elements_internal.h"
#include "interpret/ops/conv_internal.h"

namespace carina::interpret {

namespace {

using enum DType;

constexpr int64_t kBlock = 32;

// A value is representable with a scale if it rounds to at most `largest`: it is below `limit`, which lies halfway
// between `largest` and the next value of the same precision, or equal to it if that tie rounds down, to even.
struct ElementRange {
  double largest;
  double limit;
  bool tie_rounds_down;
};
template <typename Element>
constexpr ElementRange kRange{};
template <>
constexpr ElementRange kRange<E2M1>{.largest = 6, .limit = 7, .tie_rounds_down = false};
template <>
constexpr ElementRange kRange<E2M3>{.largest = 7.5, .limit = 7.75, .tie_rounds_down = false};
template <>
constexpr ElementRange kRange<E3M2>{.largest = 28, .limit = 30, .tie_rounds_down = false};
template <>
constexpr ElementRange kRange<E4M3>{.largest = 448, .limit = 464, .tie_rounds_down = true};
template <>
constexpr ElementRange kRange<E5M2>{.largest = 57344, .limit = 61440, .tie_rounds_down = false};

// The exponent of a block's scale: the smallest that makes the largest magnitude representable, at least -127.
//   Example: fp4e2m1 holds up to 6. A block with a largest magnitude of 6.5 has exponent 0, since 6.5 rounds to 6; one
//   with 7 has exponent 1.
int scale_exponent(float max_magnitude, const ElementRange& range) {
  constexpr int kMinExponent = -127;
  if (max_magnitude == 0) return kMinExponent;
  const int exponent = std::ilogb(max_magnitude) - std::ilogb(range.largest);
  const double scaled = std::ldexp(double{max_magnitude}, -exponent);
  const bool fits = range.tie_rounds_down ? scaled <= range.limit : scaled < range.limit;
  return std::max(fits ? exponent : exponent + 1, kMinExponent);
}

// Quantizes one block. A NaN or an infinity in it makes its scale NaN, so all of its elements are NaN.
template <typename In, typename Element>
void quantize_block(const typename In::Storage* in, uint8_t* data, uint8_t& scale) {
  float max_magnitude = 0;
  bool finite = true;
  for (int64_t i = 0; i < kBlock; ++i) {
    const float magnitude = std::fabs(In::load(in[i]));
    finite = finite && std::isfinite(magnitude);
    max_magnitude = std::max(max_magnitude, magnitude);
  }
  if (!finite) {
    scale = E8M0::store(std::numeric_limits<float>::quiet_NaN());
    std::fill_n(data, kBlock, uint8_t{0});
    return;
  }
  const int exponent = scale_exponent(max_magnitude, kRange<Element>);
  scale = E8M0::store(std::ldexp(1.0F, exponent));
  for (int64_t i = 0; i < kBlock; ++i) data[i] = Element::store(std::ldexp(In::load(in[i]), -exponent));
}

template <typename Element, typename Out>
void dequantize_block(const uint8_t* data, uint8_t scale, typename Out::Storage* out) {
  const float factor = E8M0::load(scale);
  for (int64_t i = 0; i < kBlock; ++i) out[i] = Out::store(Element::load(data[i]) * factor);
}

// Calls block(index) for each block of a tensor, on several threads.
template <typename Block>
void for_each_block(const Call& call, int64_t blocks, const Block& block) {
  split(call.runtime.workers, blocks, 512, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) block(b);
  });
}

template <typename In, typename Element>
Kernel cast_to(const NodePlan& plan) {
  return {.run = [blocks = plan.out[1].shape->elements()](const Call& call) -> Result<void> {
    for_each_block(call, blocks, [&](int64_t b) {
      quantize_block<In, Element>(call.input<typename In::Storage>(0) + b * kBlock,
                                  call.output<uint8_t>(0) + b * kBlock, call.output<uint8_t>(1)[b]);
    });
    return {};
  }};
}

template <typename Element, typename Out>
Kernel cast_from(const NodePlan& plan) {
  return {.run = [blocks = plan.in[1].shape->elements()](const Call& call) -> Result<void> {
    for_each_block(call, blocks, [&](int64_t b) {
      dequantize_block<Element, Out>(call.input<uint8_t>(0) + b * kBlock, call.input<uint8_t>(1)[b],
                                     call.output<typename Out::Storage>(0) + b * kBlock);
    });
    return {};
  }};
}

// Writes operands `data` and `data + 1`, elements and scales, as fp32 numbers.
template <typename Element>
void dequantize(const Call& call, size_t data, int64_t blocks, float* out) {
  for_each_block(call, blocks, [&](int64_t b) {
    dequantize_block<Element, F32>(call.input<uint8_t>(data) + b * kBlock, call.input<uint8_t>(data + 1)[b],
                                   out + b * kBlock);
  });
}

// A [N,H,C] times B [D,W,C], transposed. One B is used for all N if D is 1.
struct Product {
  int64_t n, h, c, d, w;

  [[nodiscard]] int64_t a_elements() const { return n * h * c; }
  [[nodiscard]] int64_t b_elements() const { return d * w * c; }

  void run(const Call& call, const float* a, const float* b) const {
    split(call.runtime.workers, n * h, 1 + 65536 / (c * w + 1), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const float* columns = b + (d == 1 ? 0 : row / h * w * c);
        for (int64_t column = 0; column < w; ++column) {
          float sum = 0;
          for (int64_t i = 0; i < c; ++i) sum = std::fma(a[row * c + i], columns[column * c + i], sum);
          call.output<float>(0)[row * w + column] = sum;
        }
      }
    });
  }
};

template <typename Element>
Kernel matmul(const NodePlan& plan) {
  const Product product{.n = plan.in[0].dim(0),
                        .h = plan.in[0].dim(1),
                        .c = plan.in[0].dim(2),
                        .d = plan.in[2].dim(0),
                        .w = plan.in[2].dim(1)};
  return {.run = [product](const Call& call) -> Result<void> {
            auto* a = reinterpret_cast<float*>(call.scratch);
            float* b = a + product.a_elements();
            dequantize<Element>(call, 0, product.a_elements() / kBlock, a);
            dequantize<Element>(call, 2, product.b_elements() / kBlock, b);
            product.run(call, a, b);
            return {};
          },
          .scratch_bytes = static_cast<size_t>(product.a_elements() + product.b_elements()) * sizeof(float)};
}

// The convolution of the dequantized operands. `convolve` is its kernel; it reads image, weights and bias.
template <typename Element>
Kernel conv2d(const NodePlan& plan, Kernel convolve) {
  const int64_t image = plan.in[0].shape->elements(), weight = plan.in[2].shape->elements();
  return {.run = [image, weight, convolve = std::move(convolve)](const Call& call) -> Result<void> {
            auto* x = reinterpret_cast<float*>(call.scratch);
            dequantize<Element>(call, 0, image / kBlock, x);
            dequantize<Element>(call, 2, weight / kBlock, x + image);
            const std::array<const std::byte*, 3> in{reinterpret_cast<const std::byte*>(x),
                                                     reinterpret_cast<const std::byte*>(x + image), call.in[4]};
            return convolve.run(
                {.in = in, .out = call.out, .scratch = nullptr, .runtime = call.runtime, .where = call.where});
          },
          .scratch_bytes = static_cast<size_t>(image + weight) * sizeof(float)};
}

// Elements and their scales: the last axis has whole blocks, and the scales one element per block.
void check_blocks(Checks& checks, const Operand& data, const Operand& scale) {
  checks.require(data.rank() > 0 && data.dim(data.rank() - 1) % kBlock == 0, "the last axis must have blocks of 32",
                 to_string(*data.shape));
  if (!checks.good()) return;
  Shape blocks = *data.shape;
  blocks[blocks.rank() - 1] /= kBlock;
  checks.shape(scale, blocks).type(scale, {kFp8UE8M0});
}

Result<void> check_cast(const NodePlan& plan, size_t inputs, size_t outputs) {
  Checks checks(plan);
  checks.operands(inputs, outputs);
  if (checks.good()) checks.shape(plan.out[0], *plan.in[0].shape);
  if (checks.good())
    inputs == 1 ? check_blocks(checks, plan.out[0], plan.out[1]) : check_blocks(checks, plan.in[0], plan.in[1]);
  return checks.done();
}

// Checks the operands A, scales of A, B, scales of B.
void check_factors(Checks& checks, const NodePlan& plan) {
  if (checks.good()) check_blocks(checks, plan.in[0], plan.in[1]);
  if (checks.good()) check_blocks(checks, plan.in[2], plan.in[3]);
  if (checks.good()) checks.same_type(plan.in[2], plan.in[0].dtype).type(plan.out[0], {kFp32});
}

Result<void> check_matmul(const NodePlan& plan) {
  Checks checks(plan);
  checks.operands(4, 1);
  if (checks.good()) checks.rank(plan.in[0], 3, 3).rank(plan.in[2], 3, 3);
  check_factors(checks, plan);
  CARINA_CHECKED(checks.done());
  const Operand &a = plan.in[0], &b = plan.in[2];
  return checks.require(b.dim(0) == 1 || b.dim(0) == a.dim(0), "B must have one batch, or those of A")
      .require(b.dim(2) == a.dim(2), "A and B must have the same last axis")
      .shape(plan.out[0], {a.dim(0), a.dim(1), b.dim(1)})
      .done();
}

// The same convolution as a CONV2D of fp32 operands. Its attributes are shape operands here.
struct PlainConv2d {
  ir::Node node;
  std::vector<Operand> in;
};
Result<PlainConv2d> plain_conv2d(const NodePlan& plan) {
  Checks checks(plan);
  checks.operands(8, 1);
  check_factors(checks, plan);
  if (checks.good()) checks.type(plan.in[4], {kFp32});
  CARINA_CHECKED(checks.done());
  CARINA_TRY(auto pad, shape_constant(plan, plan.in[5], 4));
  CARINA_TRY(auto stride, shape_constant(plan, plan.in[6], 2));
  CARINA_TRY(auto dilation, shape_constant(plan, plan.in[7], 2));
  static const Shape kOne{1};
  const Operand zero{.name = "zero point", .dtype = kFp32, .shape = &kOne, .constant = nullptr};
  const auto wide = [](const Operand& data) {
    return Operand{.name = data.name, .dtype = kFp32, .shape = data.shape, .constant = nullptr};
  };
  PlainConv2d out{.node = plan.node, .in = {wide(plan.in[0]), wide(plan.in[2]), plan.in[4], zero, zero}};
  out.node.attributes = {{"pad", std::move(pad)}, {"stride", std::move(stride)}, {"dilation", std::move(dilation)}};
  return out;
}

}  // namespace

Result<Kernel> prepare_CAST_TO_BLOCK_SCALED(const NodePlan& plan) {
  CARINA_CHECKED(check_cast(plan, 1, 2));
  static constexpr TypeRow kRows[] = {
      {.types = {kFp32, kFp4E2M1}, .make = &cast_to<F32, E2M1>},
      {.types = {kFp32, kFp6E2M3}, .make = &cast_to<F32, E2M3>},
      {.types = {kFp32, kFp6E3M2}, .make = &cast_to<F32, E3M2>},
      {.types = {kFp32, kFp8E4M3}, .make = &cast_to<F32, E4M3>},
      {.types = {kFp32, kFp8E5M2}, .make = &cast_to<F32, E5M2>},
      {.types = {kFp16, kFp4E2M1}, .make = &cast_to<F16, E2M1>},
      {.types = {kFp16, kFp6E2M3}, .make = &cast_to<F16, E2M3>},
      {.types = {kFp16, kFp6E3M2}, .make = &cast_to<F16, E3M2>},
      {.types = {kFp16, kFp8E4M3}, .make = &cast_to<F16, E4M3>},
      {.types = {kFp16, kFp8E5M2}, .make = &cast_to<F16, E5M2>},
      {.types = {kBf16, kFp4E2M1}, .make = &cast_to<BF16, E2M1>},
      {.types = {kBf16, kFp6E2M3}, .make = &cast_to<BF16, E2M3>},
      {.types = {kBf16, kFp6E3M2}, .make = &cast_to<BF16, E3M2>},
      {.types = {kBf16, kFp8E4M3}, .make = &cast_to<BF16, E4M3>},
      {.types = {kBf16, kFp8E5M2}, .make = &cast_to<BF16, E5M2>},
  };
  return choose(plan, kRows);
}

Result<Kernel> prepare_CAST_FROM_BLOCK_SCALED(const NodePlan& plan) {
  CARINA_CHECKED(check_cast(plan, 2, 1));
  constexpr DType kScale = kFp8UE8M0;
  static constexpr TypeRow kRows[] = {
      {.types = {kFp4E2M1, kScale, kFp32}, .make = &cast_from<E2M1, F32>},
      {.types = {kFp6E2M3, kScale, kFp32}, .make = &cast_from<E2M3, F32>},
      {.types = {kFp6E3M2, kScale, kFp32}, .make = &cast_from<E3M2, F32>},
      {.types = {kFp8E4M3, kScale, kFp32}, .make = &cast_from<E4M3, F32>},
      {.types = {kFp8E5M2, kScale, kFp32}, .make = &cast_from<E5M2, F32>},
      {.types = {kFp4E2M1, kScale, kFp16}, .make = &cast_from<E2M1, F16>},
      {.types = {kFp6E2M3, kScale, kFp16}, .make = &cast_from<E2M3, F16>},
      {.types = {kFp6E3M2, kScale, kFp16}, .make = &cast_from<E3M2, F16>},
      {.types = {kFp8E4M3, kScale, kFp16}, .make = &cast_from<E4M3, F16>},
      {.types = {kFp8E5M2, kScale, kFp16}, .make = &cast_from<E5M2, F16>},
      {.types = {kFp4E2M1, kScale, kBf16}, .make = &cast_from<E2M1, BF16>},
      {.types = {kFp6E2M3, kScale, kBf16}, .make = &cast_from<E2M3, BF16>},
      {.types = {kFp6E3M2, kScale, kBf16}, .make = &cast_from<E3M2, BF16>},
      {.types = {kFp8E4M3, kScale, kBf16}, .make = &cast_from<E4M3, BF16>},
      {.types = {kFp8E5M2, kScale, kBf16}, .make = &cast_from<E5M2, BF16>},
  };
  return choose(plan, kRows);
}

Result<Kernel> prepare_MATMUL_T_BLOCK_SCALED(const NodePlan& plan) {
  CARINA_CHECKED(check_matmul(plan));
  constexpr DType kScale = kFp8UE8M0;
  static constexpr TypeRow kRows[] = {
      {.types = {kFp4E2M1, kScale, kFp4E2M1, kScale, kFp32}, .make = &matmul<E2M1>},
      {.types = {kFp6E2M3, kScale, kFp6E2M3, kScale, kFp32}, .make = &matmul<E2M3>},
      {.types = {kFp6E3M2, kScale, kFp6E3M2, kScale, kFp32}, .make = &matmul<E3M2>},
      {.types = {kFp8E4M3, kScale, kFp8E4M3, kScale, kFp32}, .make = &matmul<E4M3>},
      {.types = {kFp8E5M2, kScale, kFp8E5M2, kScale, kFp32}, .make = &matmul<E5M2>},
  };
  return choose(plan, kRows);
}

Result<Kernel> prepare_CONV2D_BLOCK_SCALED(const NodePlan& plan) {
  CARINA_TRY(PlainConv2d plain, plain_conv2d(plan));
  const NodePlan wide{.graph = plan.graph,
                      .node = plain.node,
                      .in = std::move(plain.in),
                      .out = plan.out,
                      .where = plan.where,
                      .linker = plan.linker};
  CARINA_TRY(const ConvGeometry geometry, conv_geometry(wide, ConvKind::kConv2d));
  CARINA_TRY(Kernel kernel, plain_conv(wide, geometry));
  switch (plan.in[0].dtype) {
    case kFp4E2M1:
      return conv2d<E2M1>(plan, std::move(kernel));
    case kFp6E2M3:
      return conv2d<E2M3>(plan, std::move(kernel));
    case kFp6E3M2:
      return conv2d<E3M2>(plan, std::move(kernel));
    case kFp8E4M3:
      return conv2d<E4M3>(plan, std::move(kernel));
    case kFp8E5M2:
      return conv2d<E5M2>(plan, std::move(kernel));
    default:
      return fail(plan.diagnostic("not a type of MXFP", {}, std::string(name_of(plan.in[0].dtype))));
  }
}

}  // namespace carina::interpret
