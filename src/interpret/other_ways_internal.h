#pragma once

#include <span>
#include <vector>

#include "interpret/interpreter.h"

// Development checks (base/dev_checks.h): a graph gives the same bits in every way to run it.
namespace carina::interpret {

// The options of the other ways to run a module whose results must equal those of `options`: plain loops without
// fusion, and another number of threads. Empty if the module is too large to be run again in every test.
std::vector<Options> other_ways(const ir::Module& module, const Options& options);

// Throws InternalError if outputs of two ways to run a module differ. A NaN equals every NaN.
void check_same_outputs(const ir::Graph& graph, std::span<const Tensor> outputs, const Options& options,
                        std::span<const Tensor> other, const Options& other_options);

}  // namespace carina::interpret
