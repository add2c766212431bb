#pragma once

#include <string>

#include "carina/buffer.h"
#include "carina/result.h"
#include "frontend/tflite/model.h"

namespace carina::tflite {

// Reads a .tflite file of schema version 3. Data that is aligned in the file for its type is viewed, not copied.
// `where` is the file's name in messages. Errors: damaged or truncated files; another version; indices, shapes,
// quantization or sizes that do not fit together; operators that are not in an order of evaluation. Source:
// facts/schemas/tflite.fbs.
Result<Model> read_model(const Buffer& file, const std::string& where);

}  // namespace carina::tflite
