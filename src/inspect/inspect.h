#pragma once

#include <string>

#include "carina/log.h"
#include "carina/result.h"
#include "results/listing.h"

namespace carina::inspect {

// Lists the content of a .pt2, .tosa, .vgf, .pte, .npz or .npy. Graphs are in the IR's text form without large
// constants, programs are lists of values and instructions, archives are lists of arrays. Errors: the readers'; a file
// of another kind.
Result<results::Listing> inspect(const std::string& path, const Log& log);

struct Disassembly {
  std::string text;
  results::Listing listing;  // one part per command
};

// Disassembles the command streams of a .pte (one per Ethos-U delegate) or of Vela's raw .npz, or the SPIR-V of a .vgf.
// Errors: those of inspect(); a file without a command stream.
Result<Disassembly> disassemble(const std::string& path);

}  // namespace carina::inspect
