#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "runtime/kernel.h"

// How a host replaces calls of a method while it is loaded.
namespace carina::runtime {

class Method;

// The calls of a method that is being loaded, in order.
class MethodCalls {
 public:
  explicit MethodCalls(Method& method) : method_(method) {}

  [[nodiscard]] size_t size() const;
  // The kernel's name. Empty if the instruction is not a kernel call.
  [[nodiscard]] std::string_view name(size_t call) const;
  [[nodiscard]] Kernel kernel(size_t call) const;
  [[nodiscard]] Arguments arguments(size_t call) const;
  // Returns whether the instructions have no jumps and no moves of values.
  [[nodiscard]] bool straight() const;
  [[nodiscard]] size_t outputs() const;
  [[nodiscard]] const EValue* output(size_t index) const;
  // Replaces the kernel of a call. `arguments` must outlive the method. The call keeps its name.
  void replace(size_t call, Kernel kernel, std::span<EValue*> arguments);
  void drop(size_t call);

 private:
  Method& method_;
};

// Replaces calls of a method by calls with the same results. A host uses it for its own kernels, which may fuse several
// calls.
class Rewriter {
 public:
  virtual void rewrite(MethodCalls& calls) = 0;

 protected:
  ~Rewriter() = default;
};

}  // namespace carina::runtime
