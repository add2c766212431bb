#pragma once

#include <string>

#include "carina/log.h"
#include "carina/result.h"
#include "results/listing.h"

namespace carina::inspect {

// What a .pt2, .tosa, .vgf, .pte, .npz or .npy holds: graphs in the IR's text form with large constants elided,
// programs as their values and instructions, archives as their arrays. Errors: of the readers; a file of another kind.
Result<results::Listing> inspect(const std::string& path, const Log& log);

struct Disassembly {
  std::string text;
  results::Listing listing;  // a part for each command
};

// The command streams of a .pte (each Ethos-U delegate) or of Vela's raw .npz, disassembled; the SPIR-V of a .vgf. Errors: as above; a file
// without a stream.
Result<Disassembly> disassemble(const std::string& path);

}  // namespace carina::inspect
