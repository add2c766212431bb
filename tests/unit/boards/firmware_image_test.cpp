// model_of() finds what put_model() wrote. Any damage to an image is an error, not a crash.
#include "boards/firmware_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace carina::boards {
namespace {

using testing::HasSubstr;

constexpr uint32_t kModelAddress = 0x70000000;
constexpr size_t kSegmentOffset = 0x100;

template <typename T>
void put(std::vector<std::byte>& bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

// An ELF file for Arm with one segment, which begins with a slot.
std::vector<std::byte> plain_image() {
  std::vector<std::byte> elf(kSegmentOffset + sizeof(firmware::ImageSlot));
  constexpr std::array<uint8_t, 7> kIdent{0x7F, 'E', 'L', 'F', 1, 1, 1};
  std::memcpy(elf.data(), kIdent.data(), kIdent.size());
  put<uint16_t>(elf, 18, 40);  // Arm
  put<uint32_t>(elf, 28, 52);  // the program header table
  put<uint16_t>(elf, 42, 32);
  put<uint16_t>(elf, 44, 1);
  const std::array<uint32_t, 8> segment{
      1, kSegmentOffset, 0, 0, sizeof(firmware::ImageSlot), sizeof(firmware::ImageSlot), 5, 4};
  std::memcpy(elf.data() + 52, segment.data(), sizeof segment);
  put(elf, kSegmentOffset,
      firmware::ImageSlot{.model_address = kModelAddress,
                          .model_capacity_bytes = 1024,
                          .pools_address = 0x60000000,
                          .pools_bytes = 4096});
  return elf;
}

Buffer buffer_of(std::span<const std::byte> bytes) {
  return Buffer::copy_of(bytes);
}

Buffer program_of(size_t bytes) {
  return buffer_of(std::vector<std::byte>(bytes, std::byte{7}));
}

std::string error_of(const auto& result) {
  return result ? std::string() : to_string(result.error());
}

TEST(FirmwareImage, stored_model_reads_back) {
  const Buffer program = program_of(100);
  const auto filled = put_model(buffer_of(plain_image()), "a.elf", program, {.temp_pool_bytes = 64});
  ASSERT_TRUE(filled) << error_of(filled);
  const auto model = model_of(buffer_of(*filled), "a.elf");
  ASSERT_TRUE(model) << error_of(model);
  EXPECT_TRUE(std::ranges::equal(model->bytes(), program.bytes()));
}

TEST(FirmwareImage, too_large_model_reports_sizes) {
  const Buffer image = buffer_of(plain_image());
  EXPECT_THAT(error_of(put_model(image, "a.elf", program_of(1024), {})), HasSubstr("at most 960 bytes"));
  EXPECT_THAT(error_of(put_model(image, "a.elf", program_of(8), {.method_pool_bytes = 4000, .temp_pool_bytes = 97})),
              HasSubstr("the pools do not fit"));
  EXPECT_THAT(error_of(model_of(image, "a.elf")), HasSubstr("the image has no model"));
}

TEST(FirmwareImage, image_of_other_version_is_an_error) {
  std::vector<std::byte> elf = plain_image();
  put<uint32_t>(elf, kSegmentOffset + 16, firmware::kVersion + 1);
  EXPECT_THAT(error_of(read_slot(buffer_of(elf), "a.elf")), HasSubstr("an image of version"));
}

TEST(FirmwareImage, damage_is_an_error_or_harmless) {
  const auto filled = put_model(buffer_of(plain_image()), "a.elf", program_of(32), {});
  ASSERT_TRUE(filled);
  for (size_t at = 0; at < filled->size(); ++at) {
    for (const int value : {0, 1, 0x7F, 0x80, 0xFF}) {
      std::vector<std::byte> damaged = *filled;
      damaged[at] = static_cast<std::byte>(value);
      static_cast<void>(model_of(buffer_of(damaged), "a.elf"));
      static_cast<void>(put_model(buffer_of(damaged), "a.elf", program_of(8), {}));
    }
  }
  for (size_t size = 0; size < filled->size(); ++size)
    static_cast<void>(model_of(buffer_of(std::span(*filled).first(size)), "a.elf"));
}

}  // namespace
}  // namespace carina::boards
