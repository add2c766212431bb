#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "carina/buffer.h"
#include "carina/tensor.h"
#include "datasets/samples.h"

// Tensors as NumPy arrays and back, without copies where the type allows.
namespace carina::python {

namespace nb = nanobind;

// A dense array in memory of the CPU; nanobind copies one that is not dense.
using Array = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

// A view of the bytes that keeps them alive. Any thread may drop it.
Buffer buffer_of(const nb::bytes& bytes);
nb::bytes bytes_of(std::span<const std::byte> bytes);

// A view of the array's memory that keeps it alive. Raises TypeError: an element type that tensors do not have.
Tensor tensor_of(const Array& array);
datasets::Sample sample_of(const std::vector<Array>& arrays);
// A NumPy array on the tensor's memory. NumPy has no int4, int48, shape, bf16 and fp8. These become int8, int64 and
// int64, and raw bits as uint16 and uint8, as in .npy files.
nb::object array_of(const Tensor& tensor);
// NumPy's name of the type: "float32".
std::string_view numpy_name(DType dtype);

}  // namespace carina::python
