#include "inspect/supported_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "carina/check.h"
#include "facts/aten_traits.h"
#include "facts/npu_targets.h"
#include "facts/tosa_ops.h"
#include "normalize/core_aten.h"
#include "plan/family/rules/rules.h"

namespace carina::inspect {

namespace {

// A product line of NPUs. Its name is that of its configurations without the size.
struct ProductColumn {
  npu::Product product;
  std::string_view name;
};

std::vector<ProductColumn> compiled_products() {
  std::vector<ProductColumn> columns;
  for (const npu::AcceleratorConfig& config : npu::kAccelerators) {
    if (std::ranges::find(columns, config.product, &ProductColumn::product) != columns.end()) continue;
    columns.push_back({.product = config.product, .name = config.name.substr(0, config.name.rfind('-'))});
  }
  return columns;
}

std::string state_of(TosaOp op, npu::Product product) {
  const auto rejection = plan::why_not(op, product);
  return rejection ? fmt::format("no: {}", *rejection) : "yes";
}

std::string on_npu(const AtenLowering& lowering) {
  switch (lowering.kind) {
    case AtenLowering::Kind::kDirect:
      return lowering.text.empty() ? "yes" : fmt::format("conversion {}", lowering.text);
    case AtenLowering::Kind::kBecomes:
      return fmt::format("becomes {}", lowering.text);
    case AtenLowering::Kind::kNone:
      return lowering.text.empty() ? "-" : fmt::format("no: {}", lowering.text);
  }
  CARINA_UNREACHABLE("lowering", lowering.kind);
}

std::string on_cpu(const AtenTraits& traits) {
  if (has_kernel(traits.op)) return fmt::format("{}.{}", traits.kernel.name, traits.kernel.overload);
  if (traits.cpu_form.empty() && normalize::becomes_core_aten(traits.op)) return "becomes core ATen operators";
  if (!traits.cpu_form.empty()) return fmt::format("becomes {}", traits.cpu_form);
  return traits.lowering.kind == AtenLowering::Kind::kBecomes ? fmt::format("becomes {}", traits.lowering.text) : "-";
}

}  // namespace

results::OperatorList supported_ops() {
  results::OperatorList list;
  for (const AtenTraits& row : kAtenTraits)
    list.aten.push_back({.name = std::string(name_of(row.op)), .npu = on_npu(row.lowering), .cpu = on_cpu(row)});
  const std::vector<ProductColumn> columns = compiled_products();
  for (const ProductColumn& column : columns) list.lines.emplace_back(column.name);
  for (const auto& row : detail::kTosaOpNames) {
    if (row.op == TosaOp::CONST || row.op == TosaOp::CONST_SHAPE) continue;
    results::TosaOperatorRow tosa{.name = std::string(row.name), .npus = {}};
    for (const ProductColumn& column : columns) tosa.npus.push_back(state_of(row.op, column.product));
    list.tosa.push_back(std::move(tosa));
  }
  return list;
}

}  // namespace carina::inspect
