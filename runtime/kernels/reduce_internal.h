#pragma once

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/layout.h"

namespace carina::runtime {

// A planned reduction. `kept` visits the output's elements (tensor 0: the input, 1: the output). For each of them,
// `reduced` visits the input's elements, starting at the position of `kept`.
struct Reduction {
  Walk<2> kept;
  Walk<1> reduced;
};

// `dims` are the reduced dimensions; empty: all. Returns false if a dimension is out of range or occurs twice, or if
// `out` has wrong sizes (with or without the reduced axes).
bool plan_reduction(const Tensor& in, std::span<const int64_t> dims, const Tensor& out, Reduction& reduction);

// Calls function(element) for a row of elements.
template <typename Reader, typename Function>
void for_each_in_row(const Reader& read, ptrdiff_t at, ptrdiff_t step, size_t count, const Function& function) {
  if constexpr (std::is_same_v<Reader, Floats::Reader>) {
    const float* from = read.data + at;
    repeat(count, [&] {
      function(*from);
      from += step;
    });
  } else {
    for (size_t i = 0; i < count; ++i, at += step) function(read(at));
  }
}

// For each output element: state = start; then step(state, value) for each input element; then finalize(state) is
// stored. A step may have an add_row(), which does the same for a row of floats.
template <typename State, typename Step, typename Finalize>
void reduce(const Tensor& in, const Tensor& out, Reduction& reduction, const State& start, const Step& step,
            const Finalize& finalize) {
  const int64_t outputs = reduction.kept.count();
  merge_axes(reduction.reduced);
  in_domain(
      [&](auto domain) {
        const auto read = domain.reader(in);
        const auto write = domain.writer(out);
        for (int64_t i = 0; i < outputs; ++i, reduction.kept.next()) {
          auto state = start(typename decltype(domain)::Value{});
          reduction.reduced.at[0] = reduction.kept.at[0];
          for_rows(reduction.reduced, [&](const auto& at, const auto& steps, size_t count) {
            auto local = state;  // in registers
            if constexpr (requires { step.add_row(local, &read.data[at[0]], steps[0], count); }) {
              step.add_row(local, read.data + at[0], steps[0], count);
            } else {
              for_each_in_row(read, at[0], steps[0], count, [&](auto value) { step(local, value); });
            }
            state = local;
          });
          write(reduction.kept.at[1], static_cast<typename decltype(domain)::Value>(finalize(state)));
        }
      },
      in, out);
}

}  // namespace carina::runtime
