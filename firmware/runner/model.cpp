#include "firmware/runner/model.h"

#include <algorithm>

#include "firmware/board/console.h"

extern "C" {  // symbols of the linker script
extern const std::byte __model_start[];
extern const std::byte __model_bytes[];
extern std::byte __pools_start[];
extern std::byte __pools_bytes[];
}

namespace carina::firmware {

namespace {

// An ImageSlot whose numbers are set by the linker. Addresses have 32 bits here.
struct Slot {
  std::array<char, 16> magic;
  uint32_t version;
  const std::byte* model_address;
  const std::byte* model_capacity_bytes;
  const std::byte* pools_address;
  const std::byte* pools_bytes;
};
static_assert(sizeof(void*) != sizeof(uint32_t) || sizeof(Slot) == sizeof(ImageSlot));
[[gnu::section(".carina_slot"), gnu::used]] const Slot slot{.magic = kSlotMagic,
                                                            .version = kVersion,
                                                            .model_address = __model_start,
                                                            .model_capacity_bytes = __model_bytes,
                                                            .pools_address = __pools_start,
                                                            .pools_bytes = __pools_bytes};

constexpr size_t kAlignment = 64;

size_t size_of(const std::byte* linker_symbol) {
  return reinterpret_cast<uintptr_t>(linker_symbol);
}

size_t rounded(size_t bytes) {
  return (bytes + kAlignment - 1) & ~(kAlignment - 1);
}

}  // namespace

bool find_model(Model& model) {
  const auto& header = *reinterpret_cast<const ModelHeader*>(__model_start);
  if (header.magic != kModelMagic || header.version != kVersion) {
    error().text("no model in the image: `carina firmware MODEL.pte -o app.elf` puts one there");
    return false;
  }
  const size_t total = size_of(__pools_bytes);
  const size_t fast = rounded(header.fast_pool_bytes);
  const size_t rest = total - std::min(fast, total);
  const size_t method = rounded(header.method_pool_bytes == 0 ? rest / 2 : header.method_pool_bytes);
  const size_t temp = rounded(header.temp_pool_bytes == 0 ? rest - std::min(method, rest) : header.temp_pool_bytes);
  if (fast > total || method > rest || temp > rest - method) {
    error()
        .text("the pools need more memory than the image has: ")
        .number(fast)
        .text(" + ")
        .number(method)
        .text(" + ")
        .number(temp)
        .text(" of ")
        .number(total)
        .text(" bytes");
    return false;
  }
  model = {.program = {__model_start + sizeof(ModelHeader), header.program_bytes},
           .method_pool = {__pools_start + fast, method},
           .temp_pool = {__pools_start + fast + method, temp},
           .fast_pool = {__pools_start, fast}};
  return true;
}

}  // namespace carina::firmware
