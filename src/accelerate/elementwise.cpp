// Steps for functions of floats, comparisons, choices between two tensors, and constant padding.
#include <algorithm>
#include <cstring>

#include "accelerate/elementwise_internal.h"
#include "accelerate/float_functions_internal.h"
#include "kernels/micro/microkernels.h"
#include "runtime/kernels/layout.h"

namespace carina::accelerate {

namespace {

using Kind = EValue::Kind;

bool is_mask(const EValue& value) {
  return value.is_tensor() && value.tensor.type == PteScalarType::kBool && !value.tensor.resizable;
}

bool is_writable(const EValue& value) {
  return !value.tensor.read_only && value.tensor.elements() != 0;
}

// --- functions of one operand

class FunctionStep final : public Step {
 public:
  FunctionStep(FloatFunctionKind kind, const EValue* in, EValue* out) : kind_(kind), in_(in), out_(out) {}
  Error run(Workers& workers, std::byte* /*scratch*/) override {
    constexpr int64_t kGrainOfFunctions = 4096;
    kernels::split(workers, static_cast<int64_t>(out_->tensor.elements()), kGrainOfFunctions,
                   [&](int64_t begin, int64_t end) {
                     apply(kind_, in_->tensor.as<const float>() + begin, out_->tensor.as<float>() + begin, end - begin);
                   });
    return Error::kOk;
  }

 private:
  FloatFunctionKind kind_;
  const EValue* in_;
  EValue* out_;
};

// --- rows of several operands

// Rows of N tensors, of which the last is the output, whose elements are dense in the rows. Those of an operand are
// dense or one element that repeats. A number has no tensor.
template <size_t N>
struct RowsOf {
  runtime::Walk<N> walk;

  // No value if an operand does not broadcast, or has rows of another kind.
  static std::optional<RowsOf> make(const std::array<const EValue*, N>& values) {
    RowsOf rows;
    const Tensor& out = values.back()->tensor;
    const runtime::Layout to = runtime::layout_of(out);
    rows.walk.rank = to.rank;
    rows.walk.sizes = to.sizes;
    for (size_t n = 0; n < N; ++n) {
      if (values[n]->is_tensor() && !runtime::broadcast(values[n]->tensor, out, rows.walk.strides[n]))
        return std::nullopt;
    }
    runtime::order_axes(rows.walk);
    constexpr int64_t kMinRow = 16;  // for shorter rows, the overhead per row exceeds the computation
    if (rows.walk.rank == 0) return rows;
    const size_t inner = rows.walk.rank - 1;
    if (rows.walk.sizes[inner] < kMinRow && rows.walk.rank > 1) return std::nullopt;
    for (size_t n = 0; n < N; ++n) {
      if (rows.walk.strides[n][inner] != 1 && (n + 1 == N || rows.walk.strides[n][inner] != 0)) return std::nullopt;
    }
    return rows;
  }

  // Calls row(offsets, strides of the elements, number of elements).
  template <typename Row>
  void run(Workers& workers, const Row& row) const {
    if (walk.rank == 0) return row(runtime::Steps<N>{}, runtime::Steps<N>{}, size_t{1});
    const int64_t grain = 1 + kGrain * walk.sizes[0] / walk.count();
    kernels::split(workers, walk.sizes[0], walk.rank == 1 ? kGrain : grain, [&](int64_t begin, int64_t end) {
      runtime::Walk<N> part = walk;
      part.sizes[0] = end - begin;
      for (size_t n = 0; n < N; ++n) part.at[n] = begin * walk.strides[n][0];
      runtime::for_rows(part, row);
    });
  }
};

// A float tensor or a number.
struct Operand {
  const EValue* value;
  float number;

  explicit Operand(const EValue& of) : value(&of), number(of.is_tensor() ? 0 : static_cast<float>(of.to_double())) {}
  [[nodiscard]] kernels::RowF32 row(ptrdiff_t at, ptrdiff_t step) const {
    if (!value->is_tensor()) return {.data = &number, .repeats = true};
    return {.data = value->tensor.as<const float>() + at, .repeats = step == 0};
  }
};

class CompareStep final : public Step {
 public:
  CompareStep(kernels::Comparison op, const EValue& a, const EValue& b, EValue* out, const RowsOf<3>& rows)
      : op_(op), a_(a), b_(b), out_(out), rows_(rows) {}
  Error run(Workers& workers, std::byte* /*scratch*/) override {
    rows_.run(workers, [&](const auto& at, const auto& steps, size_t count) {
      kernels::compare_f32({.op = op_,
                            .a = a_.row(at[0], steps[0]),
                            .b = b_.row(at[1], steps[1]),
                            .out = out_->tensor.as<uint8_t>() + at[2],
                            .count = static_cast<int64_t>(count)});
    });
    return Error::kOk;
  }

 private:
  kernels::Comparison op_;
  Operand a_, b_;
  EValue* out_;
  RowsOf<3> rows_;
};

// out = mask ? a : b. If an operand has the memory of the output, its rows are those of the output, because planned
// values of other sizes do not share memory.
class SelectStep final : public Step {
 public:
  SelectStep(const EValue* mask, const EValue& a, const EValue& b, EValue* out, const RowsOf<4>& rows)
      : mask_(mask), a_(a), b_(b), out_(out), rows_(rows) {}
  Error run(Workers& workers, std::byte* /*scratch*/) override {
    rows_.run(workers, [&](const auto& at, const auto& steps, size_t count) {
      const auto* mask = mask_->tensor.as<const uint8_t>() + at[0];
      const kernels::RowF32 a = a_.row(at[1], steps[1]), b = b_.row(at[2], steps[2]);
      float* out = out_->tensor.as<float>() + at[3];
      if (steps[0] == 0) return copy(*mask != 0 ? a : b, out, count);
      kernels::select_f32({.mask = mask, .a = a, .b = b, .out = out, .count = static_cast<int64_t>(count)});
    });
    return Error::kOk;
  }

 private:
  static void copy(const kernels::RowF32& row, float* out, size_t count) {
    if (row.repeats) {
      std::fill_n(out, count, *row.data);
    } else if (row.data != out) {
      std::copy_n(row.data, count, out);
    }
  }

  const EValue* mask_;
  Operand a_, b_;
  EValue* out_;
  RowsOf<4> rows_;
};

bool is_operand(const EValue& value) {
  return is_fixed(value) || is_number(value);
}

std::unique_ptr<Step> make_select(const EValue& mask, const EValue& a, const EValue& b, EValue& out) {
  if (!is_mask(mask) || !is_operand(a) || !is_operand(b) || !is_fixed(out) || !is_writable(out)) return nullptr;
  const auto rows = RowsOf<4>::make({&mask, &a, &b, &out});
  return rows ? std::make_unique<SelectStep>(&mask, a, b, &out, *rows) : nullptr;
}

}  // namespace

std::unique_ptr<Step> make_function(FloatFunctionKind kind, const EValue& in, EValue& out) {
  if (!is_fixed(in) || !is_fixed(out) || !is_writable(out) || !same_layout(in.tensor, out.tensor)) return nullptr;
  return std::make_unique<FunctionStep>(kind, &in, &out);
}

std::unique_ptr<Step> make_gelu(Arguments arguments) {
  if (arguments.size() < 3 || arguments[1]->kind != Kind::kString) return nullptr;
  const std::string_view approximate = arguments[1]->text;
  if (approximate != "none" && approximate != "tanh") return nullptr;
  return make_function(approximate == "tanh" ? FloatFunctionKind::kTanhGelu : FloatFunctionKind::kGelu, *arguments[0],
                       *arguments[2]);
}

std::unique_ptr<Step> make_comparison(kernels::Comparison op, Arguments arguments) {
  if (arguments.size() < 3) return nullptr;
  const EValue &a = *arguments[0], &b = *arguments[1];
  EValue& out = *arguments[2];
  if (!is_fixed(a) || !is_operand(b) || !is_mask(out) || !is_writable(out)) return nullptr;
  const auto rows = RowsOf<3>::make({&a, &b, &out});
  return rows ? std::make_unique<CompareStep>(op, a, b, &out, *rows) : nullptr;
}

std::unique_ptr<Step> make_where(Arguments arguments) {
  return arguments.size() < 4 ? nullptr : make_select(*arguments[0], *arguments[1], *arguments[2], *arguments[3]);
}

std::unique_ptr<Step> make_masked_fill(Arguments arguments) {
  if (arguments.size() < 4 || !is_number(*arguments[2])) return nullptr;
  return make_select(*arguments[1], *arguments[2], *arguments[0], *arguments[3]);
}

namespace {

// Padding with one number: the output is filled with it, then the input is copied row by row.
class PadStep final : public Step {
 public:
  PadStep(const EValue* in, EValue* out, float value, const runtime::Walk<2>& walk)
      : in_(in), out_(out), value_(value), walk_(walk) {}
  Error run(Workers& /*workers*/, std::byte* /*scratch*/) override {
    std::fill_n(out_->tensor.as<float>(), out_->tensor.elements(), value_);
    runtime::Walk<2> walk = walk_;
    runtime::copy_elements(in_->tensor, out_->tensor, walk);
    return Error::kOk;
  }

 private:
  const EValue* in_;
  EValue* out_;
  float value_;
  runtime::Walk<2> walk_;
};

}  // namespace

// (input, padding: before and after, of the last axis first, value, out)
std::unique_ptr<Step> make_pad(Arguments arguments) {
  if (arguments.size() < 4 || arguments[1]->kind != Kind::kIntList || !is_number(*arguments[2])) return nullptr;
  const EValue& in = *arguments[0];
  EValue& out = *arguments[3];
  const auto pad = arguments[1]->integers;
  if (!is_fixed(in) || !is_fixed(out) || !is_writable(out) || in.tensor.elements() == 0 ||
      in.tensor.rank() != out.tensor.rank() || pad.size() % 2 != 0 || pad.size() / 2 > in.tensor.rank())
    return nullptr;
  const runtime::Layout from = runtime::layout_of(in.tensor), to = runtime::layout_of(out.tensor);
  runtime::Walk<2> walk;
  for (size_t axis = 0; axis < from.rank; ++axis) {
    const size_t entry = 2 * (from.rank - 1 - axis);
    const int64_t before = entry < pad.size() ? pad[entry] : 0, after = entry < pad.size() ? pad[entry + 1] : 0;
    if (before < 0 || after < 0 || before > to.sizes[axis] || after > to.sizes[axis] ||
        to.sizes[axis] != from.sizes[axis] + before + after)
      return nullptr;
    walk.add_axis(from.sizes[axis], {from.strides[axis], to.strides[axis]});
    walk.at[1] += before * to.strides[axis];
  }
  return std::make_unique<PadStep>(&in, &out, static_cast<float>(arguments[2]->to_double()), walk);
}

}  // namespace carina::accelerate
