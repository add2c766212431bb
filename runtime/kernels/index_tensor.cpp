#include <algorithm>
#include <array>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/element_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/layout_internal.h"

namespace carina::runtime {

namespace {

// input[i0, i1, ...] with tensors of places. The index tensors are broadcast together; their axes stand where the first
// indexed axis stood when the indexed axes are neighbours, else in front, as in PyTorch.
struct Indexing {
  std::array<const Tensor*, kMaxRank> places{};  // per axis of the input; nullptr: all of it
  std::array<Extents, kMaxRank> steps{};         // of each index tensor along the common axes
  std::array<size_t, kMaxRank> out_axis{};       // per axis of the input that is taken whole: the output's axis
  size_t first = 0, common = 0;                  // the common axes in the output: [first, first + common)
};

bool is_place_type(const Tensor& tensor) {
  return tensor.type == PteScalarType::kLong || tensor.type == PteScalarType::kInt;
}

// Fills `places`; the number of axes that are indexed.
size_t read_places(Call& call, std::span<EValue* const> list, const Tensor& in, Indexing& indexing) {
  size_t indexed = 0;
  call.require(list.size() <= in.rank());
  for (size_t axis = 0; axis < std::min(list.size(), in.rank()); ++axis) {
    if (list[axis] == nullptr || list[axis]->is_none()) continue;
    call.require(readable(list[axis]));
    if (!readable(list[axis])) continue;
    call.support(is_place_type(list[axis]->tensor));
    indexing.places[axis] = &list[axis]->tensor;
    indexing.common = std::max(indexing.common, list[axis]->tensor.rank());
    ++indexed;
  }
  return indexed;
}

// Where the common axes stand in the output, and where the others.
void order_axes(size_t rank, size_t indexed, Indexing& indexing) {
  size_t first = 0;
  while (indexing.places[first] == nullptr) ++first;
  bool neighbours = true;
  for (size_t axis = first; axis < first + indexed; ++axis) neighbours &= indexing.places[axis] != nullptr;
  indexing.first = neighbours ? first : 0;
  size_t next = neighbours ? 0 : indexing.common;
  for (size_t axis = 0; axis < rank; ++axis) {
    if (indexing.places[axis] == nullptr) {
      indexing.out_axis[axis] = next++;
    } else if (neighbours && axis == first) {
      next += indexing.common;
    }
  }
}

// The steps of one index tensor along the common axes; false when it does not broadcast to the output's sizes there.
bool common_steps(const Tensor& places, const Layout& out, const Indexing& indexing, Extents& steps) {
  const Layout own = layout_of(places);
  const size_t missing = indexing.common - own.rank;
  for (size_t i = 0; i < own.rank; ++i) {
    if (own.sizes[i] != 1 && own.sizes[i] != out.sizes[indexing.first + missing + i]) return false;
    steps[missing + i] = own.sizes[i] == 1 ? 0 : own.strides[i];
  }
  return true;
}

// The input's element for a position in the output; false when a place lies outside.
bool source_of(const Indexing& indexing, const Layout& in, const Extents& index, int64_t& source) {
  source = 0;
  for (size_t axis = 0; axis < in.rank; ++axis) {
    const Tensor* places = indexing.places[axis];
    if (places == nullptr) {
      source += in.strides[axis] * index[indexing.out_axis[axis]];
      continue;
    }
    int64_t at = 0;
    for (size_t c = 0; c < indexing.common; ++c) at += indexing.steps[axis][c] * index[indexing.first + c];
    int64_t place = integer_loader(places->type)(places->data, static_cast<size_t>(at));
    if (place < 0) place += in.sizes[axis];
    if (place < 0 || place >= in.sizes[axis]) return false;
    source += in.strides[axis] * place;
  }
  return true;
}

}  // namespace

// (input, indices: a list of tensors or None, out)
Error index_tensor(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const std::span<EValue* const> list = call.tensors(1);
  const Tensor& out = call.out(2);
  CARINA_RT_TRY(call.error());
  Indexing indexing;
  const size_t indexed = read_places(call, list, in, indexing);
  call.require(indexed > 0 && in.type == out.type && out.rank() == in.rank() - indexed + indexing.common);
  CARINA_RT_TRY(call.error());
  order_axes(in.rank(), indexed, indexing);
  const Layout from = layout_of(in), to = layout_of(out);
  for (size_t axis = 0; axis < from.rank; ++axis) {
    call.require(indexing.places[axis] != nullptr
                     ? common_steps(*indexing.places[axis], to, indexing, indexing.steps[axis])
                     : from.sizes[axis] == to.sizes[indexing.out_axis[axis]]);
  }
  CARINA_RT_TRY(call.error());
  Walk<1> walk;
  for (size_t axis = 0; axis < to.rank; ++axis) walk.add_axis(to.sizes[axis], {to.strides[axis]});
  const int64_t count = walk.count();
  const size_t bytes = element_bytes(in.type);
  for (int64_t i = 0; i < count; ++i, walk.next()) {
    int64_t source = 0;
    if (!source_of(indexing, from, walk.index, source)) return Error::kInvalidArgument;
    std::copy_n(in.as<const std::byte>() + static_cast<size_t>(source) * bytes, bytes,
                out.as<std::byte>() + static_cast<size_t>(walk.at[0]) * bytes);
  }
  return Error::kOk;
}

}  // namespace carina::runtime
