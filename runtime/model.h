#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "runtime/delegate_state.h"
#include "runtime/kernel.h"
#include "runtime/method.h"

namespace carina::runtime {

// One program in one block of memory: the shortest way from an array in flash to outputs. `carina compile -o model.h`
// writes a class on top of it, whose load() and run() have the program's sizes and types.
//   Memory: planned buffers, each rounded up to 16 bytes | tables of the method | scratch of kernels and delegates
// The state that only the delegate reads and writes stays in its scratch memory (delegate_state.h).
class Model {
 public:
  // What the last error is about.
  [[nodiscard]] const Problem& problem() const { return method_.problem(); }
  [[nodiscard]] const Method& method() const { return method_; }

  // The state that runs pass on: see Method. It has its initial values after load().
  Error reset_state() { return method_.reset_state(); }
  [[nodiscard]] size_t state_bytes() const { return method_.state_bytes(); }
  Error save_state(std::span<std::byte> bytes) const { return method_.save_state(bytes); }
  Error restore_state(std::span<const std::byte> bytes) { return method_.restore_state(bytes); }

 protected:
  struct Sizes {
    size_t program_bytes = 0;
    size_t scratch_bytes = 0;
  };

  // Loads the first method of a program. Program and memory must stay where they are; both are 16-byte aligned. Errors:
  // those of Program::load() and Method::load(); kOutOfMemory for a memory that is too small.
  Error load_program(const uint8_t* program, Sizes sizes, std::span<std::byte> memory,
                     std::span<Backend* const> backends) {
    const Error read = program_.load(std::as_bytes(std::span(program, sizes.program_bytes)));
    if (read != Error::kOk) return read;
    const size_t scratch = rounded(sizes.scratch_bytes);
    if (scratch > memory.size()) return Error::kOutOfMemory;
    std::array<std::span<std::byte>, kMaxPlannedBuffers> planned;
    const size_t buffers = program_.planned_buffers(0);
    std::span<std::byte> free = memory.first(memory.size() - scratch);
    std::span<std::byte> working = memory.last(scratch);
    const DelegateState state(program_, 0, backends);
    const size_t kept = rounded(state.scratch_bytes());
    if (kept > scratch) return Error::kOutOfMemory;
    std::memset(working.data(), 0, kept);
    for (size_t i = 0; i < buffers; ++i) {
      const size_t bytes = rounded(state.planned_bytes(i));
      if (i == planned.size() || bytes > free.size()) return Error::kOutOfMemory;
      planned[i] = free.first(bytes);
      std::memset(planned[i].data(), 0, bytes);  // state without an initial value starts at zero
      free = free.subspan(bytes);
    }
    tables_ = Arena(free);
    scratch_ = Arena(working.subspan(kept));
    return method_.load(program_, 0,
                        {.method = &tables_,
                         .scratch = &scratch_,
                         .planned = std::span(planned).first(buffers),
                         .delegate = working.first(state.scratch_bytes())},
                        {.kernels = portable_kernels(), .backends = backends});
  }
  Error set_input(size_t index, const void* data, size_t bytes) {
    return method_.set_input(index, {static_cast<const std::byte*>(data), bytes});
  }
  Error execute() { return method_.execute(); }
  // Copies an output. Errors: kInvalidArgument if there is no such output or its size differs.
  Error get_output(size_t index, void* data, size_t bytes) const {
    const EValue& value = method_.output(index);
    if (value.kind != EValue::Kind::kTensor || value.tensor.bytes() != bytes) return Error::kInvalidArgument;
    std::memcpy(data, value.tensor.as<const std::byte>(), bytes);
    return Error::kOk;
  }

 private:
  static constexpr size_t kMaxPlannedBuffers = 4;
  static constexpr size_t rounded(size_t bytes) { return (bytes + 15) / 16 * 16; }

  Program program_;
  Method method_;
  Arena tables_;
  Arena scratch_;
};

}  // namespace carina::runtime
