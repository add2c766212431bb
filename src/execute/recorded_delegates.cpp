#include "execute/recorded_delegates.h"

#include <utility>

#include "runtime/backends/ethos_u.h"

namespace carina::execute {

std::string_view RecordedDelegates::id() const {
  return runs_.id();
}

bool RecordedDelegates::serves(std::string_view delegate_id) const {
  return runs_.serves(delegate_id);
}

runtime::Error RecordedDelegates::init(std::span<const std::byte> blob, std::span<const runtime::CompileSpec> specs,
                                       runtime::Arena& arena, void** handle) {
  runtime::NpuStream stream;
  CARINA_RT_TRY(runtime::read_npu_stream(blob, stream));
  CARINA_RT_TRY(runs_.init(blob, specs, arena, handle));
  output_counts_[*handle] = stream.output_count();
  return runtime::Error::kOk;
}

runtime::Error RecordedDelegates::execute(void* handle, runtime::Arguments arguments, runtime::Arena& scratch) {
  CARINA_RT_TRY(runs_.execute(handle, arguments, scratch));
  std::vector<std::vector<std::byte>>& outputs = calls_.emplace_back();
  const size_t count = output_counts_[handle];
  for (size_t i = arguments.size() - count; i < arguments.size(); ++i) {
    const runtime::EValue& output = *arguments[i];
    if (output.kind != runtime::EValue::Kind::kTensor) continue;
    const auto* bytes = static_cast<const std::byte*>(output.tensor.data);
    outputs.emplace_back(bytes, bytes + output.tensor.bytes());
  }
  return runtime::Error::kOk;
}

DelegateOutputs RecordedDelegates::take() {
  return std::exchange(calls_, {});
}

}  // namespace carina::execute
