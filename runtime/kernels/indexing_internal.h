#pragma once

#include <array>
#include <span>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/layout.h"

namespace carina::runtime {

// The plan of tensor[i0, i1, ...]. An entry is a tensor of indices, a mask, or None for a whole axis. A mask is
// replaced by the indices of its true elements, one index tensor per axis of the mask. Index tensors are broadcast
// together. As in PyTorch, their common axes replace the indexed axes in the result if these are adjacent; otherwise
// they come first.
struct Indexing {
  std::array<const Tensor*, kMaxRank> positions{};  // per axis of the tensor; nullptr: the whole axis
  std::array<Extents, kMaxRank> steps{};            // strides of each index tensor along the common axes
  std::array<size_t, kMaxRank> result_axis{};       // for each axis that is not indexed: its axis in the result
  size_t indexed = 0;
  size_t first = 0, common = 0;  // position of the common axes in the result: [first, first + common)
  size_t rank = 0;               // rank of the result
  Extents sizes{};
  std::array<Tensor, kMaxRank> of_masks;  // the index tensors of masks, in scratch memory
};

// Errors: kInvalidArgument (index tensors that do not broadcast, more of them than axes, a mask of wrong sizes),
// kOutOfMemory.
Error plan_indexing(Call& call, const Tensor& tensor, std::span<EValue* const> list, Arena& scratch,
                    Indexing& indexing);

// The offset of the tensor's element at position `index` of the result. Returns false if an index is out of range.
bool indexed_element(const Indexing& indexing, const Layout& tensor, const Extents& index, int64_t& element);

}  // namespace carina::runtime
