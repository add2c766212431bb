#include "interop/executorch/delegate.h"
#include "interop/executorch/journal_internal.h"

namespace carina::interop {

namespace {

constexpr size_t kMaxCalls = 1000;

}  // namespace

Journal& Journal::get() {
  static Journal journal;
  return journal;
}

void Journal::set_timed(bool timed) {
  const std::scoped_lock lock(mutex_);
  timed_ = timed;
}

bool Journal::timed() const {
  const std::scoped_lock lock(mutex_);
  return timed_;
}

void Journal::add(results::NpuReport call) {
  results::RunReport report;
  report.npu = std::move(call);
  add(std::move(report));
}

void Journal::add_vgf(int64_t nanoseconds) {
  results::RunReport report;
  report.vgf_times.push_back(nanoseconds);
  add(std::move(report));
}

void Journal::add(results::RunReport call) {
  const std::scoped_lock lock(mutex_);
  if (calls_.size() == kMaxCalls) calls_.pop_front();
  calls_.push_back(std::move(call));
}

void Journal::fail(std::string why) {
  const std::scoped_lock lock(mutex_);
  last_error_ = std::move(why);
}

void Journal::clear() {
  const std::scoped_lock lock(mutex_);
  calls_.clear();
  last_error_.clear();
}

size_t Journal::calls() const {
  const std::scoped_lock lock(mutex_);
  return calls_.size();
}

std::optional<std::string> Journal::call(size_t index) const {
  const std::scoped_lock lock(mutex_);
  if (index >= calls_.size()) return std::nullopt;
  results::RunReport one_call = calls_[index];
  one_call.delegate_calls = 1;
  one_call.timed = timed_;
  return report::to_json(one_call);
}

std::string Journal::last_error() const {
  const std::scoped_lock lock(mutex_);
  return last_error_;
}

}  // namespace carina::interop

using carina::interop::Journal;

#define CARINA_EXPORT __attribute__((visibility("default")))

extern "C" {

CARINA_EXPORT void carina_executorch_set_timed(bool timed) {
  Journal::get().set_timed(timed);
}

CARINA_EXPORT size_t carina_executorch_report_count(void) {
  return Journal::get().calls();
}

CARINA_EXPORT const char* carina_executorch_report(size_t call, size_t* size) {
  thread_local std::string text;
  auto found = Journal::get().call(call);
  if (!found) return nullptr;
  text = *std::move(found);
  *size = text.size();
  return text.c_str();
}

CARINA_EXPORT void carina_executorch_clear_reports(void) {
  Journal::get().clear();
}

CARINA_EXPORT const char* carina_executorch_last_error(void) {
  thread_local std::string text;
  text = Journal::get().last_error();
  return text.c_str();
}

}  // extern "C"
