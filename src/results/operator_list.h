#pragma once

#include <string>
#include <vector>

namespace carina::results {
// The support of an ATen operator on NPU and CPU: "yes", "becomes aten.mul, aten.add", "-" ...
struct AtenOperatorRow {
  std::string name;
  std::string npu;
  std::string cpu;
};

// The support of a TOSA operator by the NPU compiler: "yes", "no: REASON".
struct TosaOperatorRow {
  std::string name;
  std::vector<std::string> npus;  // one entry per element of OperatorList::lines
};

// The result of `carina ops`.
struct OperatorList {
  std::vector<AtenOperatorRow> aten;
  std::vector<std::string> lines;  // product lines of NPUs
  std::vector<TosaOperatorRow> tosa;
};

}  // namespace carina::results
