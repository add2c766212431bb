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
  std::vector<std::string> methods = {};     // of the program, in order
  std::string method = {};                   // the one with these inputs and outputs
  std::string target;                        // an NPU's name, "vgf", "tosa"; empty: no delegate, or an unknown one
};

// Returns the signature of a method of a .pte or .bpte; an empty name: "forward", else the first. `where` names the
// file in messages. Errors: those of the readers; no method of this name (usage).
//   Example: models/digits: input_0 fp32 [1,1,8,8], output_0 fp32 [1,10], and the name of the NPU
Result<ProgramSignature> signature_of(const Buffer& file, const std::string& where, const std::string& method = {});

}  // namespace carina::inspect
