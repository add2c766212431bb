// Declares the boards that `--board` takes by name.
#pragma once

#include <string_view>

#include "carina/result.h"
#include "facts/npu_boards.h"
#include "results/target_list.h"

namespace carina::targets {

// Returns the board of this name, in any case of letters. Errors (usage): there is none; the message has the nearest
// name and lists all.
Result<const npu::Board*> find_board(std::string_view name);

// Lists all boards in the order of the table.
results::BoardList list_boards();

}  // namespace carina::targets
