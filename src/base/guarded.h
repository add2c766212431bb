// Converts exceptions to diagnostics at the interfaces of the library.
#pragma once

#include <concepts>
#include <exception>
#include <new>
#include <type_traits>

#include "carina/check.h"
#include "carina/result.h"

namespace carina {

// Returns the diagnostic of the exception that is being handled. Lack of memory is Fault::kEnvironment; InternalError
// and all other exceptions are Fault::kInternal, since no library throws on purpose.
Diagnostic diagnostic_of_current_exception();

// Calls `body` and returns its Result; an exception becomes diagnostics. Used at the interfaces of the library: the
// in-memory API, the tools, the C interface, and backends that a runtime without exceptions calls.
template <std::invocable Body>
auto guarded(Body&& body) -> std::invoke_result_t<Body> {
  try {
    return body();
  } catch (...) {
    return fail(diagnostic_of_current_exception());
  }
}

}  // namespace carina
