// Declares samples and the types of a network's inputs.
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

// The name, type and shape of a network's input.
struct InputType {
  std::string name;
  DType dtype = DType::kUnknown;
  Shape shape;
  // The value of an input that is an int, double or bool, as a tensor without axes. torch.export fixes such values.
  std::optional<Tensor> number = std::nullopt;
  bool is_upper_bound =
      false;  // the shape says the most that the sizes may be: an array may have fewer along each axis
};
// Whether an array of this shape is smaller than an input whose sizes may vary from run to run.
bool is_smaller(const Shape& array, const InputType& input);
std::vector<InputType> input_types(const ir::Graph& graph);

// Returns a program's inputs, given their types.
using InputSource = std::function<Result<Sample>(std::span<const InputType> inputs)>;

// Splits arrays in memory into samples by the rules of SampleReader. `where` is the arrays' name in messages.
Result<std::vector<Sample>> split_samples(const std::map<std::string, Tensor>& arrays,
                                          std::span<const InputType> inputs, const std::string& where);

// Loads all arrays of an .npz, for labels beside the inputs. Errors: the reader's.
Result<std::map<std::string, Tensor>> load_arrays(const std::string& path);

// Checks that a sample has one tensor per input, of its type and shape. Errors: it does not.
Result<void> check_sample(const Sample& sample, std::span<const InputType> inputs);

// "fp32 [1,10]"
std::string type_text(DType dtype, const Shape& shape);

}  // namespace carina::datasets
