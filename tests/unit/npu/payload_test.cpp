#include "npu/payload.h"

#include <gtest/gtest.h>

#include <cstring>

#include "npu/registers.h"
#include "npu/vela_raw.h"
#include "peer_streams.h"

namespace carina::npu {
namespace {

std::vector<std::byte> bytes_of(const std::vector<uint32_t>& words) {
  const auto bytes = std::as_bytes(std::span(words));
  return {bytes.begin(), bytes.end()};
}

TEST(Payload, built_payload_reads_back_for_all_accelerators) {
  for (const AcceleratorConfig& accelerator : kAccelerators) {
    const std::vector<uint32_t> stream{0x00070104, 0xFFFF0000};
    const std::vector<std::byte> payload = build_payload(accelerator, stream);
    EXPECT_EQ(payload.size(), 40u);
    const auto parsed = parse_payload(payload, "test");
    ASSERT_TRUE(parsed) << to_string(parsed.error());
    EXPECT_EQ(parsed->stream, stream);
    EXPECT_EQ(parsed->stream_offset_bytes, 32u);
    EXPECT_EQ(parsed->accelerator(), &accelerator);
    EXPECT_TRUE(check_compatible(*parsed, accelerator.config_word, accelerator.id_word, "test"));
  }
}

TEST(Payload, words_match_driver) {
  const std::vector<uint32_t> stream(0x12345, 0xFFFF0000);  // more words than a 16-bit length can hold
  std::vector<uint32_t> words(8);
  std::memcpy(words.data(), build_payload(*find_accelerator("ethos-u55-128"), stream).data(), 32);
  EXPECT_EQ(words, (std::vector<uint32_t>{0x31504F43, 0x00100001, 0x00001807, 0x10066001, 5, 5, 5, 0x23450102}));
}

TEST(Payload, other_npu_is_an_error_with_names) {
  const auto payload =
      parse_payload(build_payload(*find_accelerator("ethos-u55-128"), std::vector<uint32_t>{0xFFFF0000}), "model.pte");
  const AcceleratorConfig& other = *find_accelerator("ethos-u55-256");
  const auto checked = check_compatible(*payload, other.config_word, other.id_word, "model.pte");
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error()[0].expected, "ethos-u55-256");
  EXPECT_EQ(checked.error()[0].got, "ethos-u55-128");
  EXPECT_FALSE(check_compatible(*payload, payload->config_word, 0x20066001, "model.pte"));  // architecture 2
  EXPECT_FALSE(check_compatible(*payload, payload->config_word | 1u << 27, 0x0FF66001, "model.pte"));
}

TEST(Payload, cop2_is_parsed) {
  const auto payload = parse_payload(bytes_of({0x32504F43, 1, 52, 0, 1, 44, 0x24, 0x4D554556, 1, 20, 0x1807, 0x10066001,
                                               2, 0x5640, 0, 0xFFFFFFFF, 0xFFFF0000}),
                                     "test");
  ASSERT_TRUE(payload) << to_string(payload.error());
  EXPECT_EQ(payload->format, PayloadFormat::kCop2);
  EXPECT_EQ(payload->config_word, 0x1807u);
  EXPECT_EQ(payload->feature_mask, 2u);
  EXPECT_EQ(payload->staging_bytes, 0x5640u);
  EXPECT_EQ(payload->stream, std::vector<uint32_t>{0xFFFF0000});
}

TEST(Payload, damaged_payloads_are_errors) {
  const auto rejected = [](std::vector<uint32_t> words, const std::string& part) {
    const auto parsed = parse_payload(bytes_of(words), "test");
    ASSERT_FALSE(parsed);
    EXPECT_NE(to_string(parsed.error()).find(part), std::string::npos) << to_string(parsed.error());
  };
  rejected({}, "size is impossible");
  rejected({0x30504F43, 5}, "not an Ethos-U driver payload");
  rejected({0x31504F43, 5}, "no optimizer configuration");
  rejected({0x31504F43, 0x00100001, 0x1807}, "cut off");
  rejected({0x31504F43, 0x00100001, 0x1807, 0x10066001}, "no command stream");
  rejected({0x31504F43, 0x00100001, 0x1807, 0x10066001, 5, 5, 5, 0xFFFFFF02, 0}, "longer than the payload");
  rejected({0x31504F43, 0x00100001, 0x1807, 0x10066001, 5, 5, 5, 0x00000002, 0}, "or empty");
  rejected({0x31504F43, 0x00100001, 0x1807, 0x10066001, 0x00010002, 0}, "not aligned");
  rejected({0x31504F43, 0x00100001, 0x1807, 0x10066001, 9}, "unknown driver action");
  rejected({0x32504F43, 1, 52, 0, 1, 44}, "cut off");
  rejected({0x32504F43, 1, 53, 0, 1, 44, 0x24, 0x4D554556, 1, 20, 0x1807, 0x10066001, 2, 0x5640, 0, 0xFFFFFFFF, 0},
           "size in the COP2 header");
  rejected(
      {0x32504F43, 1, 52, 0, 1, 0xFFFFFFF0, 0x24, 0x4D554556, 1, 20, 0x1807, 0x10066001, 2, 0x5640, 0, 0xFFFFFFFF, 0},
      "do not fit");
  rejected(
      {0x32504F43, 1, 52, 0, 1, 44, 0xFFFFFFFF, 0x4D554556, 1, 20, 0x1807, 0x10066001, 2, 0x5640, 0, 0xFFFFFFFF, 0},
      "do not fit");
}

TEST(Payload, same_stream_equals_bytes_of_vela) {
  const auto streams = peer_streams();
  if (streams.empty()) GTEST_SKIP() << tests::kNoCases;
  for (const PeerStream& peer : streams) {
    const std::string path = peer.folder + "/out_vela.npz";
    const auto network = read_vela_raw(*map_file(path), path);
    ASSERT_TRUE(network) << to_string(network.error());
    const auto payload = parse_payload(network->command_payload, path);
    ASSERT_TRUE(payload) << to_string(payload.error());
    EXPECT_EQ(payload->accelerator(), peer.accelerator);
    EXPECT_EQ(build_payload(*peer.accelerator, payload->stream), network->command_payload) << path;
    EXPECT_TRUE(read_stream(peer.accelerator->product, payload->stream, path)) << path;
  }
}

}  // namespace
}  // namespace carina::npu
