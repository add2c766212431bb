#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "carina/buffer.h"
#include "carina/result.h"
#include "carina/tensor.h"

namespace carina {

// Reads NumPy's .npy format 1.0 to 3.0: little-endian numbers, bool, and raw data of 1 or 2 bytes (read as uint8,
// uint16), in C or Fortran order (converted to C). Byte strings '|S<n>' of shape () become uint8 tensors of shape [n].
// `where` is the data's name in messages. Errors: other dtypes, including pickled objects; a shape that does not match
// the data.
Result<Tensor> read_npy(const Buffer& file, const std::string& where);

// The contents of an .npy header.
struct NpyLayout {
  DType dtype = DType::kUnknown;
  Shape shape = {};
  size_t data_offset = 0;
  bool column_major = false;
};
// Reads the header of an .npy file of `file_bytes` bytes. `head` is the start of the file and contains the whole
// header. Errors: those of read_npy().
inline constexpr size_t kNpyHeadBytes = (size_t{1} << 16) + 12;  // NumPy writes headers of a few hundred bytes
Result<NpyLayout> npy_layout(std::span<const std::byte> head, size_t file_bytes, const std::string& where);
// Returns whether a file is an array that cannot be a tensor: pickled objects or text.
bool is_npy_of_other_kind(std::span<const std::byte> head);

// Returns the name of the array that an entry of an .npz holds: "x" for "x.npy".
std::string name_in_npz(const std::string& entry);

// Reads all arrays of an .npz that read_npy() supports. Arrays of pickled objects (Vela's quantization) and of text
// (labels) are left out and named in `skipped`.
struct NpzContent {
  std::map<std::string, Tensor> arrays;  // by name, without ".npy"
  std::vector<std::string> order;        // the names of the arrays in the order of the archive
  std::vector<std::string> skipped;
};
// `max_inflated_bytes` limits the total unpacked size of compressed arrays. More is an error before any memory is
// allocated.
inline constexpr size_t kMaxInflatedBytes = size_t{4} << 30;
Result<NpzContent> read_npz(const Buffer& file, const std::string& where,
                            size_t max_inflated_bytes = kMaxInflatedBytes);

// Returns the bytes of an .npy file 1.0. Types that NumPy does not have are converted: int4 is written as int8, int48
// and shape as int64, bf16 as uint16, and fp8 as uint8.
std::vector<std::byte> npy_bytes(const Tensor& tensor);
Result<std::vector<std::byte>> npz_bytes(const std::map<std::string, Tensor>& arrays);

}  // namespace carina
