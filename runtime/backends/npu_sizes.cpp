#include "runtime/backends/npu_sizes.h"

#include "facts/executorch.h"
#include "runtime/backends/ethos_u.h"

namespace carina::runtime {

Error npu_delegate_sizes(std::string_view id, std::span<const std::byte> blob, const TypeSizes& types,
                         DelegateSizes& sizes) {
  constexpr size_t kStreamPointers = 11;
  static_assert(sizeof(NpuStream) == kStreamPointers * sizeof(void*));
  if (!is_ethos_u(id)) return Error::kBackendMissing;
  NpuStream stream;
  CARINA_RT_TRY(read_npu_stream(blob, stream));
  sizes = {.method_bytes = kStreamPointers * types.pointer, .scratch_bytes = stream.scratch_bytes};
  return Error::kOk;
}

}  // namespace carina::runtime
