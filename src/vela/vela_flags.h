// Reads Vela's command-line flags.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "backends/show.h"
#include "carina/log.h"
#include "carina/result.h"
#include "targets/target.h"

namespace carina::vela {

// The supported settings among the flags of Vela.
struct VelaFlags {
  targets::TargetRequest target;  // what no flag gives is empty
  std::optional<backends::Optimize> optimize;
  std::vector<backends::Show> shown;  // each once, in the order of Show
};

// Reads flags of Vela 5.2 as its command line takes them: "--optimise Size", "--optimise=Size"; a string may hold
// several, separated by blanks, as the compile spec "compile_flags" of ExecuTorch's Arm backend does. Notes: flags that
// make no difference here, each with the reason. Errors (usage), all of them at once: flags that Vela does not have,
// with the nearest name; those that ask for what Carina does not do, with what to do instead; values that are missing
// or wrong.
Result<VelaFlags> read_vela_flags(std::span<const std::string> flags, const Log& log);

// Merges the flags into a command's own options. Errors (usage): the two contradict each other.
Result<void> add_vela_flags(const VelaFlags& flags, targets::TargetRequest& target, backends::Optimize& optimize);

}  // namespace carina::vela
