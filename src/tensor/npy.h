#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/result.h"
#include "carina/tensor.h"

namespace carina {

// Reads NumPy's .npy format 1.0 to 3.0: little-endian numbers, bool and raw bits of 1 or 2 bytes (read as uint8,
// uint16), C or Fortran order (made C). Byte strings '|S<n>' of shape () become uint8 tensors of shape [n]. `where` is
// what messages call the data. Errors: other dtypes (pickled objects included), a shape that does not match the data.
Result<Tensor> read_npy(const Buffer& file, const std::string& where);

// What the header of an .npy says.
struct NpyLayout {
  DType dtype = DType::kUnknown;
  Shape shape = {};
  size_t data_offset = 0;
  bool column_major = false;
};
// `head`: the start of the file, with all of the header; the file has `file_bytes`. Errors: as of read_npy().
inline constexpr size_t kNpyHeadBytes = (size_t{1} << 16) + 12;  // of headers that NumPy writes: a few hundred
Result<NpyLayout> npy_layout(std::span<const std::byte> head, size_t file_bytes, const std::string& where);
// An array that is no tensor: pickled objects, text.
bool is_npy_of_other_kind(std::span<const std::byte> head);

// The array that an entry of an .npz holds: "x" of "x.npy".
std::string name_in_npz(const std::string& entry);

// Reads all arrays of an .npz that read_npy() understands; arrays of pickled objects (Vela's quantization)
// and of text (labels) are left out and named in `skipped`.
struct NpzContent {
  std::map<std::string, Tensor> arrays;  // without the ".npy" of their names
  std::vector<std::string> skipped;
};
// `max_inflated_bytes` bounds what compressed arrays together unpack to: more is refused before it is allocated.
inline constexpr size_t kMaxInflatedBytes = size_t{4} << 30;
Result<NpzContent> read_npz(const Buffer& file, const std::string& where,
                            size_t max_inflated_bytes = kMaxInflatedBytes);

// The bytes of an .npy file 1.0. int4 is written as int8, int48 and shape as int64, bf16 as uint16 and fp8 as uint8
// (NumPy has no such types).
std::vector<std::byte> npy_bytes(const Tensor& tensor);
Result<std::vector<std::byte>> npz_bytes(const std::map<std::string, Tensor>& arrays);

}  // namespace carina
