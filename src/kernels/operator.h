#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "base/checked_math.h"
#include "kernels/micro/extremes.h"
#include "kernels/workers.h"

// Operators: what a host's engines compute with vectors and threads. An operator is created for constant weights, sizes
// and a number of threads; then it runs as often as needed. It computes the same bits on every processor and with any
// number of threads.
//   Example: dense_f32() packs the weights of a convolution. run() gathers rows of inputs, multiplies them with the
//   packed weights, and writes each sum with its bias, clamped.
namespace carina::kernels {

inline constexpr size_t kScratchAlignment = 64;

// One execution of an operator on dense tensors. Operands that the operator holds as constants are not read.
struct Execution {
  std::span<const std::byte* const> in;
  std::byte* out;
  std::byte* scratch;  // Operator::scratch_bytes, aligned to kScratchAlignment
  Workers& workers;
  Extremes* extremes = nullptr;  // by slot: extremes of fp32 results are added; nullptr: not requested

  template <typename T>
  [[nodiscard]] const T* input(size_t i) const {
    return reinterpret_cast<const T*>(in[i]);
  }
  template <typename T>
  [[nodiscard]] T* output() const {
    return reinterpret_cast<T*>(out);
  }
  [[nodiscard]] Extremes* extremes_of_slot(int64_t slot) const {
    return extremes == nullptr ? nullptr : extremes + slot;
  }
};

struct Operator {
  std::function<void(const Execution&)> run;
  size_t scratch_bytes = 0;
  size_t packed_bytes = 0;  // weights and tables that it holds
};

// Makes an operator of `kind`, which has run(execution) and the scratch_bytes() of one thread.
template <typename Kind>
Operator operator_of(Kind kind, int threads, size_t packed_bytes) {
  const size_t scratch = static_cast<size_t>(threads) * round_up(kind.scratch_bytes(), kScratchAlignment);
  return {.run = [kind = std::move(kind)](const Execution& call) { kind.run(call); },
          .scratch_bytes = scratch,
          .packed_bytes = packed_bytes};
}

}  // namespace carina::kernels
