#pragma once

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "carina/buffer.h"
#include "frontend/vgf/vgf.h"
#include "ir/pass.h"
#include "ir/text.h"

namespace carina::vgf {

inline ir::Module parsed(std::string_view text) {
  auto module = ir::parse(text, "text");
  EXPECT_TRUE(module.has_value()) << to_string(module.error());
  return module ? *std::move(module) : ir::Module();
}

inline Buffer written(std::string_view text) {
  const auto bytes = write_vgf(parsed(text), "text");
  EXPECT_TRUE(bytes.has_value()) << to_string(bytes.error());
  return Buffer::copy_of(bytes.value_or(std::vector<std::byte>()));
}

inline Buffer file_of(const Container& container) {
  return Buffer::copy_of(write_container(container));
}

inline Container container_of(std::string_view text) {
  auto container = read_container(written(text), "text");
  EXPECT_TRUE(container.has_value()) << to_string(container.error());
  return container.value_or(Container());
}

// The messages about a file that must be rejected.
inline std::string rejection(const Buffer& file) {
  const auto module = read_vgf(file, "bad.vgf");
  EXPECT_FALSE(module.has_value());
  return module ? "" : to_string(module.error());
}

// Two convolutions that share a large constant, inline constants, a shape.
inline constexpr std::string_view kConvolutions = R"(graph @main {
  input %x: i8[1,2,2,2]
  %w1: i8[5,1,1,2] = [1, 2, 3, -4, 5, 6, 7, 8, 9, 10]
  %big: i8[2,3,3,1] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9]
  %same: i8[2,3,3,1] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9]
  %b: i32[1] = [70000]
  %zp: i8[1] = [-5]
  %c: i8[1,2,2,2] = tosa.CLAMP(%x) {min_val = -7, max_val = 100, nan_mode = PROPAGATE}
  %y: i32[1,2,2,5] = tosa.CONV2D(%c, %w1, %b, %zp, %zp) {pad = [0, 0, 0, 0], stride = [1, 1], dilation = [1, 1], local_bound = true, acc_type = i32}
  %s: shape[4] = [2, 2, 2, 1]
  %r: i8[2,2,2,1] = tosa.RESHAPE(%c, %s)
  %z: i32[2,2,2,2] = tosa.CONV2D(%r, %big, %b, %zp, %zp) {pad = [1, 1, 1, 1], stride = [1, 1], dilation = [1, 1], local_bound = false, acc_type = i32}
  %q: i32[2,2,2,2] = tosa.CONV2D(%r, %same, %b, %zp, %zp) {pad = [1, 1, 1, 1], stride = [1, 1], dilation = [1, 1], local_bound = false, acc_type = i32}
  output %y
  output %z
  output %q
}
)";

}  // namespace carina::vgf
