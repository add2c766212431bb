// Declares samples and the types of a network's inputs.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "carina/result.h"
#include "carina/sample.h"
#include "carina/tensor.h"
#include "ir/graph.h"

namespace carina::datasets {

// Returns whether an array of this shape is smaller than an input whose sizes may vary from run to run.
bool is_smaller(const Shape& array, const InputType& input);
// The inputs that a user gives: those of the graph without its state.
std::vector<InputType> input_types(const ir::Graph& graph);

// Returns a program's inputs, given their types.
using InputSource = std::function<Result<Sample>(std::span<const InputType> inputs)>;

// Splits arrays in memory into samples by the rules of SampleReader. `where` is the arrays' name in messages.
Result<std::vector<Sample>> split_samples(const std::map<std::string, Tensor>& arrays,
                                          std::span<const InputType> inputs, const std::string& where);

// Checks that every array has the name of an input or of labels. The only input of a model may be named "x". Errors: an
// array has another name.
Result<void> check_names(const std::map<std::string, Tensor>& arrays, std::span<const InputType> inputs,
                         const std::string& where);

// Loads all arrays of an .npz, for example inputs and labels. Errors: the reader's.
Result<std::map<std::string, Tensor>> load_arrays(const std::string& path);

// Checks that a tensor's data have the bytes of its type and shape, no fewer and no more. Errors: they do not.
Result<void> check_data(const Tensor& tensor, const std::string& where);

// Checks that a sample has one tensor per input, of its type and shape, with all its data. Errors: it does not.
Result<void> check_sample(const Sample& sample, std::span<const InputType> inputs);

// "fp32 [1,10]"
std::string type_text(DType dtype, const Shape& shape);

}  // namespace carina::datasets
