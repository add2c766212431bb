// Steps for single calls: matrix products, elementwise operations, means, softmax.
#include <algorithm>
#include <cstring>
#include <vector>

#include "accelerate/elementwise_internal.h"
#include "accelerate/packed_gemm_internal.h"
#include "accelerate/step_internal.h"
#include "accelerate/vector_internal.h"

namespace carina::accelerate {

namespace {

using Kind = EValue::Kind;

constexpr int64_t kGrain = 16 * 1024;  // elements per additional thread

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

// Columns [begin, begin + count) of a product, for all rows.
struct Columns {
  int64_t begin, count;
};

// out[b] = a[b] * right[b] (+ bias along the columns), for plain layouts. A constant right operand is packed with its
// columns as rows; the product is then computed in transposed order.
class GemmStep final : public Step {
 public:
  GemmStep(const Sizes& sizes, const EValue* a, const EValue* b, const EValue* bias, EValue* out)
      : sizes_(sizes), a_(a), b_(b), bias_(bias), out_(out) {}

  // Packs the right operand if it is constant. Column n at depth k is at n * column_step + k * depth_step.
  void pack_right(int64_t column_step, int64_t depth_step) {
    packed_ = pack({.from = b_->tensor.as<const float>(),
                    .rows = sizes_.columns,
                    .depth = sizes_.depth,
                    .row_step = column_step,
                    .depth_step = depth_step});
    leave_packed(b_->tensor);
  }

  void run(ThreadPool& pool) override {
    const auto& [batch, rows, depth, columns] = sizes_;
    const int64_t threads = rows * depth * columns < kGrain ? 1 : pool.threads();
    const int64_t each = (columns + threads - 1) / threads;
    const int64_t step = threads == 1 ? columns : (each + kPanelColumns - 1) / kPanelColumns * kPanelColumns;
    const int64_t parts = (columns + step - 1) / step;
    pool.parallel_for(static_cast<size_t>(batch * parts), [&](size_t unit) {
      const int64_t begin = static_cast<int64_t>(unit) % parts * step;
      const Columns part{.begin = begin, .count = std::min(step, columns - begin)};
      packed_.panels == nullptr ? run_plain(static_cast<int64_t>(unit) / parts, part) : run_packed(part);
    });
  }

 private:
  [[nodiscard]] Epilogue epilogue(int64_t begin) const {
    const float* column = bias_ == nullptr ? nullptr : bias_->tensor.as<const float>() + begin;
    return {.scale = nullptr, .shift = nullptr, .column = column, .low = Bounds{}.low, .high = Bounds{}.high};
  }

  void run_plain(int64_t n, const Columns& part) const {
    const auto& [batch, rows, depth, columns] = sizes_;
    multiply(Gemm{.a = a_->tensor.as<const float>() + n * rows * depth,
                  .a_stride = depth,
                  .rows = rows,
                  .depth = depth,
                  .b = b_->tensor.as<const float>() + n * depth * columns + part.begin,
                  .b_stride = columns,
                  .columns = part.count,
                  .out = out_->tensor.as<float>() + n * rows * columns + part.begin,
                  .out_stride = columns,
                  .epilogue = epilogue(part.begin)});
  }

  void run_packed(const Columns& part) const {
    multiply(PackedGemm{.a = &packed_,
                        .first = part.begin,
                        .rows = part.count,
                        .b = a_->tensor.as<const float>(),
                        .b_step = 1,
                        .b_column_step = sizes_.depth,
                        .columns = sizes_.rows,
                        .out = out_->tensor.as<float>() + part.begin,
                        .out_row_step = 1,
                        .out_column_step = sizes_.columns,
                        .epilogue = epilogue(part.begin)});
  }

  Sizes sizes_;
  const EValue* a_;
  const EValue* b_;
  const EValue* bias_;
  EValue* out_;
  PackedMatrix packed_;
};

bool is_bias(const EValue& bias, int64_t columns) {
  return is_plain(bias) && bias.tensor.rank() == 1 && bias.tensor.sizes()[0] == columns;
}

std::unique_ptr<Step> make_gemm(const EValue& a, const EValue& b, const EValue* bias, EValue& out, size_t rank) {
  if (!is_plain(a) || !is_plain(b) || !is_output(out)) return nullptr;
  const auto left = a.tensor.sizes(), right = b.tensor.sizes(), to = out.tensor.sizes();
  if (left.size() != rank || right.size() != rank || to.size() != rank) return nullptr;
  const bool batched = rank == 3;
  const size_t at = batched ? 1 : 0;
  const Sizes sizes{.batch = batched ? left[0] : 1, .rows = left[at], .depth = left[at + 1], .columns = right[at + 1]};
  const bool fits = right[at] == sizes.depth && to[at] == sizes.rows && to[at + 1] == sizes.columns &&
                    (!batched || (right[0] == left[0] && to[0] == left[0]));
  if (!fits || out.tensor.elements() == 0 || sizes.depth == 0) return nullptr;
  if (bias != nullptr && !is_bias(*bias, sizes.columns)) return nullptr;
  auto step = std::make_unique<GemmStep>(sizes, &a, &b, bias, &out);
  if (!batched && is_constant(b)) step->pack_right(1, sizes.columns);
  return step;
}

std::unique_ptr<Step> make_mm(Arguments arguments) {
  return arguments.size() < 3 ? nullptr : make_gemm(*arguments[0], *arguments[1], nullptr, *arguments[2], 2);
}
std::unique_ptr<Step> make_bmm(Arguments arguments) {
  return arguments.size() < 3 ? nullptr : make_gemm(*arguments[0], *arguments[1], nullptr, *arguments[2], 3);
}

// (bias, a, b, beta, alpha, out)
std::unique_ptr<Step> make_addmm(Arguments arguments) {
  if (arguments.size() < 6 || !is_one(*arguments[3]) || !is_one(*arguments[4])) return nullptr;
  return make_gemm(*arguments[1], *arguments[2], arguments[0], *arguments[5], 2);
}

// (input [..., K], weight [N, K], bias or None, out [..., N])
std::unique_ptr<Step> make_linear(Arguments arguments) {
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
  if (!bias.is_none() && !is_bias(bias, columns)) return nullptr;
  auto step = std::make_unique<GemmStep>(Sizes{.batch = 1, .rows = rows, .depth = depth, .columns = columns}, &in,
                                         &weight, bias.is_none() ? nullptr : &bias, &out);
  step->pack_right(depth, 1);
  return step;
}

// --- elementwise operations

// Calls function(begin, count) in parallel for chunks of kGrain elements.
template <typename Function>
void in_runs(ThreadPool& pool, int64_t all, const Function& function) {
  const int64_t step = pool.threads() == 1 ? std::max<int64_t>(all, 1) : kGrain;
  pool.parallel_for(static_cast<size_t>((all + step - 1) / step), [&](size_t run) {
    const int64_t begin = static_cast<int64_t>(run) * step;
    function(begin, std::min(step, all - begin));
  });
}

bool same_layout(const EValue& a, const EValue& b) {
  return b.is_tensor() && b.tensor.type == PteScalarType::kFloat && !b.tensor.resizable &&
         std::ranges::equal(a.tensor.sizes(), b.tensor.sizes()) &&
         std::ranges::equal(a.tensor.dim_order(), b.tensor.dim_order());
}

bool is_fixed(const EValue& value) {
  return value.is_tensor() && value.tensor.type == PteScalarType::kFloat && !value.tensor.resizable;
}

class Combination final : public Step {
 public:
  Combination(Arithmetic op, Arguments arguments, EValue* out)
      : op_(op), a_(arguments[0]), b_(arguments[1]), out_(out) {
    if (!b_->is_tensor()) number_ = static_cast<float>(b_->to_double());
  }
  void run(ThreadPool& pool) override {
    in_runs(pool, static_cast<int64_t>(out_->tensor.elements()), [&](int64_t begin, int64_t count) {
      elementwise({.op = op_,
                   .a = a_->tensor.as<const float>() + begin,
                   .b = b_->is_tensor() ? b_->tensor.as<const float>() + begin : &number_,
                   .b_is_one = !b_->is_tensor(),
                   .out = out_->tensor.as<float>() + begin,
                   .count = count,
                   .low = Bounds{}.low,
                   .high = Bounds{}.high});
    });
  }

 private:
  Arithmetic op_;
  const EValue* a_;
  const EValue* b_;
  EValue* out_;
  float number_ = 0;
};

// (a, b: a tensor of the same sizes or a number, alpha: must be 1 if present, out)
std::unique_ptr<Step> make_combination(Arithmetic op, Arguments arguments) {
  const bool has_alpha = op == Arithmetic::kAdd || op == Arithmetic::kSub;
  const size_t out_at = has_alpha ? 3 : 2;
  if (arguments.size() <= out_at || (has_alpha && !is_one(*arguments[2]))) return nullptr;
  const EValue &a = *arguments[0], &b = *arguments[1];
  EValue& out = *arguments[out_at];
  const bool number = b.kind == Kind::kInt || b.kind == Kind::kDouble;
  if (!is_fixed(a) || !is_fixed(out) || out.tensor.read_only) return nullptr;
  const bool same = same_layout(a, out) && (number || same_layout(a, b));
  if (!same) return b.is_tensor() ? make_broadcast(op, {.a = &a, .b = &b, .out = &out}) : nullptr;
  return std::make_unique<Combination>(op, arguments, &out);
}

class Clamp final : public Step {
 public:
  Clamp(const EValue* in, EValue* out, Bounds bounds) : in_(in), out_(out), bounds_(bounds) {}
  void run(ThreadPool& pool) override {
    in_runs(pool, static_cast<int64_t>(out_->tensor.elements()), [&](int64_t begin, int64_t count) {
      clamp(in_->tensor.as<const float>() + begin, out_->tensor.as<float>() + begin, count, bounds_.low, bounds_.high);
    });
  }

 private:
  const EValue* in_;
  EValue* out_;
  Bounds bounds_;
};

std::unique_ptr<Step> make_clamp(const EValue& in, EValue& out, const Bounds& bounds) {
  if (!is_fixed(in) || !is_fixed(out) || out.tensor.read_only || !same_layout(in, out)) return nullptr;
  return std::make_unique<Clamp>(&in, &out, bounds);
}

// --- rows

// Operations on contiguous rows of `each` elements.
enum class RowWork : uint8_t { kMean, kSoftmax, kLogSoftmax };

class Rows final : public Step {
 public:
  Rows(RowWork work, int64_t each, const EValue* in, EValue* out) : work_(work), each_(each), in_(in), out_(out) {}
  void run(ThreadPool& pool) override {
    const auto rows = static_cast<int64_t>(in_->tensor.elements()) / each_;
    const int64_t step = pool.threads() == 1 ? rows : std::max<int64_t>(kGrain / each_, 1);
    pool.parallel_for(static_cast<size_t>((rows + step - 1) / step), [&](size_t run) {
      const int64_t begin = static_cast<int64_t>(run) * step;
      for (int64_t row = begin; row < std::min(begin + step, rows); ++row) {
        const float* in = in_->tensor.as<const float>() + row * each_;
        if (work_ == RowWork::kMean) {
          out_->tensor.as<float>()[row] = static_cast<float>(sum_of(in, each_) / static_cast<double>(each_));
        } else {
          softmax_row(in, out_->tensor.as<float>() + row * each_, each_, work_ == RowWork::kLogSoftmax);
        }
      }
    });
  }

 private:
  RowWork work_;
  int64_t each_;
  const EValue* in_;
  EValue* out_;
};

// Softmax along an axis with others behind it: columns of [outer, each, inner].
class SoftmaxOfColumns final : public Step {
 public:
  SoftmaxOfColumns(RowWork work, size_t axis, const EValue* in, EValue* out)
      : is_log_(work == RowWork::kLogSoftmax), each_(in->tensor.sizes()[axis]), in_(in), out_(out) {
    for (const int64_t size : in->tensor.sizes().subspan(axis + 1)) inner_ *= size;
  }
  void run(ThreadPool& pool) override {
    const int64_t outer = static_cast<int64_t>(in_->tensor.elements()) / each_ / inner_;
    const int64_t blocks = (inner_ + kSoftmaxColumns - 1) / kSoftmaxColumns;
    const int64_t step = pool.threads() == 1 ? outer * blocks : kGrain / kSoftmaxColumns / each_ + 1;
    pool.parallel_for(static_cast<size_t>((outer * blocks + step - 1) / step), [&](size_t run) {
      const int64_t begin = static_cast<int64_t>(run) * step;
      for (int64_t block = begin; block < std::min(begin + step, outer * blocks); ++block) {
        const int64_t column = block % blocks * kSoftmaxColumns, at = block / blocks * each_ * inner_ + column;
        softmax_columns({.in = in_->tensor.as<const float>() + at,
                         .out = out_->tensor.as<float>() + at,
                         .rows = each_,
                         .stride = inner_,
                         .columns = std::min(kSoftmaxColumns, inner_ - column),
                         .log = is_log_});
      }
    });
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
  if (!is_plain(in) || !is_output(out) || in.tensor.rank() == 0 || in.tensor.elements() == 0 || !same_layout(in, out))
    return nullptr;
  const auto rank = static_cast<int64_t>(in.tensor.rank());
  const int64_t axis = arguments[1]->integer < 0 ? arguments[1]->integer + rank : arguments[1]->integer;
  if (axis < 0 || axis >= rank) return nullptr;
  if (axis != rank - 1) return std::make_unique<SoftmaxOfColumns>(work, static_cast<size_t>(axis), &in, &out);
  return std::make_unique<Rows>(work, in.tensor.sizes().back(), &in, &out);
}

// (input, dims: the last ones, keepdim, dtype, out)
std::unique_ptr<Step> make_mean(Arguments arguments) {
  if (arguments.size() < 5 || arguments[1]->kind != Kind::kIntList) return nullptr;
  const EValue& in = *arguments[0];
  EValue& out = *arguments[4];
  const auto dims = arguments[1]->integers;
  if (!is_plain(in) || !is_output(out) || dims.empty() || dims.size() > in.tensor.rank()) return nullptr;
  const auto rank = static_cast<int64_t>(in.tensor.rank());
  int64_t each = 1, seen = 0;
  for (const int64_t dim : dims) {
    const int64_t axis = dim < 0 ? dim + rank : dim;
    if (axis < rank - static_cast<int64_t>(dims.size()) || axis >= rank || (seen >> axis & 1) != 0) return nullptr;
    seen |= int64_t{1} << axis;
    each *= in.tensor.sizes()[static_cast<size_t>(axis)];
  }
  if (each == 0 || out.tensor.elements() * static_cast<size_t>(each) != in.tensor.elements()) return nullptr;
  return std::make_unique<Rows>(RowWork::kMean, each, &in, &out);
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

std::unique_ptr<Step> make_call(std::string_view name, Arguments arguments) {
  Bounds bounds;
  EValue* out = nullptr;
  if (bounds_of_clamp(name, arguments, bounds, out)) return make_clamp(*arguments[0], *out, bounds);
  struct Row {
    std::string_view name;
    std::unique_ptr<Step> (*make)(Arguments);
  };
  static constexpr Row kRows[] = {
      {"aten::mm.out", make_mm},
      {"aten::bmm.out", make_bmm},
      {"aten::addmm.out", make_addmm},
      {"aten::linear.out", make_linear},
      {"aten::mean.out", make_mean},
      {"aten::_softmax.out", [](Arguments a) { return make_softmax(RowWork::kSoftmax, a); }},
      {"aten::_log_softmax.out", [](Arguments a) { return make_softmax(RowWork::kLogSoftmax, a); }},
      {"aten::add.out", [](Arguments a) { return make_combination(Arithmetic::kAdd, a); }},
      {"aten::add.Scalar_out", [](Arguments a) { return make_combination(Arithmetic::kAdd, a); }},
      {"aten::sub.out", [](Arguments a) { return make_combination(Arithmetic::kSub, a); }},
      {"aten::sub.Scalar_out", [](Arguments a) { return make_combination(Arithmetic::kSub, a); }},
      {"aten::mul.out", [](Arguments a) { return make_combination(Arithmetic::kMul, a); }},
      {"aten::mul.Scalar_out", [](Arguments a) { return make_combination(Arithmetic::kMul, a); }},
      {"aten::div.out", [](Arguments a) { return make_combination(Arithmetic::kDiv, a); }},
      {"aten::div.Scalar_out", [](Arguments a) { return make_combination(Arithmetic::kDiv, a); }},
  };
  const auto* row = std::ranges::find(kRows, name, &Row::name);
  return row == std::end(kRows) ? nullptr : row->make(arguments);
}

}  // namespace carina::accelerate
