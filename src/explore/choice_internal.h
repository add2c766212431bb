#pragma once

#include <string>

#include "carina/compile_report.h"
#include "carina/result.h"
#include "driver/compile.h"
#include "driver/prepared_model.h"

namespace carina::explore {

// A model compiled with other options, for its figures.
struct Choice {
  std::string what;
  std::string options;
  driver::CompileRequest request;
  bool quantizes_anew = false;  // if set, `request` has the new quantization
};

// Returns a request for choices: it writes nothing but the program, in one thread.
Result<driver::CompileRequest> plain_request(const driver::CompileRequest& given);

// Compiles a choice, unchecked, as the program is not used. `model` is the request's model, quantized.
Result<results::CompileReport> compile_choice(const Choice& choice, const driver::PreparedModel& model);

}  // namespace carina::explore
