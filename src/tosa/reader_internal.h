#pragma once

#include <flatbuffers/flatbuffers.h>

#include <string>

#include "base/buffer.h"
#include "base/diagnostic.h"
#include "facts/tosa_row.h"
#include "ir/graph.h"

namespace carina::tosa {

// Files of 1.0 and 1.1-draft.
Result<ir::Module> read_1_x(const Buffer& file, const std::string& where);

// The attributes of an operator from its table in the file, which has been verified; `table` may be null: all defaults.
// `scalar_type`: the type of kScalar attributes. Source of the slots: the row's order.
Result<ir::Attributes> read_attributes(const TosaOpRow& row, const flatbuffers::Table* table, DType scalar_type,
                                       const std::string& where);

// The first `size` bytes of a scalar of this type as an attribute: int64_t for integers, double for floats.
ir::Attribute scalar_of_bytes(DType dtype, const uint8_t* bytes);

}  // namespace carina::tosa
