#include "tensor/npy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace carina {
namespace {

TEST(Npy, written_array_reads_back) {
  const std::vector<float> values{1.0F, -2.5F, 3.25F, 0.0F, 7.0F, 8.0F};
  for (const Shape& shape : {Shape{6}, Shape{2, 3}, Shape{1, 2, 3, 1}}) {
    const Tensor tensor = Tensor::of<float>(DType::kFp32, shape, values);
    const auto bytes = npy_bytes(tensor);
    EXPECT_EQ(bytes.size() % 64, (values.size() * 4) % 64);
    const auto again = read_npy(Buffer::copy_of(bytes), "x.npy");
    ASSERT_TRUE(again.has_value()) << to_string(again.error());
    EXPECT_TRUE(identical(tensor, *again));
  }
}

// NumPy's format, version 1.0: magic, version, length of the header text, header text, padding to a multiple of 64.
TEST(Npy, header_is_version_1) {
  const auto bytes = npy_bytes(Tensor::of<float>(DType::kFp32, {2, 3}, std::vector<float>(6)));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), 128);
  std::string wanted("\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 69);
  wanted.resize(127, ' ');
  EXPECT_EQ(text, wanted + '\n');
}

TEST(Npy, ml_dtypes_raw_bits_are_read) {
  for (const std::string_view descriptor : {"<V2", "|V2"}) {
    std::vector<std::byte> bytes =
        npy_bytes(Tensor::of<uint16_t>(DType::kUInt16, {2}, std::vector<uint16_t>{0x3F80, 0x7FC0}));
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    std::ranges::copy(std::as_bytes(std::span(descriptor)), bytes.begin() + static_cast<ptrdiff_t>(text.find("<u2")));
    const auto tensor = read_npy(Buffer::copy_of(bytes), "x.npy");
    ASSERT_TRUE(tensor.has_value()) << to_string(tensor.error());
    EXPECT_EQ(tensor->dtype, DType::kUInt16);
    EXPECT_EQ(tensor->values<uint16_t>()[1], 0x7FC0);
  }
}

TEST(Npy, zero_dimensions_are_allowed) {
  const Tensor empty = Tensor::of<float>(DType::kFp32, {2, 0, 3}, {});
  const auto again = read_npy(Buffer::copy_of(npy_bytes(empty)), "x.npy");
  ASSERT_TRUE(again.has_value()) << to_string(again.error());
  EXPECT_EQ(again->shape, empty.shape);
}

// An .npy of version 1.0 with this header text and these elements.
Buffer npy_of(std::string header, std::string_view data) {
  header.resize(118, ' ');
  const std::string file = std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + std::string(data);
  return Buffer::copy_of(std::as_bytes(std::span(file)));
}

TEST(Npy, byte_strings_are_bytes) {
  const auto tensor = read_npy(npy_of("{'descr': '|S12', 'fortran_order': False, 'shape': ()}", "carina bytes"), "x");
  ASSERT_TRUE(tensor.has_value()) << to_string(tensor.error());
  EXPECT_EQ(tensor->dtype, DType::kUInt8);
  EXPECT_EQ(tensor->shape, (Shape{12}));
  EXPECT_EQ(tensor->values<uint8_t>()[11], 's');
}

TEST(Npy, fortran_order_becomes_c_order) {
  const auto tensor =
      read_npy(npy_of("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3)}", "\x01\x04\x02\x05\x03\x06"), "x");
  ASSERT_TRUE(tensor.has_value()) << to_string(tensor.error());
  const auto values = tensor->values<uint8_t>();
  EXPECT_EQ(std::vector<uint8_t>(values.begin(), values.end()), (std::vector<uint8_t>{1, 2, 3, 4, 5, 6}));
}

TEST(Npy, unreadable_dtype_is_named) {
  std::vector<std::byte> bytes = npy_bytes(Tensor::of<float>(DType::kFp32, {1}, std::vector<float>{1}));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  bytes[text.find("<f4")] = std::byte{'>'};
  const auto result = read_npy(Buffer::copy_of(bytes), "x.npy");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().front().got, ">f4");
}

TEST(Npy, data_shorter_than_shape_is_an_error) {
  std::vector<std::byte> bytes = npy_bytes(Tensor::of<float>(DType::kFp32, {4}, std::vector<float>{1, 2, 3, 4}));
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(read_npy(Buffer::copy_of(std::span(bytes).first(size)), "x.npy").has_value()) << size;
  }
}

TEST(Npz, arrays_round_trip_by_name_and_damage_is_an_error) {
  const Tensor a = Tensor::of<int32_t>(DType::kInt32, {2, 2}, std::vector<int32_t>{1, 2, 3, 4});
  const Tensor b = Tensor::of<int8_t>(DType::kInt8, {}, std::vector<int8_t>{-5});
  auto bytes = npz_bytes({{"a", a}, {"b", b}});
  ASSERT_TRUE(bytes.has_value());
  const auto content = read_npz(Buffer::copy_of(*bytes), "x.npz");
  ASSERT_TRUE(content.has_value()) << to_string(content.error());
  EXPECT_TRUE(identical(content->arrays.at("a"), a));
  EXPECT_TRUE(identical(content->arrays.at("b"), b));
  // A flipped bit in the payload breaks the entry's checksum.
  (*bytes)[170] ^= std::byte{1};
  EXPECT_FALSE(read_npz(Buffer::copy_of(*bytes), "x.npz").has_value());
  for (size_t size = 0; size < bytes->size(); size += 7) {
    EXPECT_FALSE(read_npz(Buffer::copy_of(std::span(*bytes).first(size)), "x.npz").has_value()) << size;
  }
}

}  // namespace
}  // namespace carina
