#pragma once

#include <cstddef>
#include <memory>

#include "runtime/rewrite.h"

namespace carina::accelerate {

// Fast kernels for a host: convolutions, products, element-wise operations, means and softmax of floats on vector
// instructions and threads, in place of the runtime's own. A convolution takes the batch norm and the activation behind
// it along, and what only moves constants is done once. Results are the same on every processor and with any number of
// threads; they differ from the runtime's own by the rounding of sums.
class HostKernels final : public runtime::Rewriter {
 public:
  explicit HostKernels(int threads);
  ~HostKernels();
  HostKernels(const HostKernels&) = delete;
  HostKernels& operator=(const HostKernels&) = delete;

  // Rewrites the calls of one method, which must not outlive this object. Calls with dynamic shapes or unusual layouts,
  // and methods with jumps, stay unchanged.
  void rewrite(runtime::MethodCalls& calls) override;

  // How many calls of the method run here; those that were taken along or done at load count too.
  [[nodiscard]] size_t replaced() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace carina::accelerate
