#pragma once

#include <flatbuffers/flatbuffers.h>

#include <span>
#include <string>

#include "carina/buffer.h"
#include "carina/result.h"
#include "facts/tosa_row.h"
#include "ir/graph.h"

namespace carina::tosa {

// How a file's tables are laid out: 0.80 shares them with 1.x but for the numbers of operators and types, and the
// attributes (facts/tosa_0_80.h).
enum class FileForm : uint8_t { k1_x, k0_80 };

// Files of this form, whose identifier and version have been checked.
Result<ir::Module> read_regions(const Buffer& file, const std::string& where, FileForm form);

// Whether a file can be walked: every offset and length lies inside, and walking it all costs no more than some
// multiple of its size. Its identifier has been checked.
bool is_sound(std::span<const uint8_t> file, FileForm form);

// The attributes of an operator from its table in the file, which has been verified; `table` may be null: all defaults.
// `scalar_type`: the type of kScalar attributes. Source of the slots: the row's order.
Result<ir::Attributes> read_attributes(const TosaOpRow& row, const flatbuffers::Table* table, DType scalar_type,
                                       const std::string& where);

// The first `size` bytes of a scalar of this type as an attribute: int64_t for integers, double for floats.
ir::Attribute scalar_of_bytes(DType dtype, const uint8_t* bytes);

}  // namespace carina::tosa
