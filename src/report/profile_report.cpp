#include "report/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/tables/json.h"
#include "report/tables/text_table.h"

namespace carina::report {

namespace {

results::StageCost total_of(const results::Profile& profile) {
  results::StageCost total{.stage = "total"};
  for (const results::StageCost& cost : profile) {
    total.seconds += cost.seconds;
    total.cpu_seconds += cost.cpu_seconds;
    total.peak_bytes = std::max(total.peak_bytes, cost.peak_bytes);
  }
  return total;
}

}  // namespace

std::string to_text(const results::Profile& profile) {
  Table table({{.title = "stage"},
               {.title = "seconds", .align = Align::kRight},
               {.title = "of CPU", .align = Align::kRight},
               {.title = "peak MB", .align = Align::kRight}});
  const auto add = [&](const results::StageCost& cost) {
    constexpr double kMegabyte = 1e6;
    table.add({cost.stage, fmt::format("{:.3f}", cost.seconds), fmt::format("{:.3f}", cost.cpu_seconds),
               fmt::format("{:.1f}", static_cast<double>(cost.peak_bytes) / kMegabyte)});
  };
  for (const results::StageCost& cost : profile) add(cost);
  add(total_of(profile));
  return table.text(2);
}

std::string with_profile(std::string_view json, const results::Profile& profile) {
  auto report = nlohmann::ordered_json::parse(json);
  auto& stages = report["profile"] = nlohmann::ordered_json::array();
  for (const results::StageCost& cost : profile)
    stages.push_back({{"stage", cost.stage},
                      {"seconds", cost.seconds},
                      {"cpu_seconds", cost.cpu_seconds},
                      {"peak_bytes", cost.peak_bytes}});
  return json_tree_text(report);
}

}  // namespace carina::report
