#include "runtime/error.h"

#include "runtime/method.h"

namespace carina::runtime {

const char* name_of(Error error) {
  switch (error) {
    case Error::kOk:
      return "ok";
    case Error::kInternal:
      return "internal error";
    case Error::kInvalidProgram:
      return "invalid program";
    case Error::kInvalidArgument:
      return "invalid argument";
    case Error::kOutOfMemory:
      return "out of memory";
    case Error::kOperatorMissing:
      return "operator missing";
    case Error::kBackendMissing:
      return "backend missing";
    case Error::kDataMissing:
      return "external data missing";
    case Error::kNotSupported:
      return "not supported";
    case Error::kDelegateFailed:
      return "delegate failed";
    case Error::kNotLoaded:
      return "the method is not loaded";
  }
  return "unknown error";
}

const char* name_of(MemoryArena arena) {
  switch (arena) {
    case MemoryArena::kNone:
      return "no memory";
    case MemoryArena::kMethod:
      return "method arena";
    case MemoryArena::kScratch:
      return "scratch arena";
    case MemoryArena::kPlanned:
      return "planned buffer";
  }
  return "unknown memory";
}

}  // namespace carina::runtime
