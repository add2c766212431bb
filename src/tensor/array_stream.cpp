#include "tensor/array_stream.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/io/zip.h"
#include "tensor/npy.h"

namespace carina {

namespace {

Result<std::vector<std::byte>> head_of(ByteStream& npy) {
  constexpr size_t kUsual = 1024;
  std::vector<std::byte> head(std::min(npy.size(), kUsual));
  CARINA_CHECKED(npy.read(0, head));
  const bool is_longer = !npy_layout(head, npy.size(), npy.where()) && npy.size() > kUsual;
  if (!is_longer) return head;
  head.resize(std::min(npy.size(), kNpyHeadBytes));
  CARINA_CHECKED(npy.read(0, head));
  return head;
}

}  // namespace

Result<ArrayStream> ArrayStream::open(ByteStream npy) {
  CARINA_TRY(const std::vector<std::byte> head, head_of(npy));
  return open(std::move(npy), head);
}

Result<ArrayStream> ArrayStream::open(ByteStream npy, std::span<const std::byte> head) {
  CARINA_TRY(const NpyLayout layout, npy_layout(head, npy.size(), npy.where()));
  ArrayStream stream(std::move(npy), layout.dtype, layout.shape, layout.data_offset);
  if (!layout.column_major) return stream;
  MutableBuffer all = MutableBuffer::allocate(stream.npy_.size());
  CARINA_CHECKED(stream.npy_.read(0, all.bytes()));
  CARINA_TRY(stream.whole_, read_npy(std::move(all).freeze(), stream.npy_.where()));
  return stream;
}

Result<Tensor> ArrayStream::read(int64_t first, const Shape& shape) {
  const size_t begin = static_cast<size_t>(first) * element_bytes(dtype_), bytes = tensor_bytes(dtype_, shape);
  if (whole_) return Tensor{.dtype = dtype_, .shape = shape, .data = whole_->data.slice(begin, bytes)};
  MutableTensor part(dtype_, shape);
  CARINA_CHECKED(npy_.read(data_offset_ + begin, part.bytes()));
  return std::move(part).freeze();
}

Result<std::map<std::string, ArrayStream>> open_npz(const Buffer& file, const std::string& where) {
  CARINA_TRY(const ZipReader zip, ZipReader::open(file, where));
  std::map<std::string, ArrayStream> arrays;
  for (const std::string& entry : zip.names()) {
    CARINA_TRY(ByteStream npy, zip.stream(entry));
    CARINA_TRY(const std::vector<std::byte> head, head_of(npy));
    if (is_npy_of_other_kind(head)) continue;
    CARINA_TRY(ArrayStream array, ArrayStream::open(std::move(npy), head));
    arrays.emplace(name_in_npz(entry), std::move(array));
  }
  return arrays;
}

}  // namespace carina
