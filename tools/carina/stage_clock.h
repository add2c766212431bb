#pragma once

#include <string>
#include <string_view>

#include "carina/log.h"
#include "report/profile_report.h"

namespace carina::cli {

// Measures a command's stages: from what its log says of its progress, which goes on to `log`.
class StageClock {
 public:
  explicit StageClock(Log log) : log_(std::move(log)) {}
  StageClock(const StageClock&) = delete;
  StageClock& operator=(const StageClock&) = delete;

  // A log that begins a stage with each new step. This object outlives it.
  [[nodiscard]] Log log();
  // Begins the stage of a step (Log::progress); the one before ends.
  void begin(std::string_view step);
  // Ends the last stage: what all have cost, in the order in which they began first.
  results::Profile finish();

 private:
  struct Moment {
    double seconds = 0;
    double cpu_seconds = 0;
  };
  [[nodiscard]] static Moment now();
  void end();

  Log log_;
  results::Profile profile_;
  std::string stage_;  // under way
  Moment began_;
};

}  // namespace carina::cli
