#include <cstring>

#include "runtime/backends/npu_copy_internal.h"

namespace carina::runtime {

namespace {

Error check_memory(const EValue& argument, const NpuTensor& tensor) {
  if (!argument.is_tensor()) return Error::kInvalidArgument;
  if (argument.tensor.data == nullptr && argument.tensor.bytes() > 0) return Error::kInvalidArgument;
  return element_bytes(argument.tensor.type) == static_cast<size_t>(tensor.element_bytes) ? Error::kOk
                                                                                          : Error::kInvalidArgument;
}

size_t rows_of(const Tensor& tensor) {
  size_t rows = 1;
  for (size_t i = 0; i + 1 < tensor.rank(); ++i) rows *= static_cast<size_t>(tensor.sizes()[i]);
  return rows;
}

bool has_int4(const Tensor& argument, const NpuTensor& tensor) {
  return tensor.element_bytes == 1 && argument.bytes() > 0 && (argument.bytes() + 1) / 2 == tensor.bytes;
}

}  // namespace

Error check_npu_input(const EValue& argument, const NpuTensor& tensor) {
  CARINA_RT_TRY(check_memory(argument, tensor));
  return argument.tensor.bytes() == tensor.bytes ? Error::kOk : Error::kInvalidArgument;
}

Error check_npu_output(const EValue& argument, const NpuTensor& tensor) {
  CARINA_RT_TRY(check_memory(argument, tensor));
  if (argument.tensor.read_only) return Error::kInvalidArgument;
  if (argument.tensor.bytes() == tensor.bytes || has_int4(argument.tensor, tensor)) return Error::kOk;
  const size_t rows = rows_of(argument.tensor);
  const bool padded_rows = argument.tensor.bytes() < tensor.bytes && rows > 0 && tensor.bytes % rows == 0;
  return padded_rows ? Error::kOk : Error::kInvalidArgument;
}

void copy_npu_input(const EValue& argument, const NpuTensor& tensor, std::byte* scratch) {
  std::byte* const to = scratch + tensor.offset;
  if (tensor.bytes > 0 && argument.tensor.data != to) std::memcpy(to, argument.tensor.data, tensor.bytes);
}

void copy_npu_output(const EValue& argument, const NpuTensor& tensor, const std::byte* scratch) {
  const Tensor& out = argument.tensor;
  const std::byte* source = scratch + tensor.offset;
  if (out.bytes() == 0 || out.data == source) return;
  if (out.bytes() == tensor.bytes) {
    std::memmove(out.data, source, out.bytes());  // a state may be moved by less than its size
  } else if (has_int4(out, tensor)) {
    for (size_t i = 0; i < out.bytes(); ++i) {
      const int nibble = std::to_integer<int>(source[i / 2]) >> (i % 2 == 0 ? 0 : 4) & 15;
      out.as<int8_t>()[i] = static_cast<int8_t>(nibble >= 8 ? nibble - 16 : nibble);
    }
  } else {
    const size_t rows = rows_of(out);
    for (size_t row = 0; row < rows; ++row)
      std::memcpy(out.as<std::byte>() + row * (out.bytes() / rows), source + row * (tensor.bytes / rows),
                  out.bytes() / rows);
  }
}

}  // namespace carina::runtime
