#pragma once

#include <cstdint>
#include <span>

#include "carina/result.h"
#include "tflite_generated.h"

namespace carina::litert {

// Copies the options of an operator, whatever they are: facts/tflite_options.def has the fields of each table. `from`
// is an operator of a verified file, and `file` the bytes of that file. Errors: a table that is not known, or damaged.
Result<flatbuffers::Offset<void>> copy_options(const tflite::fb::Operator& from, std::span<const uint8_t> file,
                                               flatbuffers::FlatBufferBuilder& to, const std::string& where);

}  // namespace carina::litert
