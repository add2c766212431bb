#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "report/run_report.h"

namespace carina::report {

// {"name": value ...}, in the order of the list.
template <typename Number>
nlohmann::ordered_json pairs(const std::vector<std::pair<std::string, Number>>& list) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [name, value] : list) json[name] = value;
  return json;
}

// The NPU's part of an inference, each operation.
nlohmann::ordered_json npu_json(const NpuReport& npu);

}  // namespace carina::report
