#include "carina/board.h"

#include <fmt/format.h>

#include <iterator>
#include <string_view>
#include <utility>

namespace carina::targets {

namespace {

std::string_view name_of(SecondMemory kind) {
  switch (kind) {
    case SecondMemory::kDram:
      return "Dram";
    case SecondMemory::kOnChipFlash:
      return "OnChipFlash";
    case SecondMemory::kOffChipFlash:
      return "OffChipFlash";
  }
  return "unknown";
}

std::string_view name_of(BoardPort port) {
  return port == BoardPort::kSram ? "Axi0" : "Axi1";
}

void add_memory(std::string& text, std::string_view kind, const BoardMemory& memory) {
  auto out = std::back_inserter(text);
  fmt::format_to(out, "{0}_clock_scale={1}\n{0}_burst_length={2}\n{0}_read_latency={3}\n{0}_write_latency={4}\n", kind,
                 memory.clock_scale, memory.burst_bytes, memory.read_latency_cycles, memory.write_latency_cycles);
  if (memory.max_reads != 0) fmt::format_to(out, "{}_max_reads={}\n", kind, memory.max_reads);
  if (memory.max_writes != 0) fmt::format_to(out, "{}_max_writes={}\n", kind, memory.max_writes);
}

}  // namespace

TargetNames target_on(const Board& board, std::string accelerator) {
  const std::string_view second = name_of(board.second_kind);
  std::string text = fmt::format("[System_Config.{}]\ncore_clock={}\naxi0_port=Sram\naxi1_port={}\n", board.name,
                                 board.core_clock_hz, second);
  add_memory(text, "Sram", board.sram);
  add_memory(text, second, board.second);
  fmt::format_to(std::back_inserter(text),
                 "[Memory_Mode.{}]\nconst_mem_area={}\narena_mem_area={}\ncache_mem_area=Axi0\n", board.name,
                 name_of(board.constants), name_of(board.arena));
  if (board.fast_memory_bytes != 0)
    fmt::format_to(std::back_inserter(text), "arena_cache_size={}\n", board.fast_memory_bytes);
  return {.accelerator = std::move(accelerator),
          .system_config = board.name,
          .memory_mode = board.name,
          .ini = {{.name = board.name, .text = Buffer::copy_of(std::as_bytes(std::span(text)))}}};
}

}  // namespace carina::targets
