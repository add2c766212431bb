#pragma once

#include <string>
#include <string_view>

#include "carina/log.h"
#include "report/render.h"

namespace carina::cli {

// Measures the stages of a command by the progress messages of its log. Messages are passed on to `log`.
class StageClock {
 public:
  explicit StageClock(Log log) : log_(std::move(log)) {}
  StageClock(const StageClock&) = delete;
  StageClock& operator=(const StageClock&) = delete;

  // A log in which each new step begins a stage. This object must outlive it.
  [[nodiscard]] Log log();
  // Ends the current stage and begins the stage of a step (Log::progress).
  void begin(std::string_view step);
  // Ends the last stage. Returns the cost of each stage, in the order of their first begin.
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
  std::string stage_;  // name of the current stage
  Moment began_;
};

}  // namespace carina::cli
