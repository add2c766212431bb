#include "npu/payload.h"

#include <fmt/format.h>

#include <cstring>

#include "carina/check.h"

namespace carina::npu {

namespace {

constexpr uint32_t kCop1Magic = 0x31504F43;     // "COP1"
constexpr uint32_t kCop2Magic = 0x32504F43;     // "COP2"
constexpr uint32_t kVelaMetadata = 0x4D554556;  // "VEUM"

enum Action : uint32_t { kOptimizerConfig = 1, kCommandStream = 2, kNop = 5 };

constexpr uint32_t kOptimizerRelease0Patch1 = 0x0010u << 16 | kOptimizerConfig;
constexpr size_t kMaxStreamWords = (size_t{1} << 24) - 1;
constexpr size_t kCop2HeaderBytes = 16;
constexpr size_t kCop2EntryHeaderBytes = 12;
constexpr size_t kCop2MetadataBytes = 32;  // without padding

uint32_t word_at(std::span<const std::byte> bytes, size_t offset) {
  uint32_t word = 0;
  std::memcpy(&word, bytes.data() + offset, sizeof word);
  return word;
}

std::unexpected<Diagnostics> bad(const std::string& where, size_t offset, std::string what, std::string expected,
                                 std::string got) {
  return fail({.where = fmt::format("{}: NPU payload, byte {}", where, offset),
               .what = std::move(what),
               .expected = std::move(expected),
               .got = std::move(got)});
}

Result<void> copy_stream(std::span<const std::byte> bytes, size_t offset, size_t words, const std::string& where,
                         Payload& payload) {
  if (!payload.stream.empty()) return bad(where, offset, "a second command stream", "one", "");
  if (words == 0 || words > (bytes.size() - offset) / 4) {
    return bad(where, offset, "the command stream is longer than the payload, or empty",
               fmt::format("1 to {} words", (bytes.size() - offset) / 4), fmt::format("{}", words));
  }
  if (offset % kBaseAlignmentBytes != 0) {
    return bad(where, offset, "the command stream is not aligned", "a multiple of 16 bytes", fmt::format("{}", offset));
  }
  payload.stream_offset_bytes = offset;
  payload.stream.resize(words);
  std::memcpy(payload.stream.data(), bytes.data() + offset, words * 4);
  return {};
}

Result<Payload> parse_cop1(std::span<const std::byte> bytes, const std::string& where) {
  Payload payload;
  bool configured = false;
  for (size_t at = 4; at < bytes.size();) {
    const uint32_t word = word_at(bytes, at);
    switch (word & 0xFF) {
      case kOptimizerConfig:
        if (bytes.size() - at < 12)
          return bad(where, at, "the optimizer configuration is cut off", "12 bytes",
                     fmt::format("{}", bytes.size() - at));
        payload.config_word = word_at(bytes, at + 4);
        payload.id_word = word_at(bytes, at + 8);
        configured = true;
        at += 12;
        break;
      case kNop:
        at += 4;
        break;
      case kCommandStream: {
        const size_t words = static_cast<size_t>(word >> 8 & 0xFF) << 16 | word >> 16;
        CARINA_CHECKED(copy_stream(bytes, at + 4, words, where, payload));
        at += 4 + words * 4;
        break;
      }
      default:
        return bad(where, at, "unknown driver action", "1 (configuration), 2 (stream) or 5 (padding)",
                   fmt::format("{}", word & 0xFF));
    }
  }
  if (!configured) return bad(where, 4, "no optimizer configuration", "driver action 1", "");
  if (payload.stream.empty()) return bad(where, bytes.size(), "no command stream", "driver action 2", "");
  return payload;
}

Result<Payload> parse_cop2(std::span<const std::byte> bytes, const std::string& where) {
  if (bytes.size() < kCop2HeaderBytes + kCop2EntryHeaderBytes + kCop2MetadataBytes) {
    return bad(where, bytes.size(), "the COP2 header is cut off",
               fmt::format("{} bytes", kCop2HeaderBytes + kCop2EntryHeaderBytes + kCop2MetadataBytes), "");
  }
  const uint64_t total = word_at(bytes, 8) | static_cast<uint64_t>(word_at(bytes, 12)) << 32;
  if (word_at(bytes, 4) != 1) return bad(where, 4, "unknown COP2 version", "1", fmt::format("{}", word_at(bytes, 4)));
  if (total != bytes.size() - kCop2HeaderBytes) {
    return bad(where, 8, "the size in the COP2 header is not that of the payload",
               fmt::format("{}", bytes.size() - kCop2HeaderBytes), fmt::format("{}", total));
  }
  const size_t entry = kCop2HeaderBytes;
  const uint32_t length = word_at(bytes, entry + 4);
  const uint32_t metadata_bytes = word_at(bytes, entry + 8);
  if (word_at(bytes, entry) != 1)
    return bad(where, entry, "unknown COP2 entry", "1", fmt::format("{}", word_at(bytes, entry)));
  const size_t metadata = entry + kCop2EntryHeaderBytes;
  const size_t end = entry + 8 + static_cast<size_t>(length);
  if (end > bytes.size() || metadata_bytes < kCop2MetadataBytes || metadata_bytes > end - metadata ||
      (end - metadata - metadata_bytes) % 4 != 0) {
    return bad(where, entry + 4, "the sizes of the COP2 entry do not fit the payload",
               fmt::format("at most {} bytes", bytes.size() - metadata),
               fmt::format("{} and {}", length, metadata_bytes));
  }
  if (word_at(bytes, metadata) != kVelaMetadata || word_at(bytes, metadata + 4) != 1) {
    return bad(where, metadata, "unknown COP2 metadata", "VEUM, version 1",
               fmt::format("{:#x}", word_at(bytes, metadata)));
  }
  Payload payload{.format = PayloadFormat::kCop2,
                  .config_word = word_at(bytes, metadata + 12),
                  .id_word = word_at(bytes, metadata + 16),
                  .feature_mask = word_at(bytes, metadata + 20),
                  .staging_bytes = word_at(bytes, metadata + 24) | static_cast<uint64_t>(word_at(bytes, metadata + 28))
                                                                       << 32};
  const size_t stream = metadata + metadata_bytes;
  CARINA_CHECKED(copy_stream(bytes, stream, (end - stream) / 4, where, payload));
  return payload;
}

}  // namespace

std::vector<std::byte> build_payload(const AcceleratorConfig& accelerator, std::span<const uint32_t> stream) {
  CARINA_CHECK(!stream.empty() && stream.size() <= kMaxStreamWords, "a command stream of {} words", stream.size());
  const auto words = static_cast<uint32_t>(stream.size());
  const uint32_t length = (words >> 16) << 8 | (words & 0xFFFF) << 16;
  const uint32_t header[] = {
      kCop1Magic, kOptimizerRelease0Patch1, accelerator.config_word, accelerator.id_word, kNop, kNop,
      kNop,       length | kCommandStream};
  std::vector<std::byte> payload(sizeof header + stream.size_bytes());
  std::memcpy(payload.data(), header, sizeof header);
  std::memcpy(payload.data() + sizeof header, stream.data(), stream.size_bytes());
  return payload;
}

Result<Payload> parse_payload(std::span<const std::byte> bytes, const std::string& where) {
  if (bytes.size() < 8 || bytes.size() % 4 != 0) {
    return bad(where, 0, "the payload's size is impossible", "at least 8 bytes, a multiple of 4",
               fmt::format("{}", bytes.size()));
  }
  const uint32_t magic = word_at(bytes, 0);
  if (magic != kCop1Magic && magic != kCop2Magic) {
    return bad(where, 0, "not an Ethos-U driver payload", "COP1 or COP2", fmt::format("{:#010x}", magic));
  }
  return magic == kCop1Magic ? parse_cop1(bytes, where) : parse_cop2(bytes, where);
}

Result<void> check_compatible(const Payload& payload, uint32_t npu_config_word, uint32_t npu_id_word,
                              const std::string& where) {
  const auto name = [](uint32_t word) {
    const AcceleratorConfig* accelerator = find_accelerator_of_word(word);
    return accelerator == nullptr ? fmt::format("CONFIG {:#010x}", word) : std::string(accelerator->name);
  };
  const bool is_u85 = ConfigWord::product(npu_config_word) == static_cast<uint32_t>(Product::kU85);
  const uint32_t compared = is_u85 ? 0xF00007FFu : 0xF00000FFu;
  const bool custom_dma_missing = ConfigWord::custom_dma(payload.config_word) > ConfigWord::custom_dma(npu_config_word);
  if (((payload.config_word ^ npu_config_word) & compared) != 0 || custom_dma_missing) {
    return fail({.where = where,
                 .what = "the network was compiled for another NPU",
                 .expected = name(npu_config_word),
                 .got = name(payload.config_word),
                 .hint = "compile it again for this NPU"});
  }
  if (IdWord::arch_major(payload.id_word) != IdWord::arch_major(npu_id_word) ||
      IdWord::arch_minor(payload.id_word) > IdWord::arch_minor(npu_id_word)) {
    return fail(
        {.where = where,
         .what = "the network was compiled for another version of the NPU architecture",
         .expected = fmt::format("{}.{}", IdWord::arch_major(npu_id_word), IdWord::arch_minor(npu_id_word)),
         .got = fmt::format("{}.{}", IdWord::arch_major(payload.id_word), IdWord::arch_minor(payload.id_word))});
  }
  return {};
}

}  // namespace carina::npu
