#pragma once

#include <cstdint>

namespace carina::runtime {

// The result of a call. The runtime has no exceptions and allocates no strings; Method::problem() gives details.
enum class [[nodiscard]] Error : uint8_t {
  kOk,
  kInternal,         // a bug in Carina
  kInvalidProgram,   // the file is damaged or uses features that this runtime does not have
  kInvalidArgument,  // the caller's input has another type or size
  kOutOfMemory,      // an arena is too small
  kOperatorMissing,  // no kernel of that name is linked
  kBackendMissing,   // no backend of that name is registered
  kDataMissing,      // a tensor is stored outside of the program, in a file that was not given
  kNotSupported,     // a kernel does not support the types or options
  kDelegateFailed,   // the backend or its device reported a fault
  kNotLoaded,        // the method is not loaded: Method::load() was not called or failed
};

const char* name_of(Error error);

}  // namespace carina::runtime

// CARINA_RT_TRY(f()) returns f's error from the enclosing function.
#define CARINA_RT_TRY(expression)                                                                                     \
  do {                                                                                                                \
    if (const ::carina::runtime::Error error_ = (expression); error_ != ::carina::runtime::Error::kOk) return error_; \
  } while (false)
