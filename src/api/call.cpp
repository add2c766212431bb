#include <exception>
#include <stdexcept>

#include "api/call_internal.h"

namespace carina::api {

namespace {

// Ends a call from inside a function of the caller's Log. It never leaves Call::run().
class EndedByCaller : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "ended by the caller"; }
};

}  // namespace

Call::Call(const Log& caller)
    : caller_(caller),
      log_{.note = [this](const Diagnostic& diagnostic) { note(diagnostic); },
           .progress = [this](std::string_view step, size_t done, size_t total) { progress(step, done, total); }} {}

Diagnostic Call::stopped() {
  return {.where = "stop token", .what = "the call was stopped by its caller", .fault = Fault::kUsage};
}

void Call::check_log(Diagnostics& wrong) const {
  if (!caller_.note) wrong.push_back({.where = "Log::note", .what = "the function is empty", .fault = Fault::kUsage});
  if (!caller_.progress)
    wrong.push_back({.where = "Log::progress", .what = "the function is empty", .fault = Fault::kUsage});
}

void Call::begin(const std::stop_token& stop) {
  stop_ = stop;
  step_.clear();
  done_ = total_ = 0;
  ended_by_caller_.reset();
}

void Call::check_stop() {
  if (!stop_.stop_requested()) return;
  ended_by_caller_ = stopped();
  throw EndedByCaller();
}

template <typename Function>
void Call::call_back(std::string_view name, Function&& function) {
  try {
    function();
    return;
  } catch (const std::exception& error) {
    ended_by_caller_ = {.where = std::string(name),
                        .what = "the function threw an exception",
                        .got = error.what(),
                        .hint = "to end a call, use a stop token",
                        .fault = Fault::kUsage};
  } catch (...) {
    ended_by_caller_ = {.where = std::string(name),
                        .what = "the function threw an exception",
                        .hint = "to end a call, use a stop token",
                        .fault = Fault::kUsage};
  }
  throw EndedByCaller();
}

void Call::note(const Diagnostic& diagnostic) {
  const std::lock_guard lock(mutex_);
  call_back("Log::note", [&] { caller_.note(diagnostic); });
  check_stop();
}

void Call::end_step() {
  if (total_ > 0 && done_ < total_) call_back("Log::progress", [&] { caller_.progress(step_, total_, total_); });
  total_ = 0;
}

void Call::progress(std::string_view step, size_t done, size_t total) {
  const std::lock_guard lock(mutex_);
  check_stop();
  const bool same = step == step_ && total == total_;
  if (same && done == done_ && total > 0) return;
  if (!same || done < done_) end_step();
  step_ = step;
  done_ = done;
  total_ = total;
  call_back("Log::progress", [&] { caller_.progress(step, done, total); });
  check_stop();
}

void Call::end_progress() {
  const std::lock_guard lock(mutex_);
  try {
    end_step();
  } catch (const EndedByCaller&) {
    ended_by_caller_.reset();  // the result exists: nothing is left to end
  }
}

}  // namespace carina::api
