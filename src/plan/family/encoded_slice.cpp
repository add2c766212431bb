#include "plan/family/encoded_slice.h"

#include "base/checked_math.h"
#include "facts/npu_targets.h"

namespace carina::plan {

int64_t append_aligned(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  to.resize(round_up<size_t>(to.size(), npu::kBaseAlignmentBytes));
  const auto offset = static_cast<int64_t>(to.size());
  to.insert(to.end(), bytes.begin(), bytes.end());
  return offset;
}

void append_scales(EncodedSlice& slice, size_t core, std::span<const std::byte> table) {
  slice.cores[core].scale_offset = append_aligned(slice.scales, table);
  slice.cores[core].scale_bytes = static_cast<int64_t>(table.size());
}

void set_weights(EncodedSlice& slice, std::span<const npu::EncodedWeightsCache::Stream> streams) {
  std::vector<std::byte> bytes;
  for (size_t core = 0; core < streams.size(); ++core) {
    const npu::EncodedWeights& stream = *streams[core];
    slice.values.push_back(stream.values);
    slice.cores[core].weight_bytes = static_cast<int64_t>(stream.bytes.size());
    if (streams.size() > 1) slice.cores[core].weight_offset = append_aligned(bytes, stream.bytes);
  }
  slice.weights = streams.size() == 1 ? std::shared_ptr<const std::vector<std::byte>>(streams[0], &streams[0]->bytes)
                                      : std::make_shared<const std::vector<std::byte>>(std::move(bytes));
}

}  // namespace carina::plan
