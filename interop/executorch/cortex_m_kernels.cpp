// Registers the kernels of ExecuTorch's Cortex-M backend (cortex_m::) in the official runtime on a host, whose package
// does not have them. Programs with int8 kernels on the CPU can then run there.
// Interface of the registration: operator_registry.h of the official package.
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/log.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/guarded.h"
#include "interop/executorch/glue_internal.h"
#include "runtime/kernel.h"

namespace carina::interop {

namespace {

constexpr size_t kMaxKernels = 40;

// The Cortex-M kernels of the runtime's table. It is sorted by name, so they are adjacent.
std::span<const runtime::KernelEntry> cortex_m_kernels() {
  const auto all = runtime::portable_kernels();
  const auto is_ours = [](const runtime::KernelEntry& entry) { return entry.name.starts_with("cortex_m::"); };
  const auto first = std::ranges::find_if(all, is_ours);
  return {first, std::find_if_not(first, all.end(), is_ours)};
}

Result<void> run(const runtime::KernelEntry& entry, official::Span<official::EValue*> arguments) {
  const Converted ours = converted(arguments);
  runtime::Arena none;  // CMSIS-NN's scratch is a tensor of the program's
  const runtime::Error error = entry.kernel(ours.pointers, none);
  if (error == runtime::Error::kOk) return {};
  return fail({.where = std::string(entry.name),
               .what = "the kernel cannot run on these arguments",
               .got = runtime::name_of(error)});
}

// A kernel of the official runtime is a function without data, so each entry of the table has a function of its own.
template <size_t index>
void call(official::KernelRuntimeContext& context, official::Span<official::EValue*> arguments) {
  const auto done = guarded([&] { return run(cortex_m_kernels()[index], arguments); });
  if (!done) context.fail(failed(done.error(), official::Error::InvalidArgument));
}

constexpr auto kCalls = []<size_t... positions>(std::index_sequence<positions...>) {
  return std::array<official::OpFunction, sizeof...(positions)>{call<positions>...};
}(std::make_index_sequence<kMaxKernels>());

// If the process has linked the backend's own kernels, they stay: registering a name twice would end the process.
[[maybe_unused]] const bool kRegistered = [] {
  const auto kernels = cortex_m_kernels();
  for (size_t i = 0; i < kernels.size(); ++i) {
    const char* name = kernels[i].name.data();  // a string literal, so it ends with a zero
    if (official::registry_has_op_function(name)) continue;
    if (i >= kMaxKernels || official::register_kernel(official::Kernel(name, kCalls[i])) != official::Error::Ok)
      ET_LOG(Error, "carina: %s cannot be registered", name);
  }
  return true;
}();

}  // namespace

}  // namespace carina::interop
