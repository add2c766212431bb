#include "base/io/byte_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <string>
#include <vector>

namespace carina {
namespace {

using ::testing::HasSubstr;

std::vector<std::byte> sample_bytes() {
  std::vector<std::byte> bytes(300'000);
  uint32_t state = 1;
  for (std::byte& byte : bytes) {
    state = state * 1'664'525 + 1'013'904'223;
    byte = static_cast<std::byte>(state >> 28);
  }
  return bytes;
}

uint32_t crc_of(std::span<const std::byte> bytes) {
  return static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// Deflated bytes without zlib's header, as archives store them.
Buffer deflated(std::span<const std::byte> bytes) {
  std::vector<std::byte> out(bytes.size() + 1024);
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return Buffer::copy_of(out);
}

// Reads forwards, backwards, twice at the same position, and across the end of the previous read.
void expect_reads(ByteStream& stream, std::span<const std::byte> bytes) {
  for (const size_t offset : {size_t{0}, size_t{1000}, size_t{250'000}, size_t{5}, size_t{5}, size_t{200'000}}) {
    std::vector<std::byte> part(40'000);
    ASSERT_TRUE(stream.read(offset, part)) << offset;
    EXPECT_TRUE(std::ranges::equal(part, bytes.subspan(offset, part.size()))) << offset;
  }
}

TEST(ByteStream, any_range_is_readable) {
  const std::vector<std::byte> bytes = sample_bytes();
  ByteStream stored = ByteStream::of(Buffer::copy_of(bytes), "x");
  expect_reads(stored, bytes);
  ByteStream inflating = ByteStream::inflating(deflated(bytes), bytes.size(), crc_of(bytes), "x");
  expect_reads(inflating, bytes);
}

TEST(ByteStream, wrong_crc_is_an_error_at_end) {
  const std::vector<std::byte> bytes = sample_bytes();
  ByteStream stream = ByteStream::inflating(deflated(bytes), bytes.size(), crc_of(bytes) ^ 1, "x.npz:y");
  std::vector<std::byte> part(bytes.size() - 1), last(1);
  EXPECT_TRUE(stream.read(0, part));
  const auto end = stream.read(part.size(), last);
  ASSERT_FALSE(end);
  EXPECT_THAT(to_string(end.error()), HasSubstr("checksum"));
}

TEST(ByteStream, truncated_stream_is_an_error) {
  const std::vector<std::byte> bytes = sample_bytes();
  const Buffer packed = deflated(bytes);
  ByteStream stream = ByteStream::inflating(packed.slice(0, packed.size() / 2), bytes.size(), crc_of(bytes), "x");
  std::vector<std::byte> all(bytes.size());
  EXPECT_FALSE(stream.read(0, all));
}

}  // namespace
}  // namespace carina
