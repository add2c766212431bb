#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstddef>
#include <string>
#include <vector>

#include "carina/result.h"
#include "facts/tosa_row.h"
#include "ir/graph.h"

namespace carina::tosa {

// Files of 1.0.0.
Result<std::vector<std::byte>> write_1_0(const ir::Module& module);
// Files of 0.80.1.
Result<std::vector<std::byte>> write_0_80(const ir::Module& module);

// Writes the attribute table of an operator and gives its offset. `scalar_type`: the type of kScalar attributes.
// Errors: an attribute of the row is missing, of another kind, or does not fit the file.
Result<flatbuffers::Offset<void>> write_attributes(flatbuffers::FlatBufferBuilder& builder, const TosaOpRow& row,
                                                   const ir::Attributes& attributes, DType scalar_type,
                                                   const std::string& where);

// A scalar attribute as the element of a tensor of this type: its bytes, padded with zeros to 8. Errors: it does not
// fit.
Result<std::array<uint8_t, 8>> bytes_of_scalar(DType dtype, const ir::Attribute& value, const std::string& where);

}  // namespace carina::tosa
