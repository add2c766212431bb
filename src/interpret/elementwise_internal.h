#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "interpret/checks_internal.h"
#include "interpret/elements_internal.h"
#include "interpret/kernel_internal.h"

namespace carina::interpret {

// The iteration over an output and N operands that broadcast to it: rows of `inner` elements, and outer axes around
// them. Axes that are contiguous in every operand are merged, so most operators have one row.
//   Example: [2,3,4] + [4] has inner = 4 and outer = {6}; the outer stride of the second operand is 0.
template <size_t N>
struct Walk {
  int64_t inner = 1;                      // elements in a row
  std::array<int64_t, N> inner_stride{};  // 0 or 1
  int64_t rows = 1;
  std::vector<int64_t> outer;                        // sizes of the other axes, outermost first
  std::array<std::vector<int64_t>, N> outer_stride;  // in elements

  // The offset at which row `row` of operand `n` starts.
  [[nodiscard]] int64_t offset(size_t n, int64_t row) const {
    if (outer.empty()) return 0;
    int64_t at = 0;
    for (size_t axis = outer.size(); axis-- > 1;) {
      at += row % outer[axis] * outer_stride[n][axis];
      row /= outer[axis];
    }
    return at + row * outer_stride[n].front();
  }
};

namespace detail {
// The non-generic part of plan_walk: the strides of `shape` broadcast to `out`. Repeated axes have stride 0.
std::vector<int64_t> broadcast_strides(const Shape& shape, const Shape& out);
}  // namespace detail

template <size_t N>
Walk<N> plan_walk(const Shape& out, const std::array<const Shape*, N>& shapes) {
  std::array<std::vector<int64_t>, N> strides;
  for (size_t n = 0; n < N; ++n) strides[n] = detail::broadcast_strides(*shapes[n], out);
  Walk<N> walk;
  std::vector<std::pair<int64_t, std::array<int64_t, N>>> merged;  // innermost first
  for (size_t axis = out.rank(); axis-- > 0;) {
    if (out[axis] == 1) continue;
    std::array<int64_t, N> here;
    for (size_t n = 0; n < N; ++n) here[n] = strides[n][axis];
    bool joins = !merged.empty();
    for (size_t n = 0; joins && n < N; ++n) joins = here[n] == merged.back().second[n] * merged.back().first;
    if (joins) {
      merged.back().first *= out[axis];
    } else {
      merged.push_back({out[axis], here});
    }
  }
  if (merged.empty()) return walk;
  walk.inner = merged.front().first;
  walk.inner_stride = merged.front().second;
  for (size_t m = merged.size(); m-- > 1;) {
    walk.outer.push_back(merged[m].first);
    walk.rows *= merged[m].first;
    for (size_t n = 0; n < N; ++n) walk.outer_stride[n].push_back(merged[m].second[n]);
  }
  return walk;
}

// Calls row(output offset, operand offsets, length) for chunks of rows that cover the whole output.
template <size_t N, typename Row>
void for_each_row(Workers& workers, const Walk<N>& walk, const Row& row) {
  constexpr int64_t kGrain = 8192;
  if (walk.rows == 1) {
    split(workers, walk.inner, kGrain, [&](int64_t begin, int64_t end) {
      std::array<int64_t, N> at;
      for (size_t n = 0; n < N; ++n) at[n] = begin * walk.inner_stride[n];
      row(begin, at, end - begin);
    });
    return;
  }
  split(workers, walk.rows, 1 + kGrain / (walk.inner + 1), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      std::array<int64_t, N> at;
      for (size_t n = 0; n < N; ++n) at[n] = walk.offset(n, r);
      row(r * walk.inner, at, walk.inner);
    }
  });
}

// What an element function may take in place of `bool& bad`: the sign bit is set if the operands break a REQUIRE.
struct BadIfNegative {
  int32_t signs = 0;
  explicit operator bool() const { return signs < 0; }
};
template <typename F>
constexpr bool kFindsBySign = requires(BadIfNegative& bad) { F::apply({}, {}, bad); };
template <typename F>
using BadOf = std::conditional_t<kFindsBySign<F>, BadIfNegative, bool>;

// Computes a row with one scalar operand, in loops that compilers vectorize. Returns false and does nothing if the
// operands have another form.
template <typename Out, typename... Ins, typename F, typename In, size_t N>
bool beside_one(const F& f, const In& in, const std::array<int64_t, N>& stride, typename Out::Storage* out,
                int64_t length, BadOf<F>& bad) {
  if constexpr (N == 2) {
    using A = std::tuple_element_t<0, std::tuple<Ins...>>;
    using B = std::tuple_element_t<1, std::tuple<Ins...>>;
    const auto [a, b] = in;
    if (stride[0] == 1) {
      const auto one = B::load(*b);
      for (int64_t i = 0; i < length; ++i) out[i] = Out::store(f.apply(A::load(a[i]), one, bad));
      return true;
    }
    if (stride[1] == 1) {
      const auto one = A::load(*a);
      for (int64_t i = 0; i < length; ++i) out[i] = Out::store(f.apply(one, B::load(b[i]), bad));
      return true;
    }
  }
  return false;
}

// Computes one row: `length` elements of the output. Operand n starts at in[n] and advances by stride[n] elements (0 or
// 1). `function` points to the element function. Returns the first element that breaks a REQUIRE, or -1.
using ElementwiseRow = int64_t (*)(const void* function, std::byte* out, const std::byte* const* in,
                                   const int64_t* stride, int64_t length);

template <typename F, typename Out, typename... Ins>
int64_t elementwise_row(const void* function, std::byte* out_bytes, const std::byte* const* in_bytes,
                        const int64_t* in_stride, int64_t length) {
  constexpr size_t N = sizeof...(Ins);
  const F f = *static_cast<const F*>(function);  // a local copy: byte stores could alias the original
  std::array<int64_t, N> stride;
  std::copy_n(in_stride, N, stride.begin());
  const bool dense = std::ranges::all_of(stride, [](int64_t step) { return step == 1; });
  auto* out = reinterpret_cast<typename Out::Storage*>(out_bytes);
  return [&]<size_t... I>(std::index_sequence<I...>) -> int64_t {
    const auto in = std::make_tuple(reinterpret_cast<const typename Ins::Storage*>(in_bytes[I])...);
    const auto element = [&](int64_t i, BadOf<F>& bad) {
      return f.apply(Ins::load(std::get<I>(in)[i * stride[I]])..., bad);
    };
    BadOf<F> bad{};
    if (dense) {
      for (int64_t i = 0; i < length; ++i) out[i] = Out::store(f.apply(Ins::load(std::get<I>(in)[i])..., bad));
    } else if (!beside_one<Out, Ins...>(f, in, stride, out, length, bad)) {
      for (int64_t i = 0; i < length; ++i) out[i] = Out::store(element(i, bad));
    }
    for (int64_t i = 0; bad && i < length; ++i) {
      BadOf<F> here{};
      static_cast<void>(element(i, here));
      if (here) return i;
    }
    return -1;
  }(std::make_index_sequence<N>{});
}

// The parts of a kernel that depend on its element function and types.
struct ElementwiseType {
  ElementwiseRow row;
  size_t out_bytes;                  // of an element
  std::array<size_t, 3> in_bytes{};  // of an element of each operand
  std::string_view require;
};

template <typename F, typename Out, typename... Ins>
constexpr ElementwiseType elementwise_type() {
  return {.row = &elementwise_row<F, Out, Ins...>,
          .out_bytes = sizeof(typename Out::Storage),
          .in_bytes = {sizeof(typename Ins::Storage)...},
          .require = F::kRequire};
}

// All rows of a kernel of N operands (1, 2 or 3). This part does not depend on the types, so it is compiled once per N.
template <size_t N>
class ElementwiseRows {
 public:
  ElementwiseRows(const NodePlan& plan, const ElementwiseType& type);
  Result<void> run(const Call& call, const void* function) const;

 private:
  ElementwiseType type_;
  Walk<N> walk_;
  Shape shape_;
};

// Makes a kernel whose element function is the same in all calls. The function must outlive the kernel.
template <size_t N>
Kernel elementwise_kernel(const NodePlan& plan, const ElementwiseType& type, const void* function);

// Makes kernels of one, two or three operands from an element function, which is a struct with
//   Out::Compute apply(A::Compute..., bool& bad) const;  // sets `bad` if the operands break a REQUIRE
//   static constexpr std::string_view kRequire;          // that REQUIRE of the specification; empty: there is none
// The storage types are in elements_internal.h. `bind` creates the function from the call if it depends on further
// operands (zero points, shifts).
template <typename Out, typename... Ins, typename Bind>
Kernel elementwise_with(const NodePlan& plan, Bind bind) {
  using F = std::remove_cvref_t<decltype(bind(std::declval<const Call&>()))>;
  auto rows = std::make_shared<const ElementwiseRows<sizeof...(Ins)>>(plan, elementwise_type<F, Out, Ins...>());
  return {.run = [rows = std::move(rows), bind](const Call& call) {
    const F f = bind(call);
    return rows->run(call, &f);
  }};
}

template <typename F, typename Out, typename... Ins>
Kernel elementwise(const NodePlan& plan) {
  static constexpr F kFunction{};
  return elementwise_kernel<sizeof...(Ins)>(plan, elementwise_type<F, Out, Ins...>(), &kFunction);
}

// The checks that all elementwise operators share: the number of operands, and one output of their broadcast shape.
Result<void> check_elementwise(const NodePlan& plan, size_t operands, size_t extra_operands = 0);

// Calls check_elementwise() and choose().
Result<Kernel> prepare_elementwise(const NodePlan& plan, size_t operands, std::span<const TypeRow> rows);

}  // namespace carina::interpret
