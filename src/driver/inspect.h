#pragma once

#include <string>

#include "base/diagnostic.h"
#include "base/log.h"

namespace carina::driver {

enum class TextFormat { kText, kJson };

// What a .pt2, .tosa, .vgf, .pte, .npz or .npy holds: graphs in the IR's text form with large constants elided,
// programs as their values and instructions, archives as their arrays. Errors: of the readers; a file of another kind.
Result<std::string> inspect(const std::string& path, TextFormat format, const Log& log);

// The command streams of a .pte (each Ethos-U delegate) or of Vela's raw .npz, disassembled; the SPIR-V of a .vgf. Errors: as above; a file
// without a stream.
Result<std::string> disassemble(const std::string& path, TextFormat format);

}  // namespace carina::driver
