#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/result.h"
#include "ir/graph.h"

namespace carina::tosa {

// Which TOSA a file is for. 0.80 has other operators' numbers, and attributes where 1.0 has operands.
enum class FileVersion : uint8_t {
  k1_0,   // 1.0.0, draft = false
  k0_80,  // 0.80.1, profiles BI and MI
};

struct WriteOptions {
  FileVersion version = FileVersion::k1_0;
};

// Reads a TOSA FlatBuffer of version 1.0, 1.1-draft (operators of 1.0) or 0.80, in the graph conventions of ir::Graph:
// one graph per region, the first is the one to run; CONST and CONST_SHAPE become constants of values; elements are
// unpacked. Data that is aligned in the file for its type is viewed, not copied. `where` is what messages call the
// file. Errors: damaged or truncated files, unknown operators, versions and types, names without definition, data
// shorter than its tensor, shapes whose size overflows. Source: facts/schemas/tosa.fbs.
Result<ir::Module> read_tosa(const Buffer& file, const std::string& where);

// The version that a TOSA FlatBuffer gives itself: "1.0.0", "1.1.0-draft". Errors: no such file.
Result<std::string> version_of(const Buffer& file, const std::string& where);

// The bytes of a TOSA FlatBuffer: the same module gives the same bytes. Every graph becomes a region of one block.
// Errors: a module with operators, types or attributes that the version does not have; more than 2 GB.
Result<std::vector<std::byte>> write_tosa(const ir::Module& module, const WriteOptions& options);
inline Result<std::vector<std::byte>> write_tosa(const ir::Module& module) {
  return write_tosa(module, WriteOptions{});
}

}  // namespace carina::tosa
