#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/result.h"
#include "frontend/vgf/container.h"
#include "ir/graph.h"
#include "results/verify_report.h"

namespace carina::files {

// What a TOSA file may use. Names are taken in any case, with or without "PRO-", "EXT-", "tosa-pro-" and "tosa-ext-".
struct TosaLimits {
  std::string level = "8K";             // or "none"
  std::vector<std::string> profiles;    // "INT", "FP"; "BI" and "MI" of TOSA 0.80; empty: all
  std::vector<std::string> extensions;  // "INT16" ...; "none" alone: none of them; empty: all
};

// Whether a file holds a TOSA graph, by its extension: .tosa, .vgf.
bool is_graph_file(const std::string& path);

// The TOSA graph of such a file as it is, unverified. Errors: of the readers.
Result<ir::Module> read_graph_file(const Buffer& file, const std::string& path);

// Every .tosa and .vgf that Carina works on comes through here: read, and verified with every profile and extension at this
// level, so that later stages need not fear what the file says. Errors: of the reader; each broken rule.
Result<ir::Module> read_sound_tosa(const std::string& path, const std::string& level);
inline Result<ir::Module> read_sound_tosa(const std::string& path) {
  return read_sound_tosa(path, "8K");
}

// The same for a file in memory; `where` is what messages call it.
Result<ir::Module> sound_tosa(const Buffer& file, const std::string& where, const std::string& level);

// The graph of a VGF file whose tables are read, at level 8K.
Result<ir::Module> sound_vgf(const vgf::Container& file, const std::string& where);

// Whichever of the two a file in memory is; what is neither is an error of the TOSA reader.
Result<ir::Module> sound_graph(const Buffer& file, const std::string& where, const std::string& level);

// What the verifier says on a file. Errors: a file that cannot be read, names that do not exist (usage).
Result<results::VerifyReport> verify_tosa(const std::string& path, const TosaLimits& limits);

// The bytes of a TOSA file of `version` ("1.0", "0.80"), or of a VGF file ("vgf"), verified against the limits first. Errors: broken rules, and
// what the version cannot express.
Result<std::vector<std::byte>> write_sound_tosa(const ir::Module& module, const std::string& version,
                                                const TosaLimits& limits, const std::string& where);

}  // namespace carina::files
