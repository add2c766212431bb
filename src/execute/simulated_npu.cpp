#include "execute/simulated_npu.h"

#include <algorithm>
#include <utility>

#include "base/guarded.h"

namespace carina::execute {

runtime::Error SimulatedNpu::invoke(std::span<const std::byte> payload, std::span<const std::span<std::byte>> bases) {
  simulate::Memory memory;
  memory.read_only[0] = true;  // the bytes of the program, possibly of a mapped file
  std::ranges::copy(bases.first(std::min(bases.size(), memory.regions.size())), memory.regions.begin());
  // Exceptions must not pass through the runtime between here and the caller, which is compiled without them.
  auto report = guarded([&] { return simulator_.run(payload, memory); });
  if (!report) {
    failure_ = std::move(report).error();
    return runtime::Error::kDelegateFailed;
  }
  reports_.push_back(*std::move(report));
  return runtime::Error::kOk;
}

}  // namespace carina::execute
