// Writes a program as a C array for a firmware project, with the facts that an application needs.
#pragma once

#include <span>
#include <string>

#include "carina/buffer.h"
#include "carina/compile_report.h"
#include "carina/result.h"

namespace carina::inspect {

// Whether the array is in the header, or in a source of its own that the header declares.
enum class CFiles : uint8_t { kHeaderOnly, kHeaderAndSource };

struct CSource {
  std::string header;
  std::string source;  // empty: the array is in the header
};

// `name` is a C identifier, which all names begin with. `inputs` and `outputs` have the names and scales that a .pte
// does not have; they may be empty. Errors: a file that is not a program, or one whose memory is not known (a delegate
// of another backend).
//   Example: a program of 8,640 bytes, whose input is int8
//     #define DIGITS_PROGRAM_BYTES 8640
//     #define DIGITS_SCRATCH_BYTES 5536
//     #define DIGITS_INPUT_0_SCALE 0.0802f
//     static const uint8_t digits_program[8640] __attribute__((aligned(16))) = {0x1c, 0x00, ...
Result<CSource> c_source(const Buffer& program, const std::string& name, std::span<const results::PortReport> inputs,
                         std::span<const results::PortReport> outputs, CFiles files);

// Returns a C identifier from the name of a file: "my-model.v2" gives "my_model_v2".
std::string c_identifier(const std::string& file_name);

}  // namespace carina::inspect
