#pragma once

#include <array>
#include <cstdint>

// The interface between a firmware image and the host: the position of a model in an image, and the messages between
// the two if the host's simulator replaces the NPU. All numbers are little-endian. Only Carina reads and writes this
// format.
namespace carina::firmware {

inline constexpr uint32_t kVersion = 1;

// The slot of the model. It is in every image, 8-byte aligned; a tool finds it by its magic.
inline constexpr std::array<char, 16> kSlotMagic{'C', 'A', 'R', 'I', 'N', 'A', ' ', 'F',
                                                 'I', 'R', 'M', 'W', 'A', 'R', 'E', '\0'};
struct ImageSlot {
  std::array<char, 16> magic = kSlotMagic;
  uint32_t version = kVersion;
  uint32_t model_address = 0;
  uint32_t model_capacity_bytes = 0;  // header and program
  uint32_t pools_address = 0;
  uint32_t pools_bytes = 0;
};
static_assert(sizeof(ImageSlot) == 36);

// What an image that simulates the NPU itself says about its simulator, 4-byte aligned and found in the same way. Other
// images have no such record.
inline constexpr std::array<char, 16> kNpuCoreMagic{'C', 'A', 'R', 'I', 'N', 'A', ' ', 'N',
                                                    'P', 'U', ' ', 'C', 'O', 'R', 'E', '\0'};
struct NpuCore {
  std::array<char, 16> magic = kNpuCoreMagic;
  uint32_t workspace_bytes = 0;  // for the decoded weights of one operation, 2 bytes each
};
static_assert(sizeof(NpuCore) == 20);

// The header at the slot's model_address. The program follows it.
inline constexpr uint32_t kModelMagic = 0x4D524143;  // "CARM"
struct ModelHeader {
  uint32_t magic = kModelMagic;
  uint32_t version = kVersion;
  uint32_t program_bytes = 0;
  // The sizes of the pools: for the method (tables, planned buffers, inputs), for temporary data of kernels and
  // delegates, and for region 2 of the NPU. 0: the image's default.
  uint32_t method_pool_bytes = 0;
  uint32_t temp_pool_bytes = 0;
  uint32_t fast_pool_bytes = 0;
  uint32_t npu_config_word = 0;  // of the simulated NPU; 0: none
  std::array<uint32_t, 9> reserved{};
};
static_assert(sizeof(ModelHeader) == 64);

// The host as the NPU: the image writes a request to one file and reads the reply from another (pipes on the host).
// Payload and regions stay in place, in memory that both can access.
inline constexpr const char* kNpuRequestFile = "npu.request";
inline constexpr const char* kNpuReplyFile = "npu.reply";
inline constexpr uint32_t kNpuMagic = 0x4E524143;  // "CARN"
inline constexpr uint32_t kNpuRegions = 8;
inline constexpr uint32_t kNpuCounters = 8;

struct NpuRequest {
  uint32_t magic = kNpuMagic;
  uint32_t version = kVersion;
  uint32_t payload_address = 0;
  uint32_t payload_bytes = 0;  // 0: query of the NPU's identity
  std::array<uint64_t, kNpuRegions> region_address{};
  std::array<uint64_t, kNpuRegions> region_bytes{};
  std::array<uint16_t, kNpuCounters> events{};  // as PMEVTYPER numbers them
};
static_assert(sizeof(NpuRequest) == 160);

struct NpuReply {
  uint32_t magic = kNpuMagic;
  int32_t status = 0;  // 0: done; -1: a fault, described in `message`
  uint32_t config_word = 0;
  uint32_t id_word = 0;
  uint64_t cycles = 0;
  std::array<uint64_t, kNpuCounters> counts{};
  std::array<char, 400> message{};
};
static_assert(sizeof(NpuReply) == 488);

}  // namespace carina::firmware
