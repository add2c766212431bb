// The resource variables of a LiteRT file: CALL_ONCE, VAR_HANDLE, READ_VARIABLE and ASSIGN_VARIABLE.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "carina/result.h"
#include "frontend/tflite/kernels/kernels.h"
#include "frontend/tflite/model.h"

namespace carina::execute {

bool acts_on_variables(const tflite::Operator& op);

// Variables keep their value from run to run. One has the size of what was assigned last.
class TfliteVariables {
 public:
  // Errors: a graph of CALL_ONCE that does not exist, or does more than assign constants to variables.
  static Result<void> check(const tflite::Model& model, const std::string& where);

  // Runs one operator of the main graph for which acts_on_variables(). CALL_ONCE does nothing from the second time on.
  // Errors: a tensor that is no handle; a variable that nothing has assigned yet; a value of another size.
  Result<void> run(const tflite::Model& model, const tflite::Operator& op, const tflite::TensorBytes& tensors,
                   const std::string& where);

 private:
  Result<void> initialize(const tflite::Model& model, const tflite::Operator& call, const std::string& where);

  std::map<std::string, std::vector<std::byte>> values_;
  std::map<int32_t, std::string> handles_;  // by tensor of the main graph
  std::vector<int32_t> initialized_;        // graphs that CALL_ONCE has run
};

}  // namespace carina::execute
