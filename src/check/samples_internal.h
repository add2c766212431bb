#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "carina/log.h"
#include "carina/result.h"
#include "check/draw_inputs.h"
#include "interpret/interpreter.h"

namespace carina::check {

inline constexpr const char* kMoreThanAFifth =
    "the check of all takes more than a fifth of the compilation, or has more than 32 M weights; --check=full checks "
    "all";
inline constexpr const char* kMistake =
    "this is a mistake of Carina, not of your model: please report it, with the command and, if you can, the file; "
    "--check=off writes the program nevertheless";

// Inputs and the results that the model defines for them.
struct Sample {
  std::vector<Tensor> inputs;
  std::vector<Tensor> results;
};

// An input that is not drawn.
struct GivenInput {
  size_t index = 0;
  Tensor tensor;
};

// Draws inputs of a graph for which the interpreter has results. Errors: it has none for any inputs.
Result<Sample> draw_sample(const ir::Graph& tosa, interpret::Interpreter& interpreter, int sample,
                           std::span<const GivenInput> given = {});

// An interpreter of one graph. kNo: each value is computed on its own, with the fast kernels.
enum class Fusing { kYes, kNo };
Result<interpret::Interpreter> interpreter_of(ir::Graph graph, Fusing fusing, int threads);
// Likewise with plain loops, which take much longer.
Result<interpret::Interpreter> plain_interpreter_of(ir::Graph graph, int threads);

// The fast kernels of these engines have plain ones beside them.
inline constexpr const char* kInterpreter = "the interpreter";
inline constexpr const char* kSimulator = "the simulator";

// Warns that the fast kernels of an engine are wrong, and the program is not. With development checks, that is an error
// (internal), so that tests see it.
Result<void> report_fast_kernels(const char* engine, const std::string& graph, const Log& log);

// "conv2d (model.py:41)"
std::string place_of(const ir::Node& node);

}  // namespace carina::check
