#include "plan/select/matmul_internal.h"

#include <algorithm>
#include <array>

#include "plan/select/emit_internal.h"
#include "plan/select/estimate_internal.h"
#include "plan/select/rules.h"
#include "plan/select/weights_internal.h"

// MATMUL of int8. With a constant second matrix it is a 1x1 convolution; otherwise, for each column, a product and its
// sum, or for each row if there are fewer rows.
//   Example: one query [1,64] and the keys of 128 tokens [64,128]: one product of [128,64] elements, and one sum,
//   instead of 128 products of 64 elements.
namespace carina::plan {
namespace {

Result<void> by_convolution(Selection& s, const Matrices& m, const View& out, const Epilogue& epilogue) {
  CARINA_TRY(const std::vector<int64_t> values, s.constant(s.input(1), "second matrix"));
  const int64_t batches = m.b.view.axes[0].size, depth = m.b.view.axes[1].size, width = m.b.view.axes[2].size;
  for (int64_t n = 0; n < batches; ++n) {
    std::vector<int16_t> turned(static_cast<size_t>(width * depth));
    for (int64_t c = 0; c < depth; ++c) {
      for (int64_t w = 0; w < width; ++w) {
        turned[static_cast<size_t>(w * depth + c)] =
            static_cast<int16_t>(values[static_cast<size_t>((n * depth + c) * width + w)] - m.b.zero_point);
      }
    }
    CARINA_TRY(const WeightsId id,
               add_weights(s, {.name = {}, .out_channels = width, .in_channels = depth, .values = turned}, epilogue));
    const auto as_image = [&](const View& view) {
      return *reshaped(at(view, n), {1, 1, view.axes[1].size, view.axes[2].size});
    };
    Operand ifm = m.a;
    ifm.view = as_image(m.a.view);
    CARINA_CHECKED(emit_window(
        s, {.kind = StepKind::kConv, .ifm = ifm, .ofm = as_image(out), .kernel = {}, .padding = {}, .weights = id},
        epilogue));
  }
  return {};
}

// 16-bit products if they fit, which take half the bytes.
ElementType product_type(const Matrices& m) {
  const auto largest = [](const Operand& x) {
    return std::max(x.type.max() - x.zero_point, x.zero_point - x.type.min());
  };
  return largest(m.a) * largest(m.b) <= kSigned16.max() ? kSigned16 : kSigned32;
}

// Batches whose products the memory has space for: two sets of them, which are written and read in turn.
int64_t batches_that_fit(const Selection& s, const Matrices& m, ElementType type) {
  constexpr int64_t kUnaskedBytes = int64_t{320} * 1024;
  const int64_t limit = s.options().arena_budget_bytes;
  const int64_t available = limit > 0 ? limit / 3 : kUnaskedBytes;
  return available / (2 * m.a.view.elements() / m.a.view.axes[0].size * type.bytes());
}

// Batches whose products are made by one operation.
int64_t batches_at_once(const Selection& s, const Matrices& m, ElementType type) {
  return std::clamp<int64_t>(batches_that_fit(s, m, type), 1, m.a.view.axes[0].size);
}

// The same products with the operands exchanged: the columns of the result are its rows.
Matrices transposed(const Matrices& m) {
  constexpr std::array<int64_t, 3> kExchanged{0, 2, 1};
  Matrices turned{.a = m.b, .b = m.a, .out = permuted(m.out, kExchanged)};
  turned.a.view = permuted(m.b.view, kExchanged);
  turned.b.view = permuted(m.a.view, kExchanged);
  return turned;
}

// Column `w` of the result for some batches: the products of all rows with the column, then their sums.
Result<void> one_column(Selection& s, const Matrices& m, const View& products, int64_t w, const Epilogue& epilogue) {
  const auto [batches, rows, depth] = std::array{products.axes[0].size, products.axes[1].size, products.axes[2].size};
  const ElementType type{.bits = static_cast<uint8_t>(8 * s.network()[products.tensor].element_bytes)};
  Operand column = m.b;
  column.view = sliced_axis(m.b.view, 1, w, 1);
  emit_elementwise(s, products, {.mode = npu::ElementwiseMode::MUL, .a = m.a, .b = column, .operands = {}},
                   store_only({}, type));
  const View result = sliced_axis(m.out, 2, w, 1);
  const View ofm{
      .tensor = result.tensor, .offset = result.offset, .axes = {{1, 0}, result.axes[0], result.axes[1], {1, 0}}};
  const Operand ifm{.view = *reshaped(products, {1, batches, rows, depth}), .type = type};
  return emit_window(s,
                     {.kind = StepKind::kPool,
                      .pool = npu::PoolingMode::REDUCE_SUM,
                      .ifm = ifm,
                      .ofm = ofm,
                      .kernel = {},
                      .padding = {}},
                     epilogue);
}

Result<void> by_columns(Selection& s, const Matrices& m, const Epilogue& epilogue) {
  Matrices laid{.a = with_dense_channels(s, m.a), .b = m.b, .out = m.out};
  laid.b.view = permuted(m.b.view, std::array<int64_t, 3>{0, 2, 1});  // [N,W,C]
  laid.b = with_dense_channels(s, laid.b);
  const ElementType type = product_type(m);
  const int64_t batches = m.a.view.axes[0].size, at_once = batches_at_once(s, m, type);
  const Shape shape{at_once, m.a.view.axes[1].size, m.a.view.axes[2].size};
  const std::array both{s.new_tensor("products", shape, type), s.new_tensor("products", shape, type)};
  for (int64_t n = 0; n < batches && !s.is_full(); n += at_once) {
    const int64_t count = std::min(at_once, batches - n);
    Matrices some = laid;
    for (View* view : {&some.a.view, &some.b.view, &some.out}) *view = sliced_axis(*view, 0, n, count);
    for (int64_t w = 0; w < m.out.axes[2].size && !s.is_full(); ++w) {
      const View& products = both[static_cast<size_t>(w % 2)];
      CARINA_CHECKED(one_column(s, some, sliced_axis(products, 0, 0, count), w, epilogue));
    }
  }
  return {};
}

// The cycles of by_columns().
double cycles_in_order(const Selection& s, const Matrices& m) {
  const ElementType type = product_type(m);
  const int64_t batches = m.out.axes[0].size, rows = m.out.axes[1].size, columns = m.out.axes[2].size;
  const int64_t depth = m.a.view.axes[2].size;
  const auto map = [&](int64_t channels, ElementType of) {
    return FeatureMap{.width = rows, .depth = channels, .type = of};
  };
  const Step products{.kind = StepKind::kElementwise,
                      .elementwise = npu::ElementwiseMode::MUL,
                      .ofm = map(depth, type),
                      .ifm = map(depth, kSigned8),
                      .second = SecondOperand::kFeatureMap,
                      .ifm2 = {.depth = depth, .type = kSigned8},
                      .broadcast = {.width = true},
                      .activation = {.min = type.min(), .max = type.max()},
                      .name = {}};
  const Step sums{.kind = StepKind::kPool,
                  .pool = npu::PoolingMode::REDUCE_SUM,
                  .ofm = map(1, kSigned8),
                  .ifm = map(depth, type),
                  .activation = {.min = kSigned8.min(), .max = kSigned8.max()},
                  .name = {}};
  return static_cast<double>(batches * columns) * (cycles_of(s, products) + cycles_of(s, sums));
}

struct Order {
  Matrices matrices;
  double cycles;
};

// The order that takes fewer cycles. More products at once need more memory, so they must fit.
Order best_order(const Selection& s, const Matrices& m) {
  const Order given{.matrices = m, .cycles = cycles_in_order(s, m)};
  const Matrices exchanged = transposed(m);
  if (batches_that_fit(s, exchanged, product_type(m)) < 1) return given;
  const Order turned{.matrices = exchanged, .cycles = cycles_in_order(s, exchanged)};
  return turned.cycles < given.cycles ? turned : given;
}

}  // namespace

double cycles_by_columns(const Selection& s, const Matrices& m) {
  return best_order(s, m).cycles;
}

Result<void> select_matmul(Selection& s) {
  if (s.value(s.input(0)).dtype != DType::kInt8)
    return s.reject("products of two tensors of this type need sums of more than 32 bits", "int8",
                    std::string(name_of(s.value(s.input(0)).dtype)), "rescale both to int8 first");
  Matrices m{.a = s.plain(s.input(0)), .b = {}};
  CARINA_TRY(m.a.zero_point, s.constant_scalar(s.input(2), "first zero point"));
  const bool constant = s.value(s.input(1)).constant.has_value();
  m.b = constant ? Operand{.view = dense_view({}, s.shape(s.input(1))), .type = kSigned8} : s.plain(s.input(1));
  CARINA_TRY(m.b.zero_point, s.constant_scalar(s.input(3), "second zero point"));
  m.out = dense_view({}, s.shape(s.output()));
  const bool can_write_weights = !constant && takes_written_weights(s, m);
  const bool by_written_weights = s.options().dynamic_weights && can_write_weights;
  if (can_write_weights && !by_written_weights)
    s.could_write_weights({.now = cycles_by_columns(s, m), .then = cycles_by_convolutions(s, m)});
  const auto scale = by_written_weights ? EpilogueRules::Scale::kAny : EpilogueRules::Scale::kGlobal;
  const Epilogue epilogue = s.follow(s.output(), kSigned32, {.scale = scale});
  m.out = s.open(epilogue.value, s.shape(s.output()));
  if (by_written_weights) {
    CARINA_CHECKED(multiply_by_convolutions(s, m, epilogue));
  } else {
    CARINA_CHECKED(constant ? by_convolution(s, m, m.out, epilogue)
                            : by_columns(s, best_order(s, m).matrices, epilogue));
  }
  s.close(epilogue.value, m.out, epilogue.type);
  return {};
}

}  // namespace carina::plan
