#pragma once

#include <flatbuffers/flatbuffers.h>

#include <cstddef>
#include <string>
#include <vector>

#include "carina/result.h"
#include "facts/tosa_row.h"
#include "ir/graph.h"

namespace carina::tosa {

// Writes a file of TOSA 1.0.0, or of 1.1.0-draft if it has operators of EXT-MXFP.
Result<std::vector<std::byte>> write_1_0(const ir::Module& module);
// Writes a file of TOSA 0.80.1.
Result<std::vector<std::byte>> write_0_80(const ir::Module& module);

// Writes the attribute table of an operator and returns its offset. `scalar_type`: the type of kScalar attributes.
// Errors: an attribute of the row that is missing, is of another kind, or does not fit the file.
Result<flatbuffers::Offset<void>> write_attributes(flatbuffers::FlatBufferBuilder& builder, const TosaOpRow& row,
                                                   const ir::Attributes& attributes, DType scalar_type,
                                                   const std::string& where);

// The bytes of a scalar attribute as an element of this type, padded with zeros to 8. Error: it does not fit.
Result<std::array<uint8_t, 8>> bytes_of_scalar(DType dtype, const ir::Attribute& value, const std::string& where);

}  // namespace carina::tosa
