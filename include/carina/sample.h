// Defines the inputs and outputs of a network as tensors with names and types.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "carina/tensor.h"

namespace carina::datasets {

using Sample = std::vector<Tensor>;  // one tensor per graph input, in order

// The name, type and shape of a network's input.
struct InputType {
  std::string name;
  DType dtype = DType::kUnknown;
  Shape shape;
  // The value of an input that is an int, double or bool, as a tensor without axes. torch.export fixes such values.
  std::optional<Tensor> number = std::nullopt;
  // Whether `shape` is an upper bound: an array may be smaller along each axis.
  bool is_upper_bound = false;
};

// An input or an output with its name.
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

}  // namespace carina::datasets
