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

// The features that a TOSA file may use. Case is ignored in names, and the prefixes "PRO-", "EXT-", "tosa-pro-" and
// "tosa-ext-" are optional.
struct TosaLimits {
  std::string level = "8K";             // or "none"
  std::vector<std::string> profiles;    // "INT", "FP"; "BI" and "MI" of TOSA 0.80; empty: all
  std::vector<std::string> extensions;  // "INT16" ...; only "none": no extension; empty: all
};

// Returns whether a file holds a TOSA graph or becomes one as it is read, by its name's extension: .tosa, .vgf,
// .tflite.
bool is_graph_file(const std::string& path);

// Reads the TOSA graph of such a file without verifying it. Errors: the readers'.
Result<ir::Module> read_graph_file(const Buffer& file, const std::string& path);

// Reads a .tosa, .vgf or .tflite and verifies it with every profile and extension at this level. All commands read
// graphs through this function, so later stages may rely on valid graphs. Errors: the reader's; every violated rule.
Result<ir::Module> read_sound_tosa(const std::string& path, const std::string& level);
inline Result<ir::Module> read_sound_tosa(const std::string& path) {
  return read_sound_tosa(path, "8K");
}

// Like read_sound_tosa(), for a file in memory. `where` is its name in messages.
Result<ir::Module> sound_tosa(const Buffer& file, const std::string& where, const std::string& level);

// Returns the verified graph of a VGF file whose tables have been read, at level 8K.
Result<ir::Module> sound_vgf(const vgf::Container& file, const std::string& where);

// Like sound_tosa(), for a TOSA, VGF or LiteRT file in memory. Another kind of file is an error of the TOSA reader.
Result<ir::Module> sound_graph(const Buffer& file, const std::string& where, const std::string& level);

// Returns the verifier's findings on a file. Errors: a file that cannot be read; unknown names (usage).
Result<results::VerifyReport> verify_tosa(const std::string& path, const TosaLimits& limits);

// Returns the version of a TOSA file that write_sound_tosa() wrote as `version`: with operators of EXT-MXFP, a file of
// "1.0" is one of "1.1-draft".
std::string written_version(const std::vector<std::byte>& file, const std::string& version);

// Verifies a module against the limits and returns the bytes of a TOSA file of `version` ("1.0", "0.80") or of a VGF
// file ("vgf"). Errors: violated rules; features that the version cannot express.
Result<std::vector<std::byte>> write_sound_tosa(const ir::Module& module, const std::string& version,
                                                const TosaLimits& limits, const std::string& where);

}  // namespace carina::files
