// Reads what a program takes, what it returns, and for which accelerator it was compiled.
#pragma once

#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/result.h"
#include "datasets/samples.h"

namespace carina::inspect {

struct ProgramSignature {
  std::vector<datasets::InputType> inputs;   // input_0, input_1 ...: a .pte has no names
  std::vector<datasets::InputType> outputs;  // output_0 ...
  std::string target;                        // an NPU's name, "vgf", "tosa"; empty: no delegate, or an unknown one
};

// Returns the signature of the method "forward" of a .pte or .bpte, else of the first. `where` names the file in
// messages. Errors: those of the readers.
//   Example: models/digits: input_0 fp32 [1,1,8,8], output_0 fp32 [1,10], and the name of the NPU
Result<ProgramSignature> signature_of(const Buffer& file, const std::string& where);

}  // namespace carina::inspect
