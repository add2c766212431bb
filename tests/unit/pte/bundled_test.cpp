#include "pte/bundled.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>

#include "pte/etdump.h"

namespace carina::pte {
namespace {

Buffer bytes_of(std::span<const float> values) {
  return Buffer::copy_of(std::as_bytes(values));
}

BundledProgram small_bundle() {
  const std::vector<float> numbers{1, 2, 3, 4, 5, 6};
  const BundledTensor plain{.dtype = DType::kFp32, .shape = {2, 3}, .dim_order = {}, .data = bytes_of(numbers)};
  BundledTensor turned = plain;
  turned.dim_order = {1, 0};
  const TestCase test{.inputs = {plain, int64_t{3}, true, 0.5}, .expected_outputs = {turned}};
  return {.suites = {{.method = "forward", .cases = {test, {}}}, {.method = "other", .cases = {}}},
          .program = bytes_of(numbers)};
}

TEST(Bundled, written_file_reads_back) {
  const auto written = write_bundled_program(small_bundle());
  ASSERT_TRUE(written.has_value());
  const Buffer file = Buffer::copy_of(*written);
  ASSERT_TRUE(is_bundled_program(file));
  const auto read = read_bundled_program(file, "test");
  ASSERT_TRUE(read.has_value());
  ASSERT_EQ(read->suites.size(), 2U);
  ASSERT_EQ(read->suites[0].cases.size(), 2U);
  const TestCase& test = read->suites[0].cases[0];
  ASSERT_EQ(test.inputs.size(), 4U);
  EXPECT_EQ(std::get<int64_t>(test.inputs[1]), 3);
  EXPECT_TRUE(std::get<bool>(test.inputs[2]));
  EXPECT_EQ(std::get<double>(test.inputs[3]), 0.5);
  const auto& output = std::get<BundledTensor>(test.expected_outputs.at(0));
  EXPECT_EQ(output.dim_order, (std::vector<uint8_t>{1, 0}));
  EXPECT_EQ(output.shape, (Shape{2, 3}));
  EXPECT_EQ(output.data.size(), 24U);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(read->program.data()) % 16, 0U);
  EXPECT_EQ(write_bundled_program(small_bundle()).value(), *written);
}

TEST(Bundled, truncated_file_is_an_error) {
  const auto written = write_bundled_program(small_bundle()).value();
  for (size_t size = 0; size + 16 < written.size(); size += 7)  // there may be padding after the last tensor
    EXPECT_FALSE(read_bundled_program(Buffer::copy_of(std::span(written).first(size)), "test").has_value()) << size;
}

TEST(Bundled, changed_byte_is_read_or_an_error) {
  const auto written = write_bundled_program(small_bundle()).value();
  size_t rejected = 0;
  for (size_t i = 0; i < written.size(); ++i) {
    std::vector<std::byte> changed = written;
    changed[i] = ~changed[i];
    rejected += read_bundled_program(Buffer::copy_of(changed), "test").has_value() ? 0 : 1;
  }
  EXPECT_GT(rejected, 50U);  // identifier, version, offsets, sizes
}

TEST(EtDump, record_is_size_prefixed) {
  const std::vector<RunRecord> runs{{.events = {{.name = "Method::execute", .end_ns = 5}}}};
  const std::vector<std::byte> file = write_etdump(runs).record;
  uint32_t size = 0;
  std::copy_n(file.begin(), 4, reinterpret_cast<std::byte*>(&size));
  EXPECT_EQ(size + 4, file.size());
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(file.data()) + 8, 4), "ED00");
}

}  // namespace
}  // namespace carina::pte
