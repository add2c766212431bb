#include "report/render.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/tables/json.h"

namespace carina::report {

namespace {

constexpr std::string_view kIntroduction = R"(# Operators

This page lists the operators and what Carina does with them. `carina ops` prints it from the tables
that the program uses, and `make docs` writes it to `build/pages/SUPPORTED_OPS.md`.

## ATen operators

Carina reads all these operators from a `.pt2`. A node with an operator that has neither an NPU nor
a CPU entry is rejected by name.

- **NPU**: "yes" means that the operator has a lowering to TOSA. "becomes" means that it is first
  rewritten into other operators, which are then checked one by one. Types, shapes and limits of the
  target also count: `carina explain` gives the reason for each node.
- **CPU**: the kernel that the `.pte` calls if the node stays on the CPU.

| operator | NPU | CPU |
|---|---|---|
)";

constexpr std::string_view kTosaIntroduction = R"(
## TOSA operators

Carina reads, writes, verifies and interprets every operator of TOSA 1.0. tosa-operators.md lists
their types and the rules of the verifier. The other columns say whether the NPU compiler supports
an operator for NPUs of that family.

)";

std::string tosa_table(const results::OperatorList& list) {
  std::string table = "| operator |", rule = "|---|";
  for (const std::string& line : list.lines) {
    table += fmt::format(" {} |", line);
    rule += "---|";
  }
  table += '\n' + rule + '\n';
  for (const results::TosaOperatorRow& row : list.tosa)
    table += fmt::format("| {} | {} |\n", row.name, fmt::join(row.npus, " | "));
  return table;
}

}  // namespace

std::string to_text(const results::OperatorList& list) {
  std::string page(kIntroduction);
  for (const results::AtenOperatorRow& row : list.aten)
    page += fmt::format("| {} | {} | {} |\n", row.name, row.npu, row.cpu);
  return page + std::string(kTosaIntroduction) + tosa_table(list);
}

std::string to_json(const results::OperatorList& list) {
  Json aten = Json::array(), tosa = Json::array();
  for (const results::AtenOperatorRow& row : list.aten)
    aten.push_back({{"name", row.name}, {"npu", row.npu}, {"cpu", row.cpu}});
  for (const results::TosaOperatorRow& row : list.tosa) {
    Json npus = Json::object();
    for (size_t i = 0; i < list.lines.size(); ++i) npus[list.lines[i]] = row.npus[i];
    tosa.push_back({{"name", row.name}, {"npus", npus}});
  }
  return json_text({{"aten", aten}, {"tosa", tosa}});
}

}  // namespace carina::report
