#pragma once

#include <cstddef>
#include <memory>

#include "runtime/rewrite.h"

namespace carina::accelerate {

// Replaces the runtime's kernels by fast ones for the host: convolutions, matrix products, elementwise operations,
// norms, means, softmax and resized images of floats, with vector instructions and threads. A convolution is fused with
// the batch norm and the activation after it. Data movement of constants is done once. Results are the same on every
// processor and with any number of threads. They differ from those of the runtime by the rounding of sums and of
// squares.
class HostKernels final : public runtime::Rewriter {
 public:
  explicit HostKernels(int threads);
  ~HostKernels();
  HostKernels(const HostKernels&) = delete;
  HostKernels& operator=(const HostKernels&) = delete;

  // Rewrites the calls of one method, which must not outlive this object. Calls with dynamic shapes or unusual layouts,
  // and methods with jumps, stay unchanged.
  void rewrite(runtime::MethodCalls& calls) override;

  // The number of calls that were replaced. It includes calls that were fused into others or computed at load.
  [[nodiscard]] size_t replaced() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace carina::accelerate
