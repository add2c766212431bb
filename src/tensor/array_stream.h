#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "base/io/byte_stream.h"
#include "carina/tensor.h"

namespace carina {

// An array of an .npy or .npz file that is read part by part, since it may be larger than memory. An array in
// column-major order is read as a whole.
class ArrayStream {
 public:
  // Errors: those of read_npy().
  static Result<ArrayStream> open(ByteStream npy);
  // `head` is the start of the file and contains the whole header.
  static Result<ArrayStream> open(ByteStream npy, std::span<const std::byte> head);

  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  // Returns the elements from number `first` on as a tensor of this shape. They must lie inside the array. Errors:
  // damaged data.
  Result<Tensor> read(int64_t first, const Shape& shape);

 private:
  ArrayStream(ByteStream npy, DType dtype, const Shape& shape, size_t data_offset)
      : npy_(std::move(npy)), dtype_(dtype), shape_(shape), data_offset_(data_offset) {}

  ByteStream npy_;
  DType dtype_;
  Shape shape_;
  size_t data_offset_;
  std::optional<Tensor> whole_ = {};
};

// Opens the arrays of an .npz, by their names without ".npy". Arrays of objects and text are left out. Errors: those of
// read_npz().
Result<std::map<std::string, ArrayStream>> open_npz(const Buffer& file, const std::string& where);

}  // namespace carina
