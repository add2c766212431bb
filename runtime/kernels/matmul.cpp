#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/complex_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/float_sums_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/layout.h"

namespace carina::runtime {

namespace {

// out[m, n] = beta * bias[m, n] + alpha * sum over k of a[m, k] * b[k, n]. All strides are in elements.
struct Product {
  int64_t rows, columns, depth;
  int64_t a = 0, a_row = 0, a_depth = 0;
  int64_t b = 0, b_depth = 0, b_column = 0;
  int64_t out = 0, out_row = 0, out_column = 0;
  int64_t bias_row = 0, bias_column = 0;
};

struct Scales {
  const EValue* beta = nullptr;  // nullptr: 1
  const EValue* alpha = nullptr;
};

// The sums for kColumns columns of row m, from column n on.
template <size_t kColumns>
[[gnu::noinline]] std::array<float, kColumns> float_sums(const float* a, const float* b, const Product& p) {
  FloatSums<kColumns> sums;
  if (p.depth > 0)
    add_products(sums, a, b, static_cast<ptrdiff_t>(p.b_column),
                 {.count = static_cast<size_t>(p.depth),
                  .a_step = static_cast<ptrdiff_t>(p.a_depth),
                  .b_step = static_cast<ptrdiff_t>(p.b_depth)});
  return sums.values();
}

// Calls write(n, sum) for all columns n of a row.
template <typename Write>
void multiply_row(Floats /*domain*/, const Tensor& a, const Tensor& b, const Product& p, int64_t m,
                  const Write& write) {
  const float* row = a.as<const float>() + static_cast<ptrdiff_t>(p.a + m * p.a_row);
  const float* column = b.as<const float>() + static_cast<ptrdiff_t>(p.b);
  const auto columns = static_cast<ptrdiff_t>(p.columns), step = static_cast<ptrdiff_t>(p.b_column);
  ptrdiff_t n = 0;
  for (; n + 4 <= columns; n += 4, column += 4 * step) {
    const auto sums = float_sums<4>(row, column, p);
    for (size_t i = 0; i < 4; ++i) write(n + static_cast<ptrdiff_t>(i), sums[i]);
  }
  for (; n < columns; ++n, column += step) write(n, float_sums<1>(row, column, p)[0]);
}

template <typename Domain, typename Write>
void multiply_row(Domain domain, const Tensor& a, const Tensor& b, const Product& p, int64_t m, const Write& write) {
  const auto read_a = domain.reader(a);
  const auto read_b = domain.reader(b);
  for (int64_t n = 0; n < p.columns; ++n) {
    typename Domain::Value sum{0};
    for (int64_t k = 0; k < p.depth; ++k)
      sum = plus(sum, times(read_a(p.a + m * p.a_row + k * p.a_depth), read_b(p.b + k * p.b_depth + n * p.b_column)));
    write(static_cast<ptrdiff_t>(n), sum);
  }
}

template <typename Domain>
void multiply_in(Domain domain, const Tensor& a, const Tensor& b, const Tensor* bias, const Tensor& out,
                 const Product& p, const Scales& scales) {
  using Value = typename Domain::Value;
  const auto read_bias = domain.reader(bias == nullptr ? a : *bias);
  const auto writer = domain.writer(out);
  const Value alpha = scales.alpha == nullptr ? Value{1} : scalar_in<Value>(*scales.alpha);
  const Value beta = scales.beta == nullptr ? Value{1} : scalar_in<Value>(*scales.beta);
  const bool has_bias = bias != nullptr && beta != Value{0};
  const auto out_step = static_cast<ptrdiff_t>(p.out_column), bias_step = static_cast<ptrdiff_t>(p.bias_column);
  for (int64_t m = 0; m < p.rows; ++m) {
    const auto to = static_cast<ptrdiff_t>(p.out + m * p.out_row), from = static_cast<ptrdiff_t>(m * p.bias_row);
    multiply_row(domain, a, b, p, m, [=](ptrdiff_t n, Value sum) {
      sum = times(alpha, sum);
      if (has_bias) sum = plus(sum, times(beta, read_bias(from + n * bias_step)));
      writer(to + n * out_step, sum);
    });
  }
}

void multiply(const Tensor& a, const Tensor& b, const Tensor* bias, const Tensor& out, const Product& product,
              const Scales& scales) {
  if (out.elements() == 0) return;
  in_domain([&](auto domain) { multiply_in(domain, a, b, bias, out, product, scales); }, a, b, out,
            bias == nullptr ? a : *bias);
}

// The product of two matrices, whose sizes have been checked.
Product product_of(const Tensor& a, const Tensor& b, const Tensor& out) {
  const Layout la = layout_of(a);
  const Layout lb = layout_of(b);
  const Layout lo = layout_of(out);
  return {.rows = la.sizes[0],
          .columns = lb.sizes[1],
          .depth = la.sizes[1],
          .a_row = la.strides[0],
          .a_depth = la.strides[1],
          .b_depth = lb.strides[0],
          .b_column = lb.strides[1],
          .out_row = lo.strides[0],
          .out_column = lo.strides[1]};
}

bool matrices_fit(const Tensor& a, const Tensor& b, const Tensor& out) {
  if (a.rank() != 2 || b.rank() != 2 || a.sizes()[1] != b.sizes()[0]) return false;
  const int64_t sizes[] = {a.sizes()[0], b.sizes()[1]};
  return out.resize(sizes);
}

}  // namespace

// (a, b, out)
Error mm(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& a = call.tensor(0);
  const Tensor& b = call.tensor(1);
  const Tensor& out = call.out(2);
  call.require(matrices_fit(a, b, out));
  CARINA_RT_TRY(call.error());
  multiply(a, b, nullptr, out, product_of(a, b, out), {});
  return Error::kOk;
}

// (bias, a, b, beta, alpha, out); the bias is broadcast.
Error addmm(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& bias = call.tensor(0);
  const Tensor& a = call.tensor(1);
  const Tensor& b = call.tensor(2);
  static_cast<void>(call.number(3));
  static_cast<void>(call.number(4));
  const Tensor& out = call.out(5);
  Extents bias_strides{};
  call.require(matrices_fit(a, b, out) && broadcast(bias, out, bias_strides));
  CARINA_RT_TRY(call.error());
  Product product = product_of(a, b, out);
  product.bias_row = bias_strides[0];
  product.bias_column = bias_strides[1];
  multiply(a, b, &bias, out, product, {.beta = arguments[3], .alpha = arguments[4]});
  return Error::kOk;
}

// (a, b, out), three axes each, the first one the batch.
Error bmm(Arguments arguments, Arena& /*scratch*/) {
  if (has_complex(arguments)) return complex_products(arguments);
  Call call(arguments);
  const Tensor& a = call.tensor(0);
  const Tensor& b = call.tensor(1);
  const Tensor& out = call.out(2);
  call.require(a.rank() == 3 && b.rank() == 3 && out.rank() == 3);
  CARINA_RT_TRY(call.error());
  if (out.resizable) call.fit(out, {a.sizes()[0], a.sizes()[1], b.sizes()[2]});
  call.require(a.sizes()[0] == b.sizes()[0] && a.sizes()[0] == out.sizes()[0] && a.sizes()[2] == b.sizes()[1] &&
               out.sizes()[1] == a.sizes()[1] && out.sizes()[2] == b.sizes()[2]);
  CARINA_RT_TRY(call.error());
  const Layout la = layout_of(a);
  const Layout lb = layout_of(b);
  const Layout lo = layout_of(out);
  if (out.elements() == 0) return Error::kOk;
  Product product{.rows = la.sizes[1],
                  .columns = lb.sizes[2],
                  .depth = la.sizes[2],
                  .a_row = la.strides[1],
                  .a_depth = la.strides[2],
                  .b_depth = lb.strides[1],
                  .b_column = lb.strides[2],
                  .out_row = lo.strides[1],
                  .out_column = lo.strides[2]};
  for (int64_t batch = 0; batch < la.sizes[0]; ++batch) {
    product.a = batch * la.strides[0];
    product.b = batch * lb.strides[0];
    product.out = batch * lo.strides[0];
    multiply(a, b, nullptr, out, product, {});
  }
  return Error::kOk;
}

// (input [..., K], weight [N, K], bias [N] or None, out [..., N])
Error linear(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const Tensor& weight = call.tensor(1);
  const Tensor* bias = call.optional_tensor(2);
  const Tensor& out = call.out(3);
  call.require(in.rank() >= 1 && weight.rank() == 2 && out.rank() == in.rank());
  CARINA_RT_TRY(call.error());
  call.fit_along(out, in, in.rank() - 1, weight.sizes()[0]);
  call.require(in.sizes().back() == weight.sizes()[1] && out.sizes().back() == weight.sizes()[0]);
  CARINA_RT_TRY(call.error());
  const auto depth = int64_t{weight.sizes()[1]};
  const auto columns = int64_t{weight.sizes()[0]};
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < in.rank(); ++i) {
    call.require(in.sizes()[i] == out.sizes()[i]);
    rows *= in.sizes()[i];
  }
  call.support(in.contiguous() && out.contiguous());
  call.require(bias == nullptr || bias->elements() == 1 || (bias->rank() == 1 && bias->sizes()[0] == columns));
  CARINA_RT_TRY(call.error());
  const Layout lw = layout_of(weight);
  multiply(in, weight, bias, out,
           {.rows = rows,
            .columns = columns,
            .depth = depth,
            .a_row = depth,
            .a_depth = 1,
            .b_depth = lw.strides[1],
            .b_column = lw.strides[0],
            .out_row = columns,
            .out_column = 1,
            .bias_column = bias != nullptr && bias->elements() > 1 ? 1 : 0},
           {});
  return Error::kOk;
}

}  // namespace carina::runtime
