#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/result.h"
#include "ir/graph.h"

namespace carina::tosa {

// The TOSA version of a file. In 0.80 operators have other numbers, and some operands of 1.0 are attributes.
enum class FileVersion : uint8_t {
  k1_0,   // 1.0.0, draft = false; 1.1.0, draft = true, if an operator of EXT-MXFP is in the file
  k0_80,  // 0.80.1, profiles BI and MI
};

struct WriteOptions {
  FileVersion version = FileVersion::k1_0;
};

// Reads a TOSA FlatBuffer of version 1.0, 1.1-draft (operators of 1.0 and EXT-MXFP) or 0.80 by the conventions of
// ir::Graph. Each region becomes a graph; the first is the main graph. CONST and CONST_SHAPE become constants of
// values. Elements are unpacked. Data that is aligned in the file for its type is viewed, not copied. `where` is the
// file's name in messages. Errors: damaged or truncated files; unknown operators, versions and types; undefined names;
// data shorter than its tensor; shapes whose size overflows. Source: facts/schemas/tosa.fbs.
Result<ir::Module> read_tosa(const Buffer& file, const std::string& where);

// Returns the version that a TOSA FlatBuffer declares: "1.0.0", "1.1.0-draft". Errors: not such a file.
Result<std::string> version_of(const Buffer& file, const std::string& where);

// Returns the bytes of a TOSA FlatBuffer. Equal modules give equal bytes. Every graph becomes a region of one block.
// Errors: operators, types or attributes that the version does not have; more than 2 GB.
Result<std::vector<std::byte>> write_tosa(const ir::Module& module, const WriteOptions& options);
inline Result<std::vector<std::byte>> write_tosa(const ir::Module& module) {
  return write_tosa(module, WriteOptions{});
}

}  // namespace carina::tosa
