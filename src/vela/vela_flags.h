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
  targets::TargetRequest target;  // empty if no flag gives it
  std::optional<backends::Optimize> optimize;
  std::vector<backends::Show> shown;  // without duplicates, in the order of Show
};

// Reads flags of Vela 5.2 in the form of its command line: "--optimise Size" or "--optimise=Size". A string may hold
// several flags, separated by blanks, as in the compile spec "compile_flags" of ExecuTorch's Arm backend. Notes name
// the flags that have no effect here, each with the reason. Errors (usage), all at once: flags that Vela does not have,
// with the nearest name; flags that Carina does not support, with an alternative; values that are missing or wrong.
Result<VelaFlags> read_vela_flags(std::span<const std::string> flags, const Log& log);

// A flag of Vela's command line, with what it does here in a few words.
struct VelaFlag {
  std::string name;  // "--optimise"
  bool takes_value = false;
  std::string description;
};
// All flags of Vela 5.2, in the order of its help.
std::vector<VelaFlag> vela_flags();

// Merges the flags into a command's own options. Errors (usage): the two contradict each other.
Result<void> add_vela_flags(const VelaFlags& flags, targets::TargetRequest& target, backends::Optimize& optimize);

}  // namespace carina::vela
