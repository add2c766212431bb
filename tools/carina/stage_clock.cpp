#include "stage_clock.h"

#include <algorithm>
#include <chrono>

#include "base/system/process.h"
#include "report/stage_text.h"

namespace carina::cli {

StageClock::Moment StageClock::now() {
  const std::chrono::duration<double> since = std::chrono::steady_clock::now().time_since_epoch();
  return {.seconds = since.count(), .cpu_seconds = carina::cpu_seconds()};
}

Log StageClock::log() {
  return {.note = log_.note, .progress = [this](std::string_view step, size_t done, size_t total) {
            begin(step);
            log_.progress(step, done, total);
          }};
}

void StageClock::begin(std::string_view step) {
  const std::string_view stage = report::stage_label(step);
  if (stage == stage_) return;
  end();
  stage_ = stage;
  forget_peak_memory();
  began_ = now();
}

void StageClock::end() {
  if (stage_.empty()) return;
  const Moment ended = now();
  auto found = std::ranges::find(profile_, stage_, &results::StageCost::stage);
  if (found == profile_.end()) found = profile_.insert(found, {.stage = stage_});
  found->seconds += ended.seconds - began_.seconds;
  found->cpu_seconds += ended.cpu_seconds - began_.cpu_seconds;
  found->peak_bytes = std::max(found->peak_bytes, peak_memory_bytes());
}

results::Profile StageClock::finish() {
  end();
  stage_.clear();
  return profile_;
}

}  // namespace carina::cli
