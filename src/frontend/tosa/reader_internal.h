#pragma once

#include <flatbuffers/flatbuffers.h>

#include <span>
#include <string>

#include "carina/buffer.h"
#include "carina/result.h"
#include "facts/tosa_row.h"
#include "ir/graph.h"

namespace carina::tosa {

// The layout of a file's tables. 0.80 differs from 1.x in the numbers of operators and types, and in the attributes
// (facts/tosa_0_80.h).
enum class FileForm : uint8_t { k1_x, k0_80 };

// Reads a file of this form, whose identifier and version have been checked.
Result<ir::Module> read_regions(const Buffer& file, const std::string& where, FileForm form);

// Returns whether a file can be walked safely: every offset and length is inside of the file, and the walk's cost is
// limited to a multiple of the file's size. The identifier has been checked.
bool is_sound(std::span<const uint8_t> file, FileForm form);

// Reads the attributes of an operator from its verified table. If `table` is nullptr, all have their defaults.
// `scalar_type`: the type of kScalar attributes. The slots are in the order of the row.
Result<ir::Attributes> read_attributes(const TosaOpRow& row, const flatbuffers::Table* table, DType scalar_type,
                                       const std::string& where);

// Converts the first `size` bytes of a scalar of this type to an attribute: int64_t for integers, double for floats.
ir::Attribute scalar_of_bytes(DType dtype, const uint8_t* bytes);

}  // namespace carina::tosa
