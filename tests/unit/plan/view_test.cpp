#include "plan/network/view.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>

#include "plan/network/boxes.h"

namespace carina::plan {
namespace {

// The elements that a view addresses, in the order of the view.
std::vector<int64_t> elements_of(const View& view) {
  std::vector<int64_t> result{view.offset};
  for (const Axis& axis : view.axes) {
    std::vector<int64_t> next;
    for (const int64_t base : result) {
      for (int64_t i = 0; i < axis.size; ++i) next.push_back(base + i * axis.stride);
    }
    result = std::move(next);
  }
  return result;
}

View random_view(std::mt19937& random, TensorId tensor, size_t rank) {
  std::vector<int64_t> dims(rank);
  for (int64_t& d : dims) d = 1 + static_cast<int64_t>(random() % 6);
  View view = dense_view(tensor, Shape(std::span<const int64_t>(dims)));
  for (size_t i = 0; i < rank; ++i) {
    if (random() % 3 == 0) {
      const auto start = static_cast<int64_t>(random() % static_cast<uint64_t>(view.axes[i].size));
      view = sliced_axis(view, i, start, view.axes[i].size - start);
    }
    if (random() % 6 == 0) view = reversed(view, i);
  }
  std::vector<int64_t> perms(rank);
  std::iota(perms.begin(), perms.end(), int64_t{0});
  if (random() % 2 == 0) std::shuffle(perms.begin(), perms.end(), random);
  return permuted(view, perms);
}

TEST(View, reshape_keeps_element_order) {
  std::mt19937 random(1);
  int possible = 0;
  for (int round = 0; round < 2000; ++round) {
    const View view = random_view(random, TensorId(0), 1 + random() % 4);
    std::vector<int64_t> dims{1};
    for (int64_t left = view.elements(), divisor = 2; left > 1; ++divisor) {
      while (left % divisor == 0) {
        random() % 2 == 0 ? dims.push_back(divisor) : void(dims.back() *= divisor);
        left /= divisor;
      }
    }
    const auto same = reshaped(view, Shape(std::span<const int64_t>(dims)));
    if (!same) {
      EXPECT_FALSE(is_dense(view));
      continue;
    }
    ++possible;
    EXPECT_EQ(elements_of(*same), elements_of(view));
  }
  EXPECT_GT(possible, 500);
}

TEST(View, whole_rows_contain_view_at_stated_offset) {
  std::mt19937 random(3);
  int possible = 0;
  for (int round = 0; round < 2000; ++round) {
    const size_t rank = 1 + random() % 4;
    std::vector<int64_t> dims(rank), perms(rank);
    for (int64_t& d : dims) d = 1 + static_cast<int64_t>(random() % 6);
    std::iota(perms.begin(), perms.end(), int64_t{0});
    std::shuffle(perms.begin(), perms.end(), random);
    const View tensor = dense_view(TensorId(0), Shape(std::span<const int64_t>(dims)));
    View view = permuted(tensor, perms);
    for (size_t i = 0; i < rank; ++i) {
      const auto cut = static_cast<int64_t>(random() % static_cast<uint64_t>(view.axes[i].size));
      view = sliced_axis(view, i, cut, view.axes[i].size - cut);
    }
    std::vector<int64_t> start, size;
    const auto rows = whole_rows(view, tensor.elements(), random() % rank, start);
    if (!rows) continue;
    ++possible;
    for (const Axis& axis : view.axes) size.push_back(axis.size);
    EXPECT_EQ(elements_of(sliced(*rows, start, size)), elements_of(view));
    EXPECT_GE(rows->offset, 0);
    EXPECT_LT(std::ranges::max(elements_of(*rows)), tensor.elements());
  }
  EXPECT_GT(possible, 800);
}

TEST(View, strides_of_single_elements_are_ignored) {
  const View a = dense_view(TensorId(0), {1, 10});
  const View b = *reshaped(dense_view(TensorId(0), {10}), {1, 10});
  EXPECT_TRUE(same_elements(a, b));
  EXPECT_FALSE(same_elements(a, sliced_axis(b, 1, 1, 9)));
  EXPECT_FALSE(same_elements(sliced_axis(a, 1, 0, 9), sliced_axis(b, 1, 1, 9)));
}

// Walks the boxes as the NPU would, and returns the source element of each destination element.
std::map<int64_t, int64_t> walk(const std::vector<Box>& boxes) {
  std::map<int64_t, int64_t> pairs;
  for (const Box& box : boxes) {
    for (int64_t y = 0; y < box.height; ++y) {
      for (int64_t x = 0; x < box.width; ++x) {
        for (int64_t c = 0; c < box.depth; ++c) {
          const auto address = [&](const BoxOperand& o) {
            return o.offset + (o.broadcast.height ? 0 : y) * o.stride_y + (o.broadcast.width ? 0 : x) * o.stride_x +
                   (o.broadcast.depth ? 0 : c);
          };
          EXPECT_TRUE(pairs.emplace(address(box.operands[0]), address(box.operands[1])).second);
        }
      }
    }
  }
  return pairs;
}

TEST(Boxes, split_covers_each_element_once) {
  std::mt19937 random(2);
  for (int round = 0; round < 3000; ++round) {
    const size_t rank = 1 + random() % 5;
    const View dst = random_view(random, TensorId(0), rank);
    View src = dense_view(TensorId(1), dst.shape());
    if (random() % 2 == 0) {
      std::vector<int64_t> perms(rank);
      std::iota(perms.begin(), perms.end(), int64_t{0});
      std::shuffle(perms.begin(), perms.end(), random);
      std::vector<int64_t> dims(rank);
      for (size_t i = 0; i < rank; ++i) dims[static_cast<size_t>(perms[i])] = dst.axes[i].size;
      src = permuted(dense_view(TensorId(1), Shape(std::span<const int64_t>(dims))), perms);
    }
    for (Axis& axis : src.axes) {
      if (random() % 5 == 0) axis.stride = 0;
    }
    const std::array views{dst, src};
    const auto pairs = walk(boxes_of(views, random() % 2 == 0 ? 1 : kNoBroadcast));
    const auto to = elements_of(dst), from = elements_of(src);
    ASSERT_EQ(pairs.size(), to.size());
    for (size_t i = 0; i < to.size(); ++i) ASSERT_EQ(pairs.at(to[i]), from[i]);
  }
}

TEST(Boxes, axes_stay_within_limit) {
  const View view = dense_view(TensorId(0), {3, 70000, 2});
  for (const Box& box : boxes_of(std::array{view, view}, kNoBroadcast)) {
    EXPECT_LE(box.height, 65536);
    EXPECT_LE(box.width, 65536);
    EXPECT_LE(box.depth, 65536);
  }
}

}  // namespace
}  // namespace carina::plan
