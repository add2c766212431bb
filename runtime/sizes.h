#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/backend.h"
#include "runtime/error.h"
#include "runtime/evalue.h"
#include "runtime/program.h"

// The memory that a method needs, before it is loaded. Nothing else of the runtime calls these functions, so an image
// that does not call them does not contain them.
namespace carina::runtime {

// The sizes of types, in bytes, on which the tables of a method depend.
struct TypeSizes {
  size_t pointer = sizeof(void*);
  size_t value = sizeof(EValue);
};
inline constexpr TypeSizes kCortexMTypes{.pointer = 4, .value = 24};  // a host asks for a Cortex-M

// What a delegate allocates: from the method arena at load, and from the scratch arena in each call.
struct DelegateSizes {
  size_t method_bytes = 0;
  size_t scratch_bytes = 0;
};
// Finds the sizes of a delegate in its blob, as npu_delegate_sizes() (runtime/backends/npu_sizes.h) does for Ethos-U.
// Errors: kBackendMissing for a delegate of another kind; kInvalidProgram for a malformed blob.
using DelegateSizer = Error (*)(std::string_view id, std::span<const std::byte> blob, const TypeSizes& types,
                                DelegateSizes& sizes);
// The stack that a kernel takes, in bytes, as portable_kernel_stack() (runtime/kernels/kernel_stacks.h) knows it; 0:
// not known.
using KernelStack = size_t (*)(std::string_view kernel);

// What a method refers to. A program without delegates, or a caller without interest, needs none of it.
struct Sizers {
  DelegateSizer delegate = nullptr;
  KernelStack kernel_stack = nullptr;
  PlaceOf place_of = nullptr;  // nullptr: the state is in planned memory, as in ExecuTorch's runtime
};

struct MethodSizes {
  size_t method_bytes = 0;   // what Method::load() takes of a method arena that begins at a multiple of 16 bytes
  size_t planned_bytes = 0;  // of all planned buffers, each rounded up to 16 bytes
  size_t scratch_bytes = 0;  // the largest scratch of a delegate
  // With Sizers::place_of: the part of scratch_bytes in which the state of the only delegate stays
  // (MemoryManager::delegate), which is not in planned_bytes then. 0: all state is planned.
  size_t delegate_bytes = 0;
  size_t delegate_state_bytes = 0;  // the state that stays there
  // Calls of kernels that allocate scratch memory by the values of their inputs (masks, FFTs), which are not known
  // here. 0: scratch_bytes is exact.
  uint32_t calls_with_more_scratch = 0;
  // The stack of the kernel that takes most, without those of the executor, of a delegate's driver and of the C
  // library; 0 without a KernelStack.
  size_t kernel_stack_bytes = 0;
};

// Errors: kInvalidArgument if there is no such method; kInvalidProgram for a damaged program, which Method::load() may
// still find to be damaged otherwise; kBackendMissing for a delegate without a sizer; those of the sizer.
Error method_sizes(const Program& program, size_t method, const Sizers& sizers, MethodSizes& sizes,
                   const TypeSizes& types = {});

}  // namespace carina::runtime
