#include "runtime/kernels/complex_internal.h"

#include <cmath>
#include <limits>

#include "runtime/kernels/element_internal.h"
#include "runtime/kernels/layout.h"
#include "runtime/kernels/reduce_internal.h"

namespace carina::runtime {

namespace {

struct Complex {
  double real = 0, imaginary = 0;
};

Complex sum(Complex a, Complex b) {
  return {.real = a.real + b.real, .imaginary = a.imaginary + b.imaginary};
}

Complex product(Complex a, Complex b) {
  return {.real = a.real * b.real - a.imaginary * b.imaginary,
          .imaginary = a.real * b.imaginary + a.imaginary * b.real};
}

// The quotient. Both numbers are divided by the larger part of the divisor, so that no square overflows.
Complex quotient(Complex a, Complex b) {
  const double x = std::fabs(b.real), y = std::fabs(b.imaginary);
  const double scale = y > x ? y : x;
  const Complex small{.real = b.real / scale, .imaginary = -b.imaginary / scale};
  const double square = small.real * small.real + small.imaginary * small.imaginary;
  const Complex above = product(a, small);
  return {.real = above.real / square / scale, .imaginary = above.imaginary / square / scale};
}

// The magnitude. The number is divided by its larger part, so that no square overflows. It is infinite if a part is
// infinite.
double magnitude(Complex a) {
  const double x = std::fabs(a.real), y = std::fabs(a.imaginary);
  if (std::isinf(x) || std::isinf(y)) return std::numeric_limits<double>::infinity();
  const double longer = y > x ? y : x, shorter = y > x ? x : y;
  return longer == 0 ? shorter : longer * std::sqrt(1 + shorter / longer * (shorter / longer));
}

// Reads elements of any type by index.
class Reader {
 public:
  explicit Reader(const Tensor& tensor)
      : complex_(is_complex(tensor.type)),
        load_(number_loader(complex_ ? part_of(tensor.type) : tensor.type)),
        data_(tensor.data) {}
  Complex operator()(int64_t index) const {
    const auto at = static_cast<size_t>(index);
    if (!complex_) return {.real = load_(data_, at)};
    return {.real = load_(data_, 2 * at), .imaginary = load_(data_, 2 * at + 1)};
  }

 private:
  bool complex_;
  NumberLoader load_;
  const void* data_;
};

// Writes complex elements by index.
class Writer {
 public:
  explicit Writer(const Tensor& tensor) : store_(number_storer(part_of(tensor.type))), data_(tensor.data) {}
  void operator()(int64_t index, Complex value) const {
    store_(data_, 2 * static_cast<size_t>(index), value.real);
    store_(data_, 2 * static_cast<size_t>(index) + 1, value.imaginary);
  }

 private:
  NumberStorer store_;
  void* data_;
};

Complex computed(ComplexOperation operation, Complex a, Complex b) {
  switch (operation) {
    case ComplexOperation::kSum:
      return sum(a, b);
    case ComplexOperation::kProduct:
      return product(a, b);
    case ComplexOperation::kQuotient:
      return quotient(a, b);
  }
  return {};
}

}  // namespace

Error complex_binary(Arguments arguments, ComplexOperation operation, size_t out_index, const EValue* alpha) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor& a = call.tensor(0);
  const Tensor& out = call.out(out_index);
  CARINA_RT_TRY(call.error());
  double number = 0;
  const bool with_number = !arguments[1]->is_tensor();
  if (with_number) number = call.number(1);
  const Tensor constant(PteScalarType::kDouble, {}, {}, &number);
  const Tensor& b = with_number ? constant : call.tensor(1);
  call.support(is_complex(out.type));
  CARINA_RT_TRY(call.error());
  fit_to_broadcast(out, {&a, &b});
  Walk<3> walk{.rank = out.rank(),
               .sizes = layout_of(out).sizes,
               .strides = {Extents{}, Extents{}, layout_of(out).strides},
               .at = {},
               .index = {}};
  if (!broadcast(a, out, walk.strides[0]) || !broadcast(b, out, walk.strides[1])) return Error::kInvalidArgument;
  const Reader read_a(a), read_b(b);
  const Writer write(out);
  const Complex factor{.real = alpha == nullptr ? 1 : alpha->to_double()};
  const int64_t count = walk.count();
  for (int64_t i = 0; i < count; ++i, walk.next()) {
    const Complex right = alpha == nullptr ? read_b(walk.at[1]) : product(factor, read_b(walk.at[1]));
    write(walk.at[2], computed(operation, read_a(walk.at[0]), right));
  }
  return Error::kOk;
}

Error complex_magnitude(Arguments arguments) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor &in = call.tensor(0), &out = call.out(1);
  call.support(is_complex(in.type) && out.type == part_of(in.type));
  CARINA_RT_TRY(call.error());
  call.fit_like(out, in);
  CARINA_RT_TRY(call.error());
  const Layout from = layout_of(in);
  Walk<2> walk{
      .rank = from.rank, .sizes = from.sizes, .strides = {from.strides, layout_of(out).strides}, .at = {}, .index = {}};
  const Reader read(in);
  const NumberStorer store = number_storer(out.type);
  const int64_t count = walk.count();
  for (int64_t i = 0; i < count; ++i, walk.next()) {
    store(out.data, static_cast<size_t>(walk.at[1]), magnitude(read(walk.at[0])));
  }
  return Error::kOk;
}

Error complex_sum(Arguments arguments) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor& in = call.tensor(0);
  const std::span<const int64_t> dims = call.integers(1);
  const Tensor& out = call.out(4);
  call.support(is_complex(out.type));
  CARINA_RT_TRY(call.error());
  Reduction reduction;
  if (!plan_reduction(in, dims, out, reduction)) return Error::kInvalidArgument;
  const Reader read(in);
  const Writer write(out);
  const int64_t outputs = reduction.kept.count(), each = reduction.reduced.count();
  for (int64_t i = 0; i < outputs; ++i, reduction.kept.next()) {
    Complex total;
    for (int64_t k = 0; k < each; ++k, reduction.reduced.next())
      total = sum(total, read(reduction.kept.at[0] + reduction.reduced.at[0]));
    write(reduction.kept.at[1], total);
  }
  return Error::kOk;
}

Error complex_products(Arguments arguments) {
  Call call(arguments, Call::Elements::kAny);
  const Tensor &a = call.tensor(0), &b = call.tensor(1);
  const Tensor& out = call.out(2);
  call.support(is_complex(out.type));
  call.require(a.rank() == 3 && b.rank() == 3 && out.rank() == 3);
  CARINA_RT_TRY(call.error());
  const Layout la = layout_of(a), lb = layout_of(b);
  call.require(la.sizes[0] == lb.sizes[0] && la.sizes[2] == lb.sizes[1]);
  call.fit(out, {la.sizes[0], la.sizes[1], lb.sizes[2]});
  CARINA_RT_TRY(call.error());
  const Layout lo = layout_of(out);
  const Reader read_a(a), read_b(b);
  const Writer write(out);
  Walk<3> walk;
  walk.add_axis(lo.sizes[0], {la.strides[0], lb.strides[0], lo.strides[0]});
  walk.add_axis(lo.sizes[1], {la.strides[1], 0, lo.strides[1]});
  walk.add_axis(lo.sizes[2], {0, lb.strides[2], lo.strides[2]});
  const int64_t count = walk.count();
  for (int64_t i = 0; i < count; ++i, walk.next()) {
    Complex total;
    for (int64_t k = 0; k < la.sizes[2]; ++k)
      total = sum(total, product(read_a(walk.at[0] + k * la.strides[2]), read_b(walk.at[1] + k * lb.strides[1])));
    write(walk.at[2], total);
  }
  return Error::kOk;
}

}  // namespace carina::runtime
