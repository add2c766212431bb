#include "listeners.h"

namespace carina::python {

namespace {

// Thrown through the library to end a call early. Whatever the library returns, the call then ends with the
// interruption.
struct Left final : std::exception {
  [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};

void run_signal_handlers() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace

void Interruption::attempt(const std::function<void()>& action) {
  const nb::gil_scoped_acquire held;
  if (!error_) {
    try {
      action();
    } catch (const nb::python_error&) {
      error_ = std::current_exception();
    }
  }
  if (error_) throw Left();
}

void Interruption::rethrow() {
  if (error_) std::rethrow_exception(error_);
}

Log log_of(const Listeners& listeners, Interruption& interruption) {
  Log log;
  if (listeners.note) {
    log.note = [&](const Diagnostic& diagnostic) { interruption.attempt([&] { listeners.note(diagnostic); }); };
  }
  log.progress = [&](std::string_view step, size_t done, size_t total) {
    interruption.attempt([&] {
      run_signal_handlers();
      if (listeners.progress) listeners.progress(step, done, total);
    });
  };
  return log;
}

void raise(const Diagnostics& diagnostics) {
  nb::list all;
  for (const Diagnostic& diagnostic : diagnostics) all.append(nb::cast(diagnostic));
  const nb::object error = nb::module_::import_("carina.errors").attr("error_of")(all);
  PyErr_SetObject(error.type().ptr(), error.ptr());
  throw nb::python_error();
}

}  // namespace carina::python
