#include "report/stage_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace carina::report {

namespace {

enum class Counted : uint8_t { kNo, kEach, kPercent };

// The user's text for each step of the libraries. The many passes over the graph share one text.
struct Stage {
  std::string_view step;
  std::string_view label;
  Counted counted = Counted::kNo;
};
constexpr std::array kStages{Stage{.step = "read", .label = "reading the model"},
                             Stage{.step = "calibrate", .label = "calibrating", .counted = Counted::kEach},
                             Stage{.step = "quantize", .label = "quantizing"},
                             Stage{.step = "compile for the NPU", .label = "compiling part", .counted = Counted::kEach},
                             Stage{.step = "sweep", .label = "compiled combination", .counted = Counted::kEach},
                             Stage{.step = "sample", .label = "sample", .counted = Counted::kEach},
                             Stage{.step = "run", .label = "running"},
                             Stage{.step = "select", .label = "choosing NPU operations"},
                             Stage{.step = "blocks", .label = "choosing block sizes"},
                             Stage{.step = "weights", .label = "encoding weights"},
                             Stage{.step = "encode", .label = "encoding weights", .counted = Counted::kPercent},
                             Stage{.step = "memory", .label = "allocating memory for tensors"},
                             Stage{.step = "emit", .label = "writing commands"},
                             Stage{.step = "check", .label = "checking the program"},
                             Stage{.step = "estimate", .label = "estimating cycles"},
                             Stage{.step = "write", .label = "writing the program"}};

Stage stage_of(std::string_view step) {
  const auto* stage = std::ranges::find(kStages, step, &Stage::step);
  return stage == kStages.end() ? Stage{.step = step, .label = "simplifying the model"} : *stage;
}

}  // namespace

std::string_view stage_label(std::string_view step) {
  return stage_of(step).label;
}

std::string stage_text(std::string_view step, size_t done, size_t total) {
  const Stage stage = stage_of(step);
  if (stage.counted == Counted::kEach && total > 0) return fmt::format("{} {}/{}", stage.label, done + 1, total);
  if (stage.counted == Counted::kPercent && total > 0) return fmt::format("{} {} %", stage.label, 100 * done / total);
  return std::string(stage.label);
}

}  // namespace carina::report
