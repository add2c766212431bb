#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "ir/graph.h"
#include "tensor/tensor.h"

namespace carina::datasets {

using Sample = std::vector<Tensor>;  // one tensor per graph input, in order

// What is known of a network's input: its name, type and shape.
struct InputType {
  std::string name;
  DType dtype = DType::kUnknown;
  Shape shape;
  // An input that is an int, double or bool, which exporting fixes: its value, as a tensor of no axes.
  std::optional<Tensor> number = std::nullopt;
  bool is_upper_bound =
      false;  // the shape says the most that the sizes may be: an array may have fewer along each axis
};
// Whether an array of this shape is a smaller one of an input whose sizes may differ from run to run.
bool is_smaller(const Shape& array, const InputType& input);
std::vector<InputType> input_types(const ir::Graph& graph);

// Gives a program's inputs when it is told what they are.
using InputSource = std::function<Result<Sample>(std::span<const InputType> inputs)>;

// The samples that arrays hold, by the rules of SampleReader; `where` is what messages call the arrays.
Result<std::vector<Sample>> split_samples(const std::map<std::string, Tensor>& arrays,
                                          std::span<const InputType> inputs, const std::string& where);

// The arrays of an .npz beside the inputs', for labels; Errors: as the reader's.
Result<std::map<std::string, Tensor>> load_arrays(const std::string& path);

// A sample must have one tensor per input, of its type and shape. Errors: it has not.
Result<void> check_sample(const Sample& sample, std::span<const InputType> inputs);

// "fp32 [1,10]"
std::string type_text(DType dtype, const Shape& shape);

}  // namespace carina::datasets
