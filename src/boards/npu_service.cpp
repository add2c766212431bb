#include "boards/npu_service_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/guarded.h"

namespace carina::boards {

namespace {

void set_message(firmware::NpuReply& reply, const std::string& message) {
  reply.status = -1;
  const size_t size = std::min(message.size(), reply.message.size() - 1);
  std::memcpy(reply.message.data(), message.data(), size);
}

// Sets the counters of a request's events.
void count(const firmware::NpuRequest& request, const simulate::Report& report, firmware::NpuReply& reply) {
  reply.cycles = report.cycles.total;
  for (size_t i = 0; i < request.events.size(); ++i) {
    const auto found = std::ranges::find(report.pmu, request.events[i], &simulate::PmuCounter::event);
    if (request.events[i] != 0 && found != report.pmu.end()) reply.counts[i] = found->count;
  }
}

}  // namespace

NpuService::NpuService(const plan::Target& target, const SharedMemory& memory, simulate::Timing timing, int threads,
                       size_t kept)
    : accelerator_(target.accelerator),
      memory_(memory),
      simulator_({.timing = timing,
                  .occupied = timing == simulate::Timing::kOn ? simulate::Occupied::kOn : simulate::Occupied::kOff,
                  .threads = threads,
                  .config_word = target.accelerator.config_word,
                  .own_system_config = target.system,
                  .own_memory_mode = target.memory}),
      kept_(kept) {}

firmware::NpuReply NpuService::answer(const firmware::NpuRequest& request) {
  firmware::NpuReply reply{.config_word = accelerator_.config_word, .id_word = accelerator_.id_word};
  const bool understood = request.magic == firmware::kNpuMagic && request.version == firmware::kVersion;
  if (!understood) {
    set_message(reply, "the image speaks another version of the protocol: make it anew with `carina firmware`");
  } else if (request.payload_bytes > 0) {
    const auto done = guarded([&] { return run(request, reply); });
    if (!done) set_message(reply, to_string(done.error()));
  }
  return reply;
}

Result<std::span<std::byte>> NpuService::range(uint64_t address, uint64_t bytes, const char* role) const {
  const uint64_t offset = address - memory_.device_address;
  if (address >= memory_.device_address && offset <= memory_.bytes.size() && bytes <= memory_.bytes.size() - offset)
    return memory_.bytes.subspan(static_cast<size_t>(offset), static_cast<size_t>(bytes));
  return fail(
      {.where = role,
       .what = "is outside of the memory that the NPU can access",
       .expected = fmt::format("{:#x} to {:#x}", memory_.device_address, memory_.device_address + memory_.bytes.size()),
       .got = fmt::format("{} bytes at {:#x}", bytes, address)});
}

Result<void> NpuService::run(const firmware::NpuRequest& request, firmware::NpuReply& reply) {
  simulate::Memory memory;
  for (size_t i = 0; i < memory.regions.size(); ++i) {
    if (request.region_bytes[i] == 0) continue;
    const std::string role = fmt::format("region {}", i);
    CARINA_TRY(memory.regions[i], range(request.region_address[i], request.region_bytes[i], role.c_str()));
  }
  CARINA_TRY(const std::span<std::byte> payload, range(request.payload_address, request.payload_bytes, "the payload"));
  CARINA_TRY(simulate::Report report, simulator_.run(payload, memory));
  count(request, report, reply);
  if (reports_.size() < kept_) reports_.push_back(std::move(report));
  return {};
}

}  // namespace carina::boards
