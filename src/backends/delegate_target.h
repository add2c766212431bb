// Finds the NPU and the memories for which a packaged delegate was compiled.
#pragma once

#include <optional>
#include <string>

#include "base/memory/zeroed_pages.h"
#include "carina/log.h"
#include "carina/result.h"
#include "plan/network/target.h"
#include "pte/program.h"
#include "targets/target.h"

namespace carina::backends {

// What becomes of a program that was compiled for memories of a vela.ini that is not given: the family's defaults are
// used with a warning, or it is an error (usage).
enum class UnknownMemories { kAssumeDefaults, kError };

// Returns the target of a delegate. The NPU is read from the command stream. The memories are those of `asked`, or else
// those of the delegate's compile specs. Returns no value if Carina does not know the NPU. If the specs name memories
// of a vela.ini that is not given, `unknown` decides; only estimates depend on them.
// Errors: a damaged blob; wrong names in `asked`.
Result<std::optional<plan::Target>> target_of_delegate(const pte::Delegate& delegate, const targets::TargetNames& asked,
                                                       const std::string& where, const Log& log,
                                                       UnknownMemories unknown = UnknownMemories::kAssumeDefaults);

// Returns the target for which the program's first Ethos-U delegate was compiled, with a fast memory that is large
// enough for all delegates. For a program without such a delegate it returns a target of which only the name is used.
// Errors: those of target_of_delegate().
Result<plan::Target> target_of_program(const pte::Program& program, const std::string& where,
                                       const targets::TargetNames& asked, const Log& log,
                                       UnknownMemories unknown = UnknownMemories::kAssumeDefaults);

// Returns the size in bytes of the fast memory (region 2) that command streams for a target expect, as its memory mode
// gives it. Returns `unsized_bytes` if the mode has fast memory but gives no size, as in Vela's programs for
// Dedicated_Sram, and 0 if the mode has none.
size_t fast_bytes_of(const plan::Target& target, size_t unsized_bytes);

// Allocates that fast memory. Without a given size it is as large as any NPU's SRAM; only pages that a stream touches
// use memory of the host.
ZeroedPages fast_memory_of(const plan::Target& target);

}  // namespace carina::backends
