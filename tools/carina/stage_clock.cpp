#include "stage_clock.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "command.h"

namespace carina::cli {

namespace {

// Resets the peak of the memory use, if the system supports it. Source: proc(5), clear_refs.
void forget_peak() {
  std::ofstream("/proc/self/clear_refs") << 5;
}

// The peak of the memory use. Source: proc(5), status. On other systems it is the peak since the start.
int64_t peak_bytes() {
  constexpr int64_t kKilobyte = 1024;
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes * kKilobyte;
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * kKilobyte;
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

}  // namespace

StageClock::Moment StageClock::now() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const std::chrono::duration<double> since = std::chrono::steady_clock::now().time_since_epoch();
  return {.seconds = since.count(), .cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime)};
}

Log StageClock::log() {
  return {.note = log_.note, .progress = [this](std::string_view step, size_t done, size_t total) {
            begin(step);
            log_.progress(step, done, total);
          }};
}

void StageClock::begin(std::string_view step) {
  const std::string_view stage = stage_label(step);
  if (stage == stage_) return;
  end();
  stage_ = stage;
  forget_peak();
  began_ = now();
}

void StageClock::end() {
  if (stage_.empty()) return;
  const Moment ended = now();
  auto found = std::ranges::find(profile_, stage_, &results::StageCost::stage);
  if (found == profile_.end()) found = profile_.insert(found, {.stage = stage_});
  found->seconds += ended.seconds - began_.seconds;
  found->cpu_seconds += ended.cpu_seconds - began_.cpu_seconds;
  found->peak_bytes = std::max(found->peak_bytes, peak_bytes());
}

results::Profile StageClock::finish() {
  end();
  stage_.clear();
  return profile_;
}

}  // namespace carina::cli
