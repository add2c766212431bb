#include "runtime/kernels/indexing_internal.h"

#include <algorithm>

#include "runtime/kernels/index_values_internal.h"

namespace carina::runtime {

namespace {

constexpr uint8_t kOneAxis[] = {0};

bool is_mask(const Tensor& tensor) {
  return tensor.type == PteScalarType::kBool || tensor.type == PteScalarType::kByte;
}

// The indices of a mask's true elements, in logical order: one tensor per axis, from `axis` of the indexing on.
Error expand_mask(const Tensor& mask, size_t axis, Arena& scratch, Indexing& indexing) {
  const Layout layout = layout_of(mask);
  Walk<1> walk{.rank = layout.rank, .sizes = layout.sizes, .strides = {layout.strides}, .at = {}, .index = {}};
  const int64_t all = walk.count();
  const auto* flags = mask.as<const uint8_t>();
  const auto count = std::count_if(flags, flags + all, [](uint8_t flag) { return flag != 0; });
  auto* positions = scratch.make_array<int64_t>(layout.rank * static_cast<size_t>(count));
  auto* size = scratch.make_array<int32_t>(1);
  if (positions == nullptr || size == nullptr) return Error::kOutOfMemory;
  *size = static_cast<int32_t>(count);
  int64_t next = 0;
  for (int64_t i = 0; i < all; ++i, walk.next()) {
    if (flags[walk.at[0]] == 0) continue;
    for (size_t k = 0; k < layout.rank; ++k) positions[static_cast<int64_t>(k) * count + next] = walk.index[k];
    ++next;
  }
  for (size_t k = 0; k < layout.rank; ++k) {
    Tensor& own = indexing.of_masks[axis + k];
    own = Tensor(PteScalarType::kLong, {size, 1}, kOneAxis, positions + static_cast<int64_t>(k) * count);
    indexing.positions[axis + k] = &own;
  }
  return Error::kOk;
}

Error read_indices(Call& call, std::span<EValue* const> list, const Tensor& tensor, Arena& scratch,
                   Indexing& indexing) {
  size_t axis = 0;
  for (const EValue* entry : list) {
    const bool whole = entry == nullptr || entry->is_none();
    call.require(whole || readable(entry));
    CARINA_RT_TRY(call.error());
    const bool mask = !whole && is_mask(entry->tensor);
    const size_t axes = mask ? entry->tensor.rank() : 1;
    call.require((axes > 0 || !mask) && axis + axes <= tensor.rank());
    call.support(whole || mask || holds_indices(entry->tensor));
    CARINA_RT_TRY(call.error());
    if (mask) {
      for (size_t k = 0; k < axes; ++k) call.require(entry->tensor.sizes()[k] == tensor.sizes()[axis + k]);
      CARINA_RT_TRY(call.error());
      CARINA_RT_TRY(expand_mask(entry->tensor, axis, scratch, indexing));
    } else if (!whole) {
      indexing.positions[axis] = &entry->tensor;
    }
    axis += axes;
  }
  return Error::kOk;
}

// Determines the positions of the common axes and of the other axes in the result.
void order_axes(size_t rank, Indexing& indexing) {
  size_t first = 0;
  while (indexing.positions[first] == nullptr) ++first;
  bool neighbors = true;
  for (size_t axis = first; axis < first + indexing.indexed; ++axis) neighbors &= indexing.positions[axis] != nullptr;
  indexing.first = neighbors ? first : 0;
  size_t next = neighbors ? 0 : indexing.common;
  for (size_t axis = 0; axis < rank; ++axis) {
    if (indexing.positions[axis] == nullptr) {
      indexing.result_axis[axis] = next++;
    } else if (neighbors && axis == first) {
      next += indexing.common;
    }
  }
}

// The sizes of the common axes. Returns false if the index tensors do not broadcast.
bool common_sizes(size_t rank, Indexing& indexing) {
  int64_t* sizes = indexing.sizes.data() + indexing.first;
  std::fill_n(sizes, indexing.common, 1);
  for (size_t axis = 0; axis < rank; ++axis) {
    if (indexing.positions[axis] == nullptr) continue;
    const std::span<const int32_t> own = indexing.positions[axis]->sizes();
    const size_t lead = indexing.common - own.size();
    for (size_t i = 0; i < own.size(); ++i) {
      if (own[i] == 1) continue;
      if (sizes[lead + i] != 1 && sizes[lead + i] != own[i]) return false;
      sizes[lead + i] = own[i];
    }
  }
  return true;
}

void common_steps(const Tensor& positions, const Indexing& indexing, Extents& steps) {
  const Layout own = layout_of(positions);
  const size_t lead = indexing.common - own.rank;
  for (size_t i = 0; i < own.rank; ++i) steps[lead + i] = own.sizes[i] == 1 ? 0 : own.strides[i];
}

}  // namespace

Error plan_indexing(Call& call, const Tensor& tensor, std::span<EValue* const> list, Arena& scratch,
                    Indexing& indexing) {
  CARINA_RT_TRY(read_indices(call, list, tensor, scratch, indexing));
  for (size_t axis = 0; axis < tensor.rank(); ++axis) {
    if (indexing.positions[axis] == nullptr) continue;
    ++indexing.indexed;
    indexing.common = std::max(indexing.common, indexing.positions[axis]->rank());
  }
  indexing.rank = tensor.rank() - indexing.indexed + indexing.common;
  call.require(indexing.indexed > 0 && indexing.rank <= kMaxRank);
  CARINA_RT_TRY(call.error());
  order_axes(tensor.rank(), indexing);
  call.require(common_sizes(tensor.rank(), indexing));
  for (size_t axis = 0; axis < tensor.rank(); ++axis) {
    if (indexing.positions[axis] == nullptr) {
      indexing.sizes[indexing.result_axis[axis]] = tensor.sizes()[axis];
    } else {
      common_steps(*indexing.positions[axis], indexing, indexing.steps[axis]);
    }
  }
  return call.error();
}

bool indexed_element(const Indexing& indexing, const Layout& tensor, const Extents& index, int64_t& element) {
  element = 0;
  for (size_t axis = 0; axis < tensor.rank; ++axis) {
    const Tensor* positions = indexing.positions[axis];
    if (positions == nullptr) {
      element += tensor.strides[axis] * index[indexing.result_axis[axis]];
      continue;
    }
    int64_t at = 0;
    for (size_t c = 0; c < indexing.common; ++c) at += indexing.steps[axis][c] * index[indexing.first + c];
    int64_t position = 0;
    if (!index_in_axis(*positions, at, tensor.sizes[axis], position)) return false;
    element += tensor.strides[axis] * position;
  }
  return true;
}

}  // namespace carina::runtime
