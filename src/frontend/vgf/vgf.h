#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/result.h"
#include "frontend/vgf/container.h"
#include "ir/graph.h"

namespace carina::vgf {

// A TOSA module that keeps the specification's rules as a VGF file: one graph segment of SPIR-V (SPV_ARM_graph,
// TOSA.001000.1). Deterministic; constants of equal content stand there once. Scalars become tensors of shape [1], i4
// becomes i8, as model-converter writes them. Errors, all of them: operators that SPIR-V does not have, with the reason
// (facts/vgf_ops.h); shapes that are not constants or do not fit 32 bits. `where` is what messages call the module.
Result<std::vector<std::byte>> write_vgf(const ir::Module& module, const std::string& where);

// The TOSA graph of a VGF file: its graph segments one after another as one graph. The result keeps ir::Graph's
// conventions; the specification's rules are the caller's to check (frontend/tosa/verify.h). Errors: of
// read_container(); SPIR-V that is damaged or says more than TOSA 1.0 can; compute segments, which are called by name.
Result<ir::Module> read_vgf(const Buffer& file, const std::string& where);
// The same for a file whose tables are read already.
Result<ir::Module> read_vgf(const Container& container, const std::string& where);

// The SPIR-V of every module in words, one instruction a line; source code as it is. Errors: of read_container();
// SPIR-V whose instructions do not end where it does.
Result<std::string> disassemble(const Buffer& file, const std::string& where);

}  // namespace carina::vgf
