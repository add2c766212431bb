#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "runtime/kernel.h"

namespace carina::runtime {

class Method;

// The calls of a method that is being loaded, in their order.
class MethodCalls {
 public:
  explicit MethodCalls(Method& method) : method_(method) {}

  [[nodiscard]] size_t size() const;
  // The kernel's name; empty for what is no call of a kernel.
  [[nodiscard]] std::string_view name(size_t call) const;
  [[nodiscard]] Kernel kernel(size_t call) const;
  [[nodiscard]] Arguments arguments(size_t call) const;
  // Whether the calls run one after another, and no value takes another's place: nothing jumps or moves.
  [[nodiscard]] bool straight() const;
  [[nodiscard]] size_t outputs() const;
  [[nodiscard]] const EValue* output(size_t index) const;
  // From now on `kernel` is called there, with arguments that outlive the method; it keeps its name.
  void replace(size_t call, Kernel kernel, std::span<EValue*> arguments);
  void drop(size_t call);

 private:
  Method& method_;
};

// Replaces calls of a method by others with the same results: how a host brings kernels of its own, and several at
// once.
class Rewriter {
 public:
  virtual void rewrite(MethodCalls& calls) = 0;

 protected:
  ~Rewriter() = default;
};

}  // namespace carina::runtime
