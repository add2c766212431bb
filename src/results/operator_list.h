#pragma once

#include <string>
#include <vector>

namespace carina::results {
// What becomes of an ATen operator on either side: "yes", "becomes aten.mul, aten.add", "-" ...
struct AtenOperatorRow {
  std::string name;
  std::string npu;
  std::string cpu;
};

// What the NPU compiler does with a TOSA operator: "yes", "no: REASON".
struct TosaOperatorRow {
  std::string name;
  std::vector<std::string> npus;  // for each of OperatorList::lines
};

// What `carina ops` lists.
struct OperatorList {
  std::vector<AtenOperatorRow> aten;
  std::vector<std::string> lines;  // of NPUs
  std::vector<TosaOperatorRow> tosa;
};

}  // namespace carina::results
