#include "base/io/zip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/parallel/parallel.h"

namespace carina {
namespace {

using ::testing::HasSubstr;

// An archive with one stored entry whose sizes and offset are only in zip64 fields. Python's zipfile writes entries of
// 2 GiB and more in this way. The data are small here, so that the test can check the fields.
struct Zip64 {
  std::string data = "data";
  std::string name = "x.npy";
  bool sizes_there = true;  // false: the zip64 field is cut short
  uint64_t claimed_bytes = 4;

  [[nodiscard]] std::string bytes() const {
    const auto crc = static_cast<uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size()));
    std::string local;
    put(local, uint32_t{0x04034b50}, uint16_t{45}, uint16_t{0}, uint16_t{0}, uint16_t{0}, uint16_t{0}, crc, UINT32_MAX,
        UINT32_MAX, static_cast<uint16_t>(name.size()), uint16_t{20});
    local += name;
    put(local, uint16_t{1}, uint16_t{16}, claimed_bytes, claimed_bytes);
    local += data;
    std::string central;
    put(central, uint32_t{0x02014b50}, uint16_t{45}, uint16_t{45}, uint16_t{0}, uint16_t{0}, uint16_t{0}, uint16_t{0},
        crc, UINT32_MAX, UINT32_MAX, static_cast<uint16_t>(name.size()), static_cast<uint16_t>(sizes_there ? 34 : 18),
        uint16_t{0}, uint16_t{0}, uint16_t{0}, uint32_t{0}, UINT32_MAX);
    central += name;
    put(central, uint16_t{0x7075}, uint16_t{2}, uint16_t{0});  // a field of another kind comes before it
    if (sizes_there) {
      put(central, uint16_t{1}, uint16_t{24}, claimed_bytes, claimed_bytes, uint64_t{0});
    } else {
      put(central, uint16_t{1}, uint16_t{8}, claimed_bytes);
    }
    std::string all = local + central;
    put(all, uint32_t{0x06054b50}, uint16_t{0}, uint16_t{0}, uint16_t{1}, uint16_t{1},
        static_cast<uint32_t>(central.size()), static_cast<uint32_t>(local.size()), uint16_t{0});
    return all;
  }

 private:
  template <typename... Values>
  static void put(std::string& out, Values... values) {
    (out.append(reinterpret_cast<const char*>(&values), sizeof values), ...);
  }
};

Result<ZipReader> open(const std::string& bytes) {
  return ZipReader::open(Buffer::copy_of(std::as_bytes(std::span(bytes))), "x.npz");
}

TEST(Zip, zip64_sizes_are_read) {
  const auto zip = open(Zip64{}.bytes());
  ASSERT_TRUE(zip) << to_string(zip.error());
  const auto data = zip->read("x.npy");
  ASSERT_TRUE(data) << to_string(data.error());
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(data->data()), data->size()), "data");
}

TEST(Zip, damaged_zip64_fields_are_errors) {
  EXPECT_THAT(to_string(open(Zip64{.sizes_there = false}.bytes()).error()), HasSubstr("zip64"));
  EXPECT_THAT(to_string(open(Zip64{.claimed_bytes = uint64_t{3} << 30}.bytes()).error()), HasSubstr("outside"));
  EXPECT_THAT(to_string(open(Zip64{.claimed_bytes = UINT64_MAX}.bytes()).error()), HasSubstr("outside"));
}

TEST(Zip, written_archive_reads_back) {
  const std::string text(1000, 'x');
  std::vector<ZipEntry> entries;
  std::vector<std::string> names;
  for (int i = 0; i < 300; ++i) names.push_back("folder/entry_" + std::to_string(i));
  for (const std::string& name : names) entries.push_back({.name = name, .data = std::as_bytes(std::span(text))});
  const auto bytes = write_zip(entries);
  ASSERT_TRUE(bytes);
  const auto zip = ZipReader::open(Buffer::copy_of(*bytes), "x.zip");
  ASSERT_TRUE(zip);
  EXPECT_EQ(zip->names(), names);
  size_t held = 0;
  for (const std::string& name : zip->names()) held += name.capacity();
  EXPECT_LT(held, names.size() * 64);  // the names do not keep a buffer of 64 KiB each
  EXPECT_EQ(zip->read("folder/entry_7")->size(), text.size());
  EXPECT_EQ(zip->inflated_bytes(), 0);
}

// Reading ahead does not change which error a later read reports.
TEST(Zip, damage_is_reported_at_its_read_after_look_ahead) {
  const std::string texts[] = {std::string(100'000, 'a'), std::string(50'000, 'b'), "c"};
  std::vector<ZipEntry> entries;
  for (const std::string& text : texts)
    entries.push_back({.name = std::string("data/") + text[0], .data = std::as_bytes(std::span(text))});
  auto bytes = write_zip(entries);
  ASSERT_TRUE(bytes);
  const auto run = std::ranges::search_n(*bytes, 1000, std::byte{'b'});
  ASSERT_FALSE(run.empty());
  run[500] = std::byte{'x'};
  for (const int threads : {1, 2}) {
    const ScopedThreadPool scope(threads);
    auto zip = ZipReader::open(Buffer::copy_of(*bytes), "x.zip");
    ASSERT_TRUE(zip);
    size_t unchecked_bytes = 0;
    EXPECT_FALSE(
        zip->check_ahead("data/", [&](const ZipReader& reader) { unchecked_bytes = reader.read("data/b")->size(); }));
    EXPECT_EQ(unchecked_bytes, 50'000);
    EXPECT_EQ(zip->read("data/a")->size(), 100'000);
    EXPECT_THAT(to_string(zip->read("data/b").error()), HasSubstr("data/b"));
    EXPECT_EQ(zip->read("data/c")->size(), 1);
  }
}

TEST(Zip, truncations_are_errors) {
  const std::string whole = Zip64{}.bytes();
  for (size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(open(whole.substr(0, size))) << size;
}

}  // namespace
}  // namespace carina
