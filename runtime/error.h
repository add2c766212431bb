#pragma once

#include <cstdint>

namespace carina::runtime {

// What a call came to. There are no exceptions here, and no strings to allocate: Method::problem() says more.
enum class [[nodiscard]] Error : uint8_t {
  kOk,
  kInternal,         // a mistake of ours
  kInvalidProgram,   // the file is damaged or uses what this runtime does not have
  kInvalidArgument,  // the caller's input has another type or size
  kOutOfMemory,      // an arena is too small
  kOperatorMissing,  // no kernel of that name is linked
  kBackendMissing,   // no backend of that name is registered
  kDataMissing,      // a tensor lives outside of the program, in data that was not given
  kNotSupported,     // a kernel met types or options that it does not do
  kDelegateFailed,   // the backend or its device reported a fault
};

const char* name_of(Error error);

}  // namespace carina::runtime

// CARINA_RT_TRY(f()): leaves the function with f's error.
#define CARINA_RT_TRY(expression)                                                                                     \
  do {                                                                                                                \
    if (const ::carina::runtime::Error error_ = (expression); error_ != ::carina::runtime::Error::kOk) return error_; \
  } while (false)
