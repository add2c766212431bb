#include "targets/board_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text/nearest.h"
#include "npu/table_names.h"

namespace carina::targets {

Result<const npu::Board*> find_board(std::string_view name) {
  std::vector<std::string> known;
  for (const npu::Board& board : npu::kBoards) {
    if (npu::same_name(board.system.name, name)) return &board;
    known.emplace_back(board.system.name);
  }
  return fail({.where = "--board",
               .what = "unknown board",
               .expected = fmt::format("{}", fmt::join(known, ", ")),
               .got = std::string(name),
               .hint = nearest_hint(name, known),
               .fault = Fault::kUsage});
}

results::BoardList list_boards() {
  results::BoardList list;
  for (const npu::Board& board : npu::kBoards)
    list.boards.push_back({.name = std::string(board.system.name),
                           .board = std::string(board.board),
                           .chip = std::string(board.chip),
                           .target = std::string(board.accelerator),
                           .system_config = std::string(board.system.name),
                           .memory_mode = std::string(board.memory_mode),
                           .clock_hz = static_cast<int64_t>(board.system.core_clock_hz),
                           .sram_bytes = board.sram_bytes,
                           .flash_bytes = board.flash_bytes,
                           .sizes = std::string(board.sizes),
                           .memories = std::string(board.memories),
                           .evidence = std::string(board.evidence)});
  return list;
}

}  // namespace carina::targets
