#include "frontend/pt2/target_internal.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

namespace carina::pt2 {

namespace {

// In-place operators whose functional form has a different name, apart from the underscore.
struct Renamed {
  std::string_view in_place;
  std::string_view functional;
};
constexpr std::array kRenamed = {
    Renamed{"aten.pow_.Scalar", "aten.pow.Tensor_Scalar"},
    Renamed{"aten.pow_.Tensor", "aten.pow.Tensor_Tensor"},
    Renamed{"aten.transpose_.default", "aten.transpose.int"},
    Renamed{"aten.floor_divide_.Tensor", "aten.floor_divide.default"},
    Renamed{"aten.float_power_.Tensor", "aten.float_power.Tensor_Tensor"},
    Renamed{"aten.__iand__.Scalar", "aten.__and__.Scalar"},
    Renamed{"aten.__iand__.Tensor", "aten.__and__.Tensor"},
    Renamed{"aten.__ior__.Scalar", "aten.__or__.Scalar"},
    Renamed{"aten.__ior__.Tensor", "aten.__or__.Tensor"},
    Renamed{"aten.__ixor__.Scalar", "aten.__xor__.Scalar"},
    Renamed{"aten.__ixor__.Tensor", "aten.__xor__.Tensor"},
    Renamed{"aten.__ilshift__.Scalar", "aten.__lshift__.Scalar"},
    Renamed{"aten.__ilshift__.Tensor", "aten.__lshift__.Tensor"},
    Renamed{"aten.__irshift__.Scalar", "aten.__rshift__.Scalar"},
    Renamed{"aten.__irshift__.Tensor", "aten.__rshift__.Tensor"},
};

// Nodes that check a condition and compute nothing.
constexpr std::array<std::string_view, 9> kAssertions = {
    "aten._assert_tensor_metadata.default",
    "aten._assert_scalar.default",
    "aten._assert_async.default",
    "aten._assert_async.msg",
    "aten.sym_constrain_range.default",
    "aten.sym_constrain_range_for_size.default",
    "aten._functional_assert_scalar.default",
    "aten._functional_sym_constrain_range.default",
    "aten._functional_sym_constrain_range_for_size.default",
};

constexpr std::array<std::string_view, 6> kSymbolicPrefixes = {"_operator.",          "math.",           "torch.sym_",
                                                               "torch.ops.aten.sym_", "torch.ops.math.", "builtins."};

// Operators that convert a tensor's element to a number. If the number is only checked, the node is dropped. If an
// operator uses the number, reading its arguments reports that it depends on data.
constexpr std::array<std::string_view, 2> kNumbersOfData = {"aten.item.default", "aten._local_scalar_dense.default"};

// Higher-order operators for Python's control flow.
constexpr std::array<std::string_view, 2> kControlFlow = {"associative_scan", "switch"};

std::optional<AtenOp> row_named(std::string_view name) {
  static const std::unordered_map<std::string_view, AtenOp> kByName = [] {
    std::unordered_map<std::string_view, AtenOp> map;
    map.reserve(kAtenOps.size());
    for (const AtenOpRow& row : kAtenOps) map.emplace(row.name, row.op);
    return map;
  }();
  const auto found = kByName.find(name);
  return found == kByName.end() ? std::nullopt : std::optional(found->second);
}

std::optional<AtenOp> functional_form(std::string_view name) {
  for (const Renamed& row : kRenamed) {
    if (row.in_place == name) return row_named(row.functional);
  }
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || name[dot - 1] != '_') return std::nullopt;
  return row_named(std::string(name.substr(0, dot - 1)) + std::string(name.substr(dot)));
}

Target operator_named(std::string_view name) {
  if (const auto op = row_named(name)) return {.kind = TargetKind::kOperator, .op = *op};
  if (const auto op = functional_form(name)) return {.kind = TargetKind::kInPlace, .op = *op};
  for (const std::string_view assertion : kAssertions) {
    if (assertion == name) return {.kind = TargetKind::kAssertion};
  }
  if (std::ranges::find(kNumbersOfData, name) != kNumbersOfData.end()) return {.kind = TargetKind::kNumberOfData};
  return {};
}

Target higher_order_named(std::string_view name) {
  if (name == "wrap_with_set_grad_enabled") return {.kind = TargetKind::kRegion};
  if (name == "wrap_with_autocast") return {.kind = TargetKind::kRegion};
  if (name == "cond") return {.kind = TargetKind::kChoice, .op = AtenOp::where_self};
  if (name == "while_loop") return {.kind = TargetKind::kLoop, .op = AtenOp::where_self};
  if (name == "map_impl" || name == "scan") return {.kind = TargetKind::kSequence};
  for (const std::string_view flow : kControlFlow) {
    if (flow == name) return {.reason = "control flow that depends on data is not supported"};
  }
  return {};
}

std::optional<std::string_view> without_prefix(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  return name.substr(prefix.size());
}

}  // namespace

Target target_of_name(std::string_view name) {
  if (const auto edge = without_prefix(name, "executorch.exir.dialects.edge._ops.")) return operator_named(*edge);
  if (const auto higher = without_prefix(name, "torch.ops.higher_order.")) return higher_order_named(*higher);
  for (const std::string_view prefix : kSymbolicPrefixes) {
    if (name.starts_with(prefix)) return {.kind = TargetKind::kSymbolic};
  }
  if (const auto plain = without_prefix(name, "torch.ops.")) return operator_named(*plain);
  if (name.starts_with('#')) return {.reason = "it belongs to an extension of torch.export"};
  return {};
}

}  // namespace carina::pt2
