#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/string_view.h>

#include <concepts>
#include <exception>
#include <functional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/guarded.h"
#include "carina/log.h"
#include "carina/result.h"

// Callbacks of Python for notes and progress.
namespace carina::python {

namespace nb = nanobind;

using NoteListener = std::function<void(const Diagnostic&)>;
using ProgressListener = std::function<void(std::string_view step, size_t done, size_t total)>;

// The Python callbacks of a call; each may be empty. They are called with the GIL held, on any thread, and never after
// the end of the call.
struct Listeners {
  NoteListener note;
  ProgressListener progress;
};

// The arguments `note` and `progress`, which are the last arguments of every long-running function.
#define CARINA_LISTENERS "note"_a.none() = nb::none(), "progress"_a.none() = nb::none()

// The reason to interrupt a call: an exception of a callback, or Ctrl-C. The call ends at the next step that it logs.
class Interruption {
 public:
  // Runs an action that may raise, with the GIL held. If it or an earlier action raised, throws an exception that ends
  // the call.
  void attempt(const std::function<void()>& action);
  // Raises the exception that interrupted the call, if there was one.
  void rethrow();

 private:
  std::exception_ptr error_;
};

// The log of one call; both outlive it.
Log log_of(const Listeners& listeners, Interruption& interruption);

// Raises the exception of carina.errors that belongs to these diagnostics.
[[noreturn]] void raise(const Diagnostics& diagnostics);

// Runs `body(log)`, which returns a Result, without the GIL, and returns its value. Raises its diagnostics, the
// exception of a callback, or KeyboardInterrupt on Ctrl-C.
template <std::invocable<const Log&> Body>
auto call(const Listeners& listeners, Body&& body) -> typename std::invoke_result_t<Body, const Log&>::value_type {
  Interruption interruption;
  const Log log = log_of(listeners, interruption);
  auto result = [&] {
    const nb::gil_scoped_release released;
    return guarded([&] { return body(log); });
  }();
  interruption.rethrow();
  if (!result) raise(result.error());
  return *std::move(result);
}

}  // namespace carina::python
