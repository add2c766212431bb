// For every operator and every legal combination of its types, the text form and files lose nothing.
#include <gtest/gtest.h>

#include <algorithm>

#include "facts/tosa_rows.h"
#include "frontend/tosa/flatbuffer.h"
#include "frontend/tosa/verify/verify.h"
#include "ir/text.h"
#include "row_graphs.h"

namespace carina::tosa {
namespace {

constexpr uint32_t kSeeds = 5;

// The node under test.
const ir::Node& node_of(const ir::Module& module) {
  return module.main().nodes.back();
}

// After a round trip through a file, constants and outputs may have other names and indices, but not other contents.
bool same_operands(const ir::Module& a, const ir::Module& b) {
  const auto same = [&](ir::ValueId left, ir::ValueId right) {
    const ir::Value& x = a.main()[left];
    const ir::Value& y = b.main()[right];
    return x.dtype == y.dtype && x.shape == y.shape && x.constant.has_value() == y.constant.has_value() &&
           (!x.constant || identical(*x.constant, *y.constant));
  };
  return std::ranges::equal(node_of(a).inputs, node_of(b).inputs, same) &&
         std::ranges::equal(node_of(a).outputs, node_of(b).outputs, same);
}

void expect_same(const ir::Module& before, const ir::Module& after) {
  EXPECT_EQ(node_of(before).op, node_of(after).op);
  EXPECT_EQ(node_of(before).attributes, node_of(after).attributes) << ir::print(before) << ir::print(after);
  EXPECT_TRUE(same_operands(before, after)) << ir::print(before) << ir::print(after);
}

TEST(EveryRow, text_round_trips) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    for (const ir::Module& module : row_modules(seed)) {
      const std::string text = ir::print(module);
      const auto back = ir::parse(text, "text");
      ASSERT_TRUE(back.has_value()) << to_string(back.error()) << text;
      EXPECT_TRUE(identical(module, *back)) << text << ir::print(*back);
    }
  }
}

bool is_variable(const ir::Module& module) {
  return row_of(node_of(module).op.tosa()).group == "Variable";  // files declare them: Variables.*
}

TEST(EveryRow, files_round_trip) {
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    for (const ir::Module& module : row_modules(seed)) {
      if (is_variable(module)) continue;
      const auto bytes = write_tosa(module);
      ASSERT_TRUE(bytes.has_value()) << to_string(bytes.error()) << ir::print(module);
      const auto back = read_tosa(Buffer::copy_of(*bytes), "x.tosa");
      ASSERT_TRUE(back.has_value()) << to_string(back.error()) << ir::print(module);
      expect_same(module, *back);
      EXPECT_EQ(node_of(*back).source, node_of(module).source);
    }
  }
}

TEST(EveryRow, old_files_round_trip_or_name_the_error) {
  size_t written = 0;
  size_t all = 0;
  for (uint32_t seed = 0; seed < kSeeds; ++seed) {
    for (const ir::Module& module : row_modules(seed)) {
      ++all;
      const auto bytes = write_tosa(module, {.version = FileVersion::k0_80});
      if (!bytes) {
        EXPECT_NE(to_string(bytes.error()).find("0.80"), std::string::npos) << to_string(bytes.error());
        continue;
      }
      ++written;
      const auto back = read_tosa(Buffer::copy_of(*bytes), "x.tosa");
      ASSERT_TRUE(back.has_value()) << to_string(back.error()) << ir::print(module);
      expect_same(module, *back);
    }
  }
  EXPECT_GT(written, all / 2) << written << " of " << all;
}

TEST(EveryRow, verifier_accepts_any_input) {
  for (const ir::Module& module : row_modules(0)) {
    for (const Violation& violation : violations(module, {})) EXPECT_FALSE(violation.rule.empty());
  }
}

TEST(OldFile, shared_operands_expand_within_limit) {
  std::string text = "graph @main {\n  input %x: i8[1,1,1,1]\n  %z: i8[1] = [0]\n  %b: i32[1] = [1]\n";
  text +=
      "  input %w: i8[200000000,1,1,1]\n  %y: i32[1,1,1,200000000] = tosa.CONV2D(%x, %w, %b, %z, %z) {pad = [0, 0, 0, "
      "0], stride = [1, 1], dilation = [1, 1], local_bound = false, acc_type = i32}\n  output %y\n}\n";
  const auto module = ir::parse(text, "text");
  ASSERT_TRUE(module.has_value()) << to_string(module.error());
  const auto bytes = write_tosa(*module, {.version = FileVersion::k0_80});
  ASSERT_FALSE(bytes.has_value());
  EXPECT_NE(to_string(bytes.error()).find("too large"), std::string::npos);
}

TEST(OldFile, truncations_and_flipped_bits_are_handled) {
  for (const ir::Module& module : row_modules(1)) {
    auto bytes = write_tosa(module, {.version = FileVersion::k0_80});
    if (!bytes || node_of(module).op == ir::Op(TosaOp::TABLE)) continue;
    for (size_t i = 0; i < bytes->size(); i += 7)
      (void)read_tosa(Buffer::copy_of(std::span(*bytes).first(i)), "x.tosa");
    for (size_t i = 0; i < bytes->size(); i += 3) {
      (*bytes)[i] ^= std::byte{0x21};
      if (const auto read = read_tosa(Buffer::copy_of(*bytes), "x.tosa")) (void)verify(*read);
      (*bytes)[i] ^= std::byte{0x21};
    }
  }
}

}  // namespace
}  // namespace carina::tosa
