#pragma once

#include <concepts>
#include <cstddef>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/guarded.h"
#include "carina/log.h"
#include "carina/result.h"

namespace carina::api {

// What every call of the API has around it: the caller's mistakes in its arguments are returned before anything runs;
// exceptions become diagnostics; a requested stop ends the call; each step's progress ends at its end. An object may
// serve several calls, one at a time.
class Call {
 public:
  // `caller` must outlive the object.
  explicit Call(const Log& caller);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // The sink for the libraries below. Its functions throw where the caller wants the call to end, and where the
  // caller's own function throws.
  [[nodiscard]] const Log& log() const { return log_; }

  // Returns body(log()), or `wrong` if there is any.
  template <std::invocable<const Log&> Body>
  auto run(const std::stop_token& stop, Diagnostics wrong, Body&& body) -> std::invoke_result_t<Body, const Log&> {
    check_log(wrong);
    if (!wrong.empty()) return fail(std::move(wrong));
    begin(stop);
    if (stop.stop_requested()) return fail(stopped());
    auto result = guarded([&] { return body(log_); });
    if (ended_by_caller_) return fail(std::move(*ended_by_caller_));
    if (result) end_progress();
    return result;
  }

 private:
  void check_log(Diagnostics& wrong) const;
  void begin(const std::stop_token& stop);
  void note(const Diagnostic& diagnostic);
  void progress(std::string_view step, size_t done, size_t total);
  void end_progress();
  // Reports the last step as done unless its last report said so. The caller holds the lock.
  void end_step();
  void check_stop();
  template <typename Function>
  void call_back(std::string_view name, Function&& function);
  static Diagnostic stopped();

  const Log& caller_;
  Log log_;
  std::mutex mutex_;  // libraries may report from several threads
  std::stop_token stop_;
  std::string step_;
  size_t done_ = 0;
  size_t total_ = 0;
  std::optional<Diagnostic> ended_by_caller_;
};

// One call with nothing to stop it.
template <std::invocable<const Log&> Body>
auto call(const Log& log, const std::stop_token& stop, Diagnostics wrong, Body&& body)
    -> std::invoke_result_t<Body, const Log&> {
  return guarded([&]() -> std::invoke_result_t<Body, const Log&> {
    Call one(log);
    return one.run(stop, std::move(wrong), std::forward<Body>(body));
  });
}

}  // namespace carina::api
