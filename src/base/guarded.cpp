#include "base/guarded.h"

namespace carina {

Diagnostic diagnostic_of_current_exception() {
  constexpr const char* kPleaseReport =
      "this is a mistake of Carina, not of your model: please report it, with the command and, if you can, the file";
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return {.where = {}, .what = "out of memory", .fault = Fault::kEnvironment};
  } catch (const std::exception& error) {
    return {.where = "internal error", .what = error.what(), .hint = kPleaseReport, .fault = Fault::kInternal};
  } catch (...) {
    return {.where = "internal error",
            .what = "an exception of unknown type",
            .hint = kPleaseReport,
            .fault = Fault::kInternal};
  }
}

}  // namespace carina
