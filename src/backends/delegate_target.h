#pragma once

#include <optional>
#include <string>

#include "base/diagnostic.h"
#include "base/log.h"
#include "base/memory/zeroed_pages.h"
#include "plan/network/target.h"
#include "pte/program.h"
#include "targets/target.h"

namespace carina::backends {

// The target of a delegate: the NPU that its stream is for; the memories that are asked for, else those of its specs.
// Nothing when the stream is for an NPU that Carina does not know. Memories of a vela.ini that is not at hand: the
// family's, with a warning, since only estimates depend on them. Errors: a damaged blob; names that `asked` has wrong.
Result<std::optional<plan::Target>> target_of_delegate(const pte::Delegate& delegate, const targets::TargetNames& asked,
                                                       const std::string& where, const Log& log);

// The target that a program's first Ethos-U delegate was compiled for; of a program without, one of which nothing but
// the name is asked. Errors: as above.
Result<plan::Target> target_of_program(const pte::Program& program, const std::string& where,
                                       const targets::TargetNames& asked, const Log& log);

// How large the fast memory (region 2) is that streams for a target expect, as its memory mode says; `unsized_bytes` where
// the mode has one and says no size, as Vela's programs for Dedicated_Sram; 0 where the mode has none.
size_t fast_bytes_of(const plan::Target& target, size_t unsized_bytes);

// That memory; one without a size is as large as any NPU's SRAM, and only what a stream touches is taken from the machine.
ZeroedPages fast_memory_of(const plan::Target& target);

}  // namespace carina::backends
