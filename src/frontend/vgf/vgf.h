#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/result.h"
#include "frontend/vgf/container.h"
#include "ir/graph.h"

namespace carina::vgf {

// Writes a valid TOSA module as a VGF file with one graph segment of SPIR-V (SPV_ARM_graph, TOSA.001000.1). Equal
// modules give equal bytes; constants of equal content are stored once. Scalars become tensors of shape [1], and i4
// becomes i8, as model-converter writes them. Unlike model-converter, the writer keeps names and folds nothing: passes
// optimize for all targets, drivers do in any case, and the file can be compared with the graph operator by operator.
// model-converter decides which constants stand inline and which in the constant section. The writer decides as it
// does, because drivers were tested with its files.
// `where` is the module's name in messages. Errors, all of them: operators
// that SPIR-V does not have, with the reason (facts/vgf_form.h); shapes that are not constants or do not fit 32 bits.
Result<std::vector<std::byte>> write_vgf(const ir::Module& module, const std::string& where);

// Reads the TOSA graph of a VGF file. Its graph segments become one graph, in order. The result follows the conventions
// of ir::Graph; the caller must check the rules of the specification (frontend/tosa/verify/verify.h). Errors: those of
// read_container(); SPIR-V that is damaged or outside of TOSA 1.0; compute segments, by name.
Result<ir::Module> read_vgf(const Buffer& file, const std::string& where);
// Like the function above, for a file whose tables have been read.
Result<ir::Module> read_vgf(const Container& container, const std::string& where);

// Returns the SPIR-V of every module as text, one instruction per line, and source code unchanged. Errors: those of
// read_container(); SPIR-V whose last instruction does not end at the module's end.
Result<std::string> disassemble(const Buffer& file, const std::string& where);

}  // namespace carina::vgf
