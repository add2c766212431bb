#pragma once

#include <concepts>
#include <exception>
#include <new>
#include <type_traits>

#include "base/check.h"
#include "base/diagnostic.h"

namespace carina {

// The diagnostic of the exception that is being handled: an internal error (Fault::kInternal), no memory
// (Fault::kEnvironment), or another exception, which is internal too: no library throws on purpose.
Diagnostic diagnostic_of_current_exception();

// What `body` returns, a Result; exceptions become its diagnostics. For the interfaces of the library: the API in memory,
// tools, the C interface, backends that a runtime without exceptions calls.
template <std::invocable Body>
auto guarded(Body&& body) -> std::invoke_result_t<Body> {
  try {
    return body();
  } catch (...) {
    return fail(diagnostic_of_current_exception());
  }
}

}  // namespace carina
