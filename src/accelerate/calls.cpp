// Steps for single calls: matrix products, elementwise operations, means, softmax.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <vector>

#include "accelerate/elementwise_internal.h"
#include "accelerate/step_internal.h"
#include "kernels/matmul.h"
#include "kernels/micro/microkernels.h"

namespace carina::accelerate {

namespace {

using Kind = EValue::Kind;

bool is_output(const EValue& value) {
  return is_plain(value) && !value.tensor.read_only;
}

bool is_one(const EValue& value) {
  return value.kind == Kind::kInt || value.kind == Kind::kDouble ? value.to_double() == 1 : false;
}

// --- matrix products

struct Sizes {
  int64_t batch, rows, depth, columns;
};

// A product with constant weights, whose column n at depth k is at n * column_step + k * depth_step, plus a constant
// bias: the operator of a pointwise convolution.
struct Weights {
  const EValue& weights;
  int64_t column_step, depth_step;
  const EValue& bias;
};

bool is_bias(const EValue& bias, int64_t columns) {
  return bias.is_none() ||
         (is_plain(bias) && is_constant(bias) && bias.tensor.rank() == 1 && bias.tensor.sizes()[0] == columns);
}

std::unique_ptr<Step> make_linear_step(const EValue& in, const Weights& w, EValue& out, const Sizes& sizes,
                                       int threads) {
  if (!is_bias(w.bias, sizes.columns)) return nullptr;
  MutableTensor weights(DType::kFp32, Shape{sizes.columns * sizes.depth});
  const auto* from = w.weights.tensor.as<const float>();
  const auto to = weights.values<float>();
  for (int64_t n = 0; n < sizes.columns; ++n) {
    for (int64_t k = 0; k < sizes.depth; ++k)
      to[static_cast<size_t>(n * sizes.depth + k)] = from[n * w.column_step + k * w.depth_step];
  }
  const std::vector<float> zero(1, 0.0F);
  const std::span<const float> bias =
      w.bias.is_none() ? std::span<const float>(zero)
                       : std::span(w.bias.tensor.as<const float>(), static_cast<size_t>(sizes.columns));
  auto op = kernels::dense_f32({.geometry = {.in = {1, 1, sizes.rows},
                                             .out = {1, 1, sizes.rows},
                                             .ic = sizes.depth,
                                             .oc = sizes.columns,
                                             .bias_count = std::ssize(bias)},
                                .weights = std::move(weights).freeze(),
                                .bias = bias,
                                .threads = threads});
  if (!op) return nullptr;
  leave_packed(w.weights.tensor);
  return std::make_unique<OperatorStep>(std::vector{&in}, &out, *std::move(op));
}

std::unique_ptr<Step> make_gemm(const EValue& a, const EValue& b, const EValue* bias, EValue& out, size_t rank,
                                int threads) {
  if (!is_plain(a) || !is_plain(b) || !is_output(out)) return nullptr;
  const auto left = a.tensor.sizes(), right = b.tensor.sizes(), to = out.tensor.sizes();
  if (left.size() != rank || right.size() != rank || to.size() != rank) return nullptr;
  const bool batched = rank == 3;
  const size_t at = batched ? 1 : 0;
  const Sizes sizes{.batch = batched ? left[0] : 1, .rows = left[at], .depth = left[at + 1], .columns = right[at + 1]};
  const bool fits = right[at] == sizes.depth && to[at] == sizes.rows && to[at + 1] == sizes.columns &&
                    (!batched || (right[0] == left[0] && to[0] == left[0]));
  if (!fits || out.tensor.elements() == 0 || sizes.depth == 0) return nullptr;
  static const EValue kNone;
  if (!batched && is_constant(b))
    return make_linear_step(
        a, {.weights = b, .column_step = 1, .depth_step = sizes.columns, .bias = bias == nullptr ? kNone : *bias}, out,
        sizes, threads);
  if (bias != nullptr) return nullptr;
  auto op = kernels::matmul_f32({.n = sizes.batch, .h = sizes.rows, .c = sizes.depth, .w = sizes.columns}, threads);
  return op ? std::make_unique<OperatorStep>(std::vector{&a, &b}, &out, *std::move(op)) : nullptr;
}

std::unique_ptr<Step> make_mm(Arguments arguments, int threads) {
  return arguments.size() < 3 ? nullptr : make_gemm(*arguments[0], *arguments[1], nullptr, *arguments[2], 2, threads);
}
std::unique_ptr<Step> make_bmm(Arguments arguments, int threads) {
  return arguments.size() < 3 ? nullptr : make_gemm(*arguments[0], *arguments[1], nullptr, *arguments[2], 3, threads);
}

// (bias, a, b, beta, alpha, out)
std::unique_ptr<Step> make_addmm(Arguments arguments, int threads) {
  if (arguments.size() < 6 || !is_one(*arguments[3]) || !is_one(*arguments[4])) return nullptr;
  return make_gemm(*arguments[1], *arguments[2], arguments[0], *arguments[5], 2, threads);
}

// (input [..., K], weight [N, K], bias or None, out [..., N])
std::unique_ptr<Step> make_linear(Arguments arguments, int threads) {
  if (arguments.size() < 4) return nullptr;
  const EValue &in = *arguments[0], &weight = *arguments[1], &bias = *arguments[2];
  EValue& out = *arguments[3];
  if (!is_plain(in) || !is_plain(weight) || !is_constant(weight) || weight.tensor.rank() != 2 || !is_output(out) ||
      in.tensor.rank() < 1 || in.tensor.rank() != out.tensor.rank())
    return nullptr;
  const int64_t columns = weight.tensor.sizes()[0], depth = weight.tensor.sizes()[1];
  if (depth == 0 || in.tensor.sizes().back() != depth || out.tensor.sizes().back() != columns) return nullptr;
  const int64_t rows = static_cast<int64_t>(in.tensor.elements()) / depth;
  if (static_cast<int64_t>(out.tensor.elements()) != rows * columns || rows * columns == 0) return nullptr;
  return make_linear_step(in, {.weights = weight, .column_step = depth, .depth_step = 1, .bias = bias}, out,
                          {.batch = 1, .rows = rows, .depth = depth, .columns = columns}, threads);
}

// --- elementwise operations

bool same_float_layout(const EValue& a, const EValue& b) {
  return is_fixed(b) && same_layout(a.tensor, b.tensor);
}

using kernels::Combine;

// How a tensor or a number repeats along the output, in the order of the memory: one row of it per row of the output,
// or one element per row.
struct Repetition {
  int64_t row = 1;  // elements
  bool one = false;
  // Rows whose elements are at `start`, `start + step`, `start + 2 * step`, ...
  struct Run {
    int64_t start, step, rows;
  };
  std::vector<Run> runs = {};
  int64_t rows = 1;
};

constexpr int64_t kMinRow = 16;  // for shorter rows, the overhead per row exceeds the computation

// The strides of `small` along the axes of `large`, in the order of the memory of `large`, 0 along repeated axes. No
// value if it does not broadcast.
std::optional<std::vector<int64_t>> steps_of(const Tensor& small, const Tensor& large) {
  const auto sizes = small.sizes(), all = large.sizes();
  if (sizes.size() > all.size()) return std::nullopt;
  std::vector<int64_t> steps(all.size(), 0);
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    const size_t inner = small.dim_order()[i], axis = inner + all.size() - sizes.size();
    if (sizes[inner] != all[axis] && sizes[inner] != 1) return std::nullopt;
    steps[axis] = sizes[inner] == 1 ? 0 : step;
    step *= sizes[inner];
  }
  std::vector<int64_t> in_memory;
  for (const uint8_t axis : large.dim_order()) in_memory.push_back(steps[axis]);
  return in_memory;
}

std::optional<Repetition> repetition_of(const Tensor& small, const Tensor& large) {
  const auto steps = steps_of(small, large);
  if (!steps) return std::nullopt;
  std::vector<int64_t> sizes;
  for (const uint8_t axis : large.dim_order()) sizes.push_back(large.sizes()[axis]);
  Repetition found;
  size_t outer = sizes.size();
  while (outer > 0 && sizes[outer - 1] == 1) --outer;
  found.one = outer > 0 && (*steps)[outer - 1] == 0;
  for (; outer > 0; --outer) {
    const int64_t step = (*steps)[outer - 1];
    if (sizes[outer - 1] != 1 && step != (found.one ? 0 : found.row)) break;
    found.row *= sizes[outer - 1];
  }
  if (found.row<kMinRow&& static_cast<int64_t>(large.elements())> found.row) return std::nullopt;
  // The innermost of the outer axes is a run, unless it is one row.
  while (outer > 0 && sizes[outer - 1] == 1) --outer;
  found.runs.push_back({.start = 0, .step = 0, .rows = 1});
  if (outer > 0) found.runs.front() = {.start = 0, .step = (*steps)[outer - 1], .rows = sizes[outer - 1]};
  for (; outer > 1 && (*steps)[outer - 2] == found.runs.front().step * found.runs.front().rows; --outer)
    found.runs.front().rows *= sizes[outer - 2];
  for (size_t axis = 0; axis + 1 < outer; ++axis) {
    std::vector<Repetition::Run> more;
    for (Repetition::Run run : found.runs) {
      for (int64_t i = 0; i < sizes[axis]; ++i, run.start += (*steps)[axis]) more.push_back(run);
    }
    found.runs = std::move(more);
  }
  found.rows = std::ssize(found.runs) * found.runs.front().rows;
  return found;
}

// out = a op b, row by row; b may repeat.
class Combination final : public Step {
 public:
  Combination(Combine op, const EValue* a, const EValue* b, EValue* out, Repetition repetition)
      : op_(op), a_(a), b_(b), out_(out), repetition_(std::move(repetition)) {
    if (!b_->is_tensor()) number_ = static_cast<float>(b_->to_double());
  }

  Error run(Workers& workers, std::byte* /*scratch*/) override {
    const int64_t row = repetition_.row, rows = repetition_.rows;
    if (rows == 1) {
      kernels::split(workers, row, kGrain, [&](int64_t begin, int64_t end) {
        combine(begin, {.start = repetition_.one ? 0 : begin, .step = 0, .rows = 1}, end - begin);
      });
      return Error::kOk;
    }
    const int64_t of_run = repetition_.runs.front().rows;
    kernels::split(workers, rows, 1 + kGrain / row, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end;) {
        Repetition::Run run = repetition_.runs[static_cast<size_t>(r / of_run)];
        run.start += r % of_run * run.step;
        run.rows = std::min(of_run - r % of_run, end - r);
        combine(r * row, run, row);
        r += run.rows;
      }
    });
    return Error::kOk;
  }

 private:
  void combine(int64_t at, const Repetition::Run& run, int64_t count) const {
    const float* b = b_->is_tensor() ? b_->tensor.as<const float>() + run.start : &number_;
    kernels::combine_f32({.op = op_,
                          .a = {.data = a_->tensor.as<const float>() + at, .stride = count, .repeats = false},
                          .b = {.data = b, .stride = run.step, .repeats = repetition_.one},
                          .out = out_->tensor.as<float>() + at,
                          .rows = run.rows,
                          .columns = count});
  }

  Combine op_;
  const EValue* a_;
  const EValue* b_;
  EValue* out_;
  float number_ = 0;
  Repetition repetition_;
};

// (a, b: a tensor or a number, alpha: must be 1 if present, out). One operand may be repeated along some axes; for `-`
// and `/` it must be the second.
std::unique_ptr<Step> make_combination(Combine op, Arguments arguments) {
  const bool has_alpha = op == Combine::kAdd || op == Combine::kSub;
  const size_t out_at = has_alpha ? 3 : 2;
  if (arguments.size() <= out_at || (has_alpha && !is_one(*arguments[2]))) return nullptr;
  const EValue *a = arguments[0], *b = arguments[1];
  EValue& out = *arguments[out_at];
  if (!is_fixed(*a) || !is_fixed(out) || out.tensor.read_only || out.tensor.elements() == 0) return nullptr;
  const bool turns = op == Combine::kAdd || op == Combine::kMul;
  if (turns && is_fixed(*b) && !same_float_layout(out, *a)) std::swap(a, b);
  if (!same_float_layout(out, *a)) return nullptr;
  if (b->kind == Kind::kInt || b->kind == Kind::kDouble) {
    const Repetition all{.row = static_cast<int64_t>(out.tensor.elements()), .one = true};
    return std::make_unique<Combination>(op, a, b, &out, all);
  }
  auto repetition = is_fixed(*b) ? repetition_of(b->tensor, out.tensor) : std::nullopt;
  return repetition ? std::make_unique<Combination>(op, a, b, &out, *std::move(repetition)) : nullptr;
}

// (a, exponent: a number, out). PyTorch computes these powers as products, too.
std::unique_ptr<Step> make_power(Arguments arguments) {
  if (arguments.size() < 3 || !is_number(*arguments[1]) || arguments[1]->to_double() != 2) return nullptr;
  EValue* factors[] = {arguments[0], arguments[0], arguments[2]};
  return make_combination(Combine::kMul, factors);
}

class Clamp final : public Step {
 public:
  Clamp(const EValue* in, EValue* out, Bounds bounds) : in_(in), out_(out), bounds_(bounds) {}
  Error run(Workers& workers, std::byte* /*scratch*/) override {
    kernels::split(workers, static_cast<int64_t>(out_->tensor.elements()), kGrain, [&](int64_t begin, int64_t end) {
      kernels::clamp_f32(in_->tensor.as<const float>() + begin, out_->tensor.as<float>() + begin, end - begin,
                         bounds_.low, bounds_.high);
    });
    return Error::kOk;
  }

 private:
  const EValue* in_;
  EValue* out_;
  Bounds bounds_;
};

std::unique_ptr<Step> make_clamp(const EValue& in, EValue& out, const Bounds& bounds) {
  if (!is_fixed(in) || !is_fixed(out) || out.tensor.read_only || !same_layout(in.tensor, out.tensor)) return nullptr;
  return std::make_unique<Clamp>(&in, &out, bounds);
}

// --- rows

// Operations on contiguous rows of `each` elements.
enum class RowWork : uint8_t { kMean, kSoftmax, kLogSoftmax };

class Rows final : public Step {
 public:
  Rows(RowWork work, int64_t each, const EValue* in, EValue* out) : work_(work), each_(each), in_(in), out_(out) {}
  Error run(Workers& workers, std::byte* /*scratch*/) override {
    const auto rows = static_cast<int64_t>(in_->tensor.elements()) / each_;
    kernels::split(workers, rows, 1 + kGrain / each_, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const float* in = in_->tensor.as<const float>() + row * each_;
        if (work_ == RowWork::kMean) {
          out_->tensor.as<float>()[row] = static_cast<float>(kernels::sum_of(in, each_) / static_cast<double>(each_));
        } else {
          kernels::softmax_row(in, out_->tensor.as<float>() + row * each_, each_, work_ == RowWork::kLogSoftmax);
        }
      }
    });
    return Error::kOk;
  }

 private:
  RowWork work_;
  int64_t each_;
  const EValue* in_;
  EValue* out_;
};

// Softmax along an axis with others after it: columns of [outer, each, inner].
class SoftmaxOfColumns final : public Step {
 public:
  SoftmaxOfColumns(RowWork work, size_t axis, const EValue* in, EValue* out)
      : is_log_(work == RowWork::kLogSoftmax), each_(in->tensor.sizes()[axis]), in_(in), out_(out) {
    for (const int64_t size : in->tensor.sizes().subspan(axis + 1)) inner_ *= size;
  }
  Error run(Workers& workers, std::byte* /*scratch*/) override {
    using kernels::kSoftmaxColumns;
    const int64_t outer = static_cast<int64_t>(in_->tensor.elements()) / each_ / inner_;
    const int64_t blocks = ceil_div(inner_, kSoftmaxColumns);
    kernels::split(workers, outer * blocks, 1 + kGrain / kSoftmaxColumns / each_, [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        const int64_t column = block % blocks * kSoftmaxColumns, at = block / blocks * each_ * inner_ + column;
        kernels::softmax_columns({.in = in_->tensor.as<const float>() + at,
                                  .out = out_->tensor.as<float>() + at,
                                  .rows = each_,
                                  .stride = inner_,
                                  .columns = std::min(kSoftmaxColumns, inner_ - column),
                                  .log = is_log_});
      }
    });
    return Error::kOk;
  }

 private:
  bool is_log_;
  int64_t each_, inner_ = 1;
  const EValue* in_;
  EValue* out_;
};

// (input, dim, half_to_float, out)
std::unique_ptr<Step> make_softmax(RowWork work, Arguments arguments) {
  if (arguments.size() < 4 || arguments[1]->kind != Kind::kInt) return nullptr;
  const EValue& in = *arguments[0];
  EValue& out = *arguments[3];
  if (!is_plain(in) || !is_output(out) || in.tensor.rank() == 0 || in.tensor.elements() == 0 ||
      !same_layout(in.tensor, out.tensor))
    return nullptr;
  const auto rank = static_cast<int64_t>(in.tensor.rank());
  const int64_t axis = arguments[1]->integer < 0 ? arguments[1]->integer + rank : arguments[1]->integer;
  if (axis < 0 || axis >= rank) return nullptr;
  if (axis != rank - 1) return std::make_unique<SoftmaxOfColumns>(work, static_cast<size_t>(axis), &in, &out);
  return std::make_unique<Rows>(work, in.tensor.sizes().back(), &in, &out);
}

// The mean of each channel of channels-last images. Sums are of doubles.
class MeanOfPixels final : public Step {
 public:
  MeanOfPixels(const EValue* in, EValue* out) : image_(*image_of(*in)), in_(in), out_(out) {}
  [[nodiscard]] size_t scratch_bytes() const override { return static_cast<size_t>(image_.channels) * sizeof(double); }
  Error run(Workers& /*workers*/, std::byte* scratch) override {
    const std::span sums(reinterpret_cast<double*>(scratch), static_cast<size_t>(image_.channels));
    const auto* in = in_->tensor.as<const float>();
    auto* out = out_->tensor.as<float>();
    for (int64_t n = 0; n < image_.batch; ++n) {
      std::ranges::fill(sums, 0.0);
      kernels::add_rows(in + n * image_.pixels * image_.channels, image_.pixels, image_.channels, sums.data());
      for (const double sum : sums) *out++ = static_cast<float>(sum / static_cast<double>(image_.pixels));
    }
    return Error::kOk;
  }

 private:
  Image image_;
  const EValue* in_;
  EValue* out_;
};

// (input, dims: the last ones, keepdim, dtype, out)
std::unique_ptr<Step> make_mean(Arguments arguments) {
  if (arguments.size() < 5 || arguments[1]->kind != Kind::kIntList) return nullptr;
  const EValue& in = *arguments[0];
  EValue& out = *arguments[4];
  const auto dims = arguments[1]->integers;
  if (!is_fixed(in) || !is_fixed(out) || out.tensor.read_only || dims.empty() || dims.size() > in.tensor.rank())
    return nullptr;
  const auto rank = static_cast<int64_t>(in.tensor.rank());
  int64_t each = 1, seen = 0;
  for (const int64_t dim : dims) {
    const int64_t axis = dim < 0 ? dim + rank : dim;
    if (axis < rank - static_cast<int64_t>(dims.size()) || axis >= rank || (seen >> axis & 1) != 0) return nullptr;
    seen |= int64_t{1} << axis;
    each *= in.tensor.sizes()[static_cast<size_t>(axis)];
  }
  if (each == 0 || out.tensor.elements() * static_cast<size_t>(each) != in.tensor.elements()) return nullptr;
  if (in.tensor.contiguous() && out.tensor.contiguous()) return std::make_unique<Rows>(RowWork::kMean, each, &in, &out);
  const auto image = image_of(in);
  const bool is_image = image && image->layout == ImageLayout::kPixels && dims.size() + 2 == in.tensor.rank();
  return is_image && (out.tensor.rank() == 2 ? out.tensor.contiguous() : image_of(out).has_value())
             ? std::make_unique<MeanOfPixels>(&in, &out)
             : nullptr;
}

// --- gather

// out[.., i, ..] = in[.., index[.., i, ..], ..] along one axis.
class Gather final : public Step {
 public:
  Gather(const EValue* in, size_t axis, const EValue* index, EValue* out)
      : in_(in), axis_(axis), index_(index), out_(out) {}

  Error run(Workers& workers, std::byte* /*scratch*/) override {
    const auto sizes = index_->tensor.sizes();
    const int64_t columns = sizes.back(), rows = static_cast<int64_t>(index_->tensor.elements()) / columns;
    std::atomic<bool> is_inside = true;
    kernels::split(workers, rows, 1 + kGrain / columns, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        if (!gather_row(row, columns)) is_inside = false;
      }
    });
    return is_inside ? Error::kOk : Error::kInvalidArgument;
  }

 private:
  // Returns false if an index is outside of the axis.
  [[nodiscard]] bool gather_row(int64_t row, int64_t columns) const {
    const auto from = in_->tensor.sizes(), sizes = index_->tensor.sizes();
    const auto* index = index_->tensor.as<const int64_t>() + row * columns;
    auto* out = out_->tensor.as<float>() + row * columns;
    int64_t base = 0, stride = 1, along = 1;
    for (size_t axis = from.size(); axis-- > 0; stride *= from[axis]) {
      if (axis == axis_) along = stride;
      if (axis + 1 == from.size()) continue;
      if (axis != axis_) base += row % sizes[axis] * stride;
      row /= sizes[axis];
    }
    const auto* in = in_->tensor.as<const float>() + base;
    return kernels::gather_row({.in = in,
                                .size = from[axis_],
                                .stride = along,
                                .step = axis_ + 1 == from.size() ? 0 : 1,
                                .index = index,
                                .count = columns,
                                .out = out});
  }

  const EValue* in_;
  size_t axis_;
  const EValue* index_;
  EValue* out_;
};

// (input, dim, index, sparse_grad, out)
std::unique_ptr<Step> make_gather(Arguments arguments) {
  if (arguments.size() < 5 || arguments[1]->kind != Kind::kInt) return nullptr;
  const EValue &in = *arguments[0], &index = *arguments[2];
  EValue& out = *arguments[4];
  const bool has_index = index.is_tensor() && index.tensor.type == PteScalarType::kLong && index.tensor.contiguous() &&
                         !index.tensor.resizable;
  if (!is_plain(in) || !has_index || !is_output(out) || in.tensor.rank() == 0 || out.tensor.elements() == 0 ||
      in.tensor.rank() != index.tensor.rank() || !std::ranges::equal(index.tensor.sizes(), out.tensor.sizes()))
    return nullptr;
  const auto rank = static_cast<int64_t>(in.tensor.rank());
  const int64_t axis = arguments[1]->integer < 0 ? arguments[1]->integer + rank : arguments[1]->integer;
  if (axis < 0 || axis >= rank) return nullptr;
  for (size_t i = 0; i < in.tensor.rank(); ++i) {
    if (i != static_cast<size_t>(axis) && index.tensor.sizes()[i] > in.tensor.sizes()[i]) return nullptr;
  }
  return std::make_unique<Gather>(&in, static_cast<size_t>(axis), &index, &out);
}

using kernels::Comparison;

template <FloatFunctionKind kKind>
std::unique_ptr<Step> make_unary(Arguments arguments, int /*threads*/) {
  return arguments.size() < 2 ? nullptr : make_function(kKind, *arguments[0], *arguments[1]);
}

template <Comparison kOp>
std::unique_ptr<Step> make_compared(Arguments arguments, int /*threads*/) {
  return make_comparison(kOp, arguments);
}

}  // namespace

bool bounds_of_clamp(std::string_view name, Arguments arguments, Bounds& bounds, EValue*& out) {
  const bool relu = name == "aten::relu.out";
  if (!relu && name != "aten::hardtanh.out" && name != "aten::clamp.out") return false;
  const size_t out_at = relu ? 1 : 3;
  if (arguments.size() <= out_at) return false;
  out = arguments[out_at];
  bounds = {};
  if (relu) bounds.low = 0;
  if (!relu && !arguments[1]->is_none()) bounds.low = static_cast<float>(arguments[1]->to_double());
  if (!relu && !arguments[2]->is_none()) bounds.high = static_cast<float>(arguments[2]->to_double());
  return bounds.low <= bounds.high;
}

std::unique_ptr<Step> make_call(std::string_view name, Arguments arguments, int threads) {
  Bounds bounds;
  EValue* out = nullptr;
  if (bounds_of_clamp(name, arguments, bounds, out)) return make_clamp(*arguments[0], *out, bounds);
  struct Row {
    std::string_view name;
    std::unique_ptr<Step> (*make)(Arguments, int threads);
  };
  static constexpr Row kRows[] = {
      {"aten::mm.out", make_mm},
      {"aten::bmm.out", make_bmm},
      {"aten::addmm.out", make_addmm},
      {"aten::linear.out", make_linear},
      {"aten::mean.out", [](Arguments a, int) { return make_mean(a); }},
      {"aten::gather.out", [](Arguments a, int) { return make_gather(a); }},
      {"aten::_softmax.out", [](Arguments a, int) { return make_softmax(RowWork::kSoftmax, a); }},
      {"aten::_log_softmax.out", [](Arguments a, int) { return make_softmax(RowWork::kLogSoftmax, a); }},
      {"aten::native_layer_norm.out", [](Arguments a, int) { return make_layer_norm(a); }},
      {"aten::native_group_norm.out", [](Arguments a, int) { return make_group_norm(a); }},
      {"aten::_native_batch_norm_legit_no_training.out", [](Arguments a, int) { return make_batch_norm(a); }},
      {"aten::_native_batch_norm_legit.no_stats_out", [](Arguments a, int) { return make_batch_norm_of_batch(a); }},
      {"aten::exp.out", make_unary<FloatFunctionKind::kExp>},
      {"aten::sigmoid.out", make_unary<FloatFunctionKind::kSigmoid>},
      {"aten::tanh.out", make_unary<FloatFunctionKind::kTanh>},
      {"aten::gelu.out", [](Arguments a, int) { return make_gelu(a); }},
      {"aten::eq.Scalar_out", make_compared<Comparison::kEqual>},
      {"aten::eq.Tensor_out", make_compared<Comparison::kEqual>},
      {"aten::ne.Scalar_out", make_compared<Comparison::kNotEqual>},
      {"aten::ne.Tensor_out", make_compared<Comparison::kNotEqual>},
      {"aten::lt.Scalar_out", make_compared<Comparison::kLess>},
      {"aten::lt.Tensor_out", make_compared<Comparison::kLess>},
      {"aten::le.Scalar_out", make_compared<Comparison::kLessEqual>},
      {"aten::le.Tensor_out", make_compared<Comparison::kLessEqual>},
      {"aten::gt.Scalar_out", make_compared<Comparison::kGreater>},
      {"aten::gt.Tensor_out", make_compared<Comparison::kGreater>},
      {"aten::ge.Scalar_out", make_compared<Comparison::kGreaterEqual>},
      {"aten::ge.Tensor_out", make_compared<Comparison::kGreaterEqual>},
      {"aten::where.self_out", [](Arguments a, int) { return make_where(a); }},
      {"aten::masked_fill.Scalar_out", [](Arguments a, int) { return make_masked_fill(a); }},
      {"aten::constant_pad_nd.out", [](Arguments a, int) { return make_pad(a); }},
      {"aten::upsample_nearest2d.vec_out", [](Arguments a, int) { return make_nearest(a); }},
      {"aten::upsample_bilinear2d.vec_out", [](Arguments a, int) { return make_bilinear(a); }},
      {"aten::pow.Tensor_Scalar_out", [](Arguments a, int) { return make_power(a); }},
      {"aten::add.out", [](Arguments a, int) { return make_combination(Combine::kAdd, a); }},
      {"aten::add.Scalar_out", [](Arguments a, int) { return make_combination(Combine::kAdd, a); }},
      {"aten::sub.out", [](Arguments a, int) { return make_combination(Combine::kSub, a); }},
      {"aten::sub.Scalar_out", [](Arguments a, int) { return make_combination(Combine::kSub, a); }},
      {"aten::mul.out", [](Arguments a, int) { return make_combination(Combine::kMul, a); }},
      {"aten::mul.Scalar_out", [](Arguments a, int) { return make_combination(Combine::kMul, a); }},
      {"aten::div.out", [](Arguments a, int) { return make_combination(Combine::kDiv, a); }},
      {"aten::div.Scalar_out", [](Arguments a, int) { return make_combination(Combine::kDiv, a); }},
  };
  const auto* row = std::ranges::find(kRows, name, &Row::name);
  return row == std::end(kRows) ? nullptr : row->make(arguments, threads);
}

size_t OperatorStep::scratch_bytes() const {
  return operator_.scratch_bytes + kernels::kScratchAlignment + static_cast<size_t>(out_->tensor.bytes());
}

Error OperatorStep::run(Workers& workers, std::byte* scratch) {
  bool collides = false;  // the output may have the memory of an operand that no other call reads later
  for (size_t i = 0; i < in_.size(); ++i) {
    in_[i] = operands_[i]->tensor.as<const std::byte>();
    collides = collides || overlap(operands_[i]->tensor, out_->tensor);
  }
  auto* out =
      collides ? scratch + round_up(operator_.scratch_bytes, kernels::kScratchAlignment) : out_->tensor.as<std::byte>();
  operator_.run({.in = in_, .out = out, .scratch = scratch, .workers = workers});
  if (collides) std::memcpy(out_->tensor.data, out, out_->tensor.bytes());
  return Error::kOk;
}

}  // namespace carina::accelerate
