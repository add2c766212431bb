#include <fmt/format.h>

#include <array>
#include <vector>

#include "frontend/tflite/to_tosa/ops_internal.h"

// Operators that exchange blocks of pixels with channels or with the batch, and BROADCAST_TO. Each axis of pixels is
// two axes, whole blocks and the place in the block, which are transposed.
//   DEPTH_TO_SPACE, blocks of 2: [1,h,w,4c] = [1,h,w,2,2,c] -> [1,h,2,w,2,c] = [1,2h,2w,c]
namespace carina::tflite {

namespace {

using ir::ValueId;

constexpr std::array kBlockTypes{DType::kInt8, DType::kUInt8, DType::kInt16, DType::kInt32, DType::kBool};

Result<void> check_blocks(const Call& call, size_t operands) {
  CARINA_CHECKED(call.need(operands));
  CARINA_CHECKED(call.need_type(call.in(0), kBlockTypes));
  if (call.in(0).dtype != call.result().dtype)
    return call.reject("input and result have different types", call.in(0).type_name, call.result().type_name);
  return {};
}

std::unexpected<Diagnostics> no_whole_blocks(const Call& call) {
  return call.reject("the sizes are not whole blocks", {}, to_string(call.in(0).shape));
}

// reshape(transpose(reshape(value, parts), perms), result)
ValueId rearranged(Call& call, ValueId value, const Shape& parts, const std::vector<int64_t>& perms,
                   const Shape& result) {
  return call.out.reshape(call.out.transpose(call.out.reshape(value, parts), perms), result);
}

// The block size of each axis between the batch and the rest, and the amounts before and after it.
struct Blocks {
  std::vector<int64_t> sizes;
  std::vector<int64_t> amounts;
  int64_t count = 1;  // of pixels in a block
};

Result<Blocks> blocks_of(const Call& call) {
  Blocks blocks;
  CARINA_TRY(blocks.sizes, call.constant(1, "the block shape"));
  CARINA_TRY(blocks.amounts, call.constant(2, "the amounts"));
  const size_t rank = call.in(0).shape.rank();
  if (blocks.sizes.empty() || blocks.sizes.size() > 2 || blocks.amounts.size() != 2 * blocks.sizes.size() ||
      rank < blocks.sizes.size() + 1)
    return call.reject("blocks of one or two axes are supported", {}, fmt::to_string(blocks.sizes.size()));
  constexpr int64_t kMax = 1 << 20;
  for (const int64_t size : blocks.sizes) {
    if (size < 1 || size > kMax) return call.reject("a block size is out of range", {}, fmt::to_string(size));
    blocks.count *= size;
  }
  for (const int64_t amount : blocks.amounts) {
    if (amount < 0 || amount > kMax) return call.reject("an amount is out of range", {}, fmt::to_string(amount));
  }
  return blocks;
}

// The elements of all axes after those of the blocks.
int64_t rest_of(const Shape& shape, const Blocks& blocks) {
  int64_t rest = 1;
  for (size_t i = blocks.sizes.size() + 1; i < shape.rank(); ++i) rest *= shape[i];
  return rest;
}

}  // namespace

Result<void> depth_to_space(Call& call) {
  CARINA_CHECKED(check_blocks(call, 1));
  const Shape shape = call.in(0).shape;
  const int64_t block = call.options().block_size;
  if (shape.rank() != 4 || block < 1 || shape[3] % (block * block) != 0) return no_whole_blocks(call);
  const int64_t depth = shape[3] / (block * block);
  return call.set(rearranged(call, call.value(0), Shape{shape[0] * shape[1], shape[2], block, block * depth},
                             {0, 2, 1, 3}, Shape{shape[0], shape[1] * block, shape[2] * block, depth}));
}

Result<void> space_to_depth(Call& call) {
  CARINA_CHECKED(check_blocks(call, 1));
  const Shape shape = call.in(0).shape;
  const int64_t block = call.options().block_size;
  if (shape.rank() != 4 || block < 1 || shape[1] % block != 0 || shape[2] % block != 0) return no_whole_blocks(call);
  return call.set(
      rearranged(call, call.value(0), Shape{shape[0] * shape[1] / block, block, shape[2] / block, block * shape[3]},
                 {0, 2, 1, 3}, Shape{shape[0], shape[1] / block, shape[2] / block, block * block * shape[3]}));
}

// [n, h, w, c], padded to whole blocks, = [n, h/y, y, w/x, x, c] -> [y, x, n, h/y, w/x, c] = [y x n, h/y, w/x, c]
Result<void> space_to_batch(Call& call) {
  CARINA_CHECKED(check_blocks(call, 3));
  CARINA_TRY(const Blocks blocks, blocks_of(call));
  const Shape shape = call.in(0).shape;
  const size_t axes = blocks.sizes.size();
  std::vector<int64_t> padding(2 * shape.rank());
  std::ranges::copy(blocks.amounts, padding.begin() + 2);
  int64_t fill = 0;
  if (!call.result().quantization.scales.empty()) {
    CARINA_CHECKED(call.need_quantized(call.result(), kBlockTypes));
    fill = Call::zero_point(call.result());
  }
  const ValueId padded = call.out.pad(call.value(0), padding, static_cast<double>(fill));
  const Shape whole = call.out.shape(padded);
  std::vector<int64_t> parts{whole[0]}, perms, made{whole[0] * blocks.count};
  for (size_t i = 0; i < axes; ++i) {
    if (whole[i + 1] % blocks.sizes[i] != 0) return no_whole_blocks(call);
    parts.insert(parts.end(), {whole[i + 1] / blocks.sizes[i], blocks.sizes[i]});
    perms.push_back(static_cast<int64_t>(2 * i + 2));
    made.push_back(whole[i + 1] / blocks.sizes[i]);
  }
  perms.push_back(0);
  for (size_t i = 0; i < axes; ++i) perms.push_back(static_cast<int64_t>(2 * i + 1));
  perms.push_back(static_cast<int64_t>(parts.size()));
  parts.push_back(rest_of(shape, blocks));
  for (size_t i = axes + 1; i < shape.rank(); ++i) made.push_back(shape[i]);
  return call.set(rearranged(call, padded, Shape(parts), perms, Shape(made)));
}

// The inverse: crops what is beyond the result.
Result<void> batch_to_space(Call& call) {
  CARINA_CHECKED(check_blocks(call, 3));
  CARINA_TRY(const Blocks blocks, blocks_of(call));
  const Shape shape = call.in(0).shape;
  const size_t axes = blocks.sizes.size();
  if (shape[0] % blocks.count != 0) return no_whole_blocks(call);
  std::vector<int64_t> parts = blocks.sizes, perms{static_cast<int64_t>(axes)}, made{shape[0] / blocks.count};
  parts.push_back(shape[0] / blocks.count);
  std::vector<int64_t> start(shape.rank()), size{shape[0] / blocks.count};
  for (size_t i = 0; i < axes; ++i) {
    parts.push_back(shape[i + 1]);
    perms.insert(perms.end(), {static_cast<int64_t>(axes + 1 + i), static_cast<int64_t>(i)});
    made.push_back(shape[i + 1] * blocks.sizes[i]);
    start[i + 1] = blocks.amounts[2 * i];
    size.push_back(made.back() - blocks.amounts[2 * i] - blocks.amounts[2 * i + 1]);
    if (size.back() < 1) return call.reject("nothing is left of an axis", {}, to_string(shape));
  }
  perms.push_back(static_cast<int64_t>(parts.size()));
  parts.push_back(rest_of(shape, blocks));
  for (size_t i = axes + 1; i < shape.rank(); ++i) {
    made.push_back(shape[i]);
    size.push_back(shape[i]);
  }
  return call.set(
      call.out.slice(rearranged(call, call.value(0), Shape(parts), perms, Shape(made)), start, Shape(size)));
}

Result<void> broadcast_to(Call& call) {
  CARINA_CHECKED(check_blocks(call, 1));
  const Shape &from = call.in(0).shape, &to = call.result().shape;
  bool fits = from.rank() <= to.rank();
  for (size_t i = 1; fits && i <= from.rank(); ++i)
    fits = from[from.rank() - i] == 1 || from[from.rank() - i] == to[to.rank() - i];
  if (!fits || to.rank() == 0 || to.elements() < 1)
    return call.reject("the shapes do not fit", to_string(from), to_string(to));
  return call.set(call.out.tile(call.value(0), to));
}

}  // namespace carina::tflite
