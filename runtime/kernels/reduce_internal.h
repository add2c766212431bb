#pragma once

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/layout_internal.h"

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

// For each output element: state = start; then step(state, value) for each input element; then finalize(state) is
// stored.
template <typename State, typename Step, typename Finalize>
void reduce(const Tensor& in, const Tensor& out, Reduction& reduction, const State& start, const Step& step,
            const Finalize& finalize) {
  const int64_t outputs = reduction.kept.count();
  const int64_t each = reduction.reduced.count();
  in_domain(
      [&](auto domain) {
        const auto read = domain.reader(in);
        const auto write = domain.writer(out);
        for (int64_t i = 0; i < outputs; ++i, reduction.kept.next()) {
          auto state = start(typename decltype(domain)::Value{});
          for (int64_t k = 0; k < each; ++k, reduction.reduced.next())
            step(state, read(reduction.kept.at[0] + reduction.reduced.at[0]));
          write(reduction.kept.at[1], static_cast<typename decltype(domain)::Value>(finalize(state)));
        }
      },
      in, out);
}

}  // namespace carina::runtime
