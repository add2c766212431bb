// Operators of two operands whose axes of size 1 repeat.
#pragma once

#include <string>
#include <vector>

#include "frontend/tflite/kernels/float_activation_internal.h"
#include "frontend/tflite/kernels/kernel_call_internal.h"

namespace carina::tflite {

// The element of an operand that belongs to an element of the result: its axes of size 1 repeat.
class Repeated {
 public:
  Repeated(const Shape& operand, const Shape& result) : result_(result), strides_(result.rank()) {
    int64_t stride = 1;
    for (size_t i = 0; i < operand.rank(); ++i) {
      const size_t from = operand.rank() - 1 - i, to = result.rank() - 1 - i;
      strides_[to] = operand[from] == 1 ? 0 : stride;
      stride *= operand[from];
    }
  }
  size_t operator()(size_t element) const {
    auto rest = static_cast<int64_t>(element);
    int64_t at = 0;
    for (size_t axis = result_.rank(); axis-- > 0; rest /= result_[axis]) at += rest % result_[axis] * strides_[axis];
    return static_cast<size_t>(at);
  }

 private:
  Shape result_;
  std::vector<int64_t> strides_;
};

// Checks types, the fused activation, and that the shapes fit.
Result<void> check_two_operands(const KernelCall& call, const std::string& where, std::span<const DType> type);

// result = function(a, b) of floats, element by element.
template <typename Function>
void run_two_operands(const KernelCall& call, const TensorBytes& bytes, const Function& function) {
  const Repeated first(call.in(0).shape, call.out().shape), second(call.in(1).shape, call.out().shape);
  const auto a = values_of<float>(bytes.read(call.op().inputs[0])),
             b = values_of<float>(bytes.read(call.op().inputs[1]));
  const std::span<float> to = values_of<float>(bytes.write(call.op().outputs[0]));
  for (size_t i = 0; i < to.size(); ++i)
    to[i] = activated(call.op().options.activation, function(a[first(i)], b[second(i)]));
}

}  // namespace carina::tflite
