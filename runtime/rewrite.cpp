#include "runtime/rewrite.h"

#include "runtime/method_internal.h"

namespace carina::runtime {

size_t MethodCalls::size() const {
  return method_.instructions_.size();
}

std::string_view MethodCalls::name(size_t call) const {
  const Method::Instruction& instruction = method_.instructions_[call];
  return instruction.kind == Method::Instruction::Kind::kKernel ? instruction.name : std::string_view();
}

Kernel MethodCalls::kernel(size_t call) const {
  return method_.instructions_[call].kernel;
}

Arguments MethodCalls::arguments(size_t call) const {
  return method_.instructions_[call].arguments;
}

bool MethodCalls::straight() const {
  using Kind = Method::Instruction::Kind;
  return std::ranges::none_of(method_.instructions_, [](const Method::Instruction& instruction) {
    return instruction.kind == Kind::kMove || instruction.kind == Kind::kJumpFalse || instruction.computes_number;
  });
}

size_t MethodCalls::outputs() const {
  return method_.outputs();
}

const EValue* MethodCalls::output(size_t index) const {
  return &method_.output(index);
}

void MethodCalls::replace(size_t call, Kernel kernel, std::span<EValue*> arguments) {
  method_.instructions_[call].kernel = kernel;
  method_.instructions_[call].arguments = arguments;
}

void MethodCalls::drop(size_t call) {
  method_.instructions_[call].kind = Method::Instruction::Kind::kFree;
}

}  // namespace carina::runtime
