#include "inspect/program_signature.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <variant>

#include "facts/executorch.h"
#include "npu/delegate_blob.h"
#include "npu/payload.h"
#include "pte/bundled.h"
#include "pte/reader.h"

namespace carina::inspect {

namespace {

std::vector<datasets::InputType> types_of(const pte::Plan& plan, const std::vector<int32_t>& values,
                                          std::string_view name) {
  std::vector<datasets::InputType> types;
  for (const int32_t index : values) {
    datasets::InputType type{.name = fmt::format("{}_{}", name, types.size()), .shape = {}};
    const pte::Value& value = plan.values[static_cast<size_t>(index)];
    if (const auto* tensor = std::get_if<pte::TensorSpec>(&value)) {
      type.dtype = tensor->dtype;
      type.shape = tensor->shape;
    } else {
      type.dtype = std::holds_alternative<double>(value) ? DType::kFp64
                   : std::holds_alternative<bool>(value) ? DType::kBool
                                                         : DType::kInt64;
      type.number = MutableTensor(type.dtype, Shape()).freeze();
    }
    types.push_back(std::move(type));
  }
  return types;
}

Result<std::string> target_of(const pte::Plan& plan, const std::string& where) {
  for (const pte::Delegate& delegate : plan.delegates) {
    if (is_ethos_u(delegate.backend)) {
      CARINA_TRY(const npu::NetworkInFile read, npu::read_delegate_blob_in_place(delegate.blob, where));
      CARINA_TRY(const npu::Payload payload, npu::parse_payload(read.network.command_payload, where));
      return payload.accelerator() == nullptr ? std::string() : std::string(payload.accelerator()->name);
    }
    if (delegate.backend == kVgfBackendId) return "vgf";
    if (delegate.backend == kTosaBackendId) return "tosa";
  }
  return std::string();
}

}  // namespace

Result<ProgramSignature> signature_of(const Buffer& file, const std::string& where, const std::string& method) {
  if (pte::is_bundled_program(file)) {
    CARINA_TRY(const pte::BundledProgram bundle, pte::read_bundled_program(file, where));
    return signature_of(bundle.program, where, method);
  }
  CARINA_TRY(const pte::Program program, pte::read_program(file, where));
  if (program.plans.empty()) return fail({.where = where, .what = "the program has no method"});
  std::vector<std::string> methods;
  for (const pte::Plan& plan : program.plans) methods.push_back(plan.name);
  const auto found = std::ranges::find(program.plans, method.empty() ? "forward" : method, &pte::Plan::name);
  if (found == program.plans.end() && !method.empty())
    return fail({.where = where,
                 .what = "the program has no method of this name",
                 .expected = fmt::format("{}", fmt::join(methods, ", ")),
                 .got = method,
                 .fault = Fault::kUsage});
  const pte::Plan& plan = found == program.plans.end() ? program.plans.front() : *found;
  CARINA_TRY(std::string target, target_of(plan, where));
  return ProgramSignature{.inputs = types_of(plan, plan.inputs, "input"),
                          .outputs = types_of(plan, plan.outputs, "output"),
                          .methods = std::move(methods),
                          .method = plan.name,
                          .target = std::move(target)};
}

}  // namespace carina::inspect
