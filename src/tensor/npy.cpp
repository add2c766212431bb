#include "tensor/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>
#include <optional>
#include <string_view>

#include "base/checked_math.h"
#include "base/io/zip.h"

namespace carina {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";

struct Descriptor {
  std::string_view name;
  DType dtype;
};
constexpr Descriptor kDescriptors[] = {
    {"|b1", DType::kBool},
    {"|i1", DType::kInt8},
    {"|u1", DType::kUInt8},
    {"<i2", DType::kInt16},
    {"<u2", DType::kUInt16},
    {"<i4", DType::kInt32},
    {"<u4", DType::kUInt32},
    {"<i8", DType::kInt64},
    {"<f2", DType::kFp16},
    {"<f4", DType::kFp32},
    {"<f8", DType::kFp64},
    {"<V2", DType::kUInt16},
    // raw data: ml_dtypes saves bf16 and fp8 in this form
    {"|V2", DType::kUInt16},
    {"<V1", DType::kUInt8},
    {"|V1", DType::kUInt8},
};

std::string_view descriptor_of(DType dtype) {
  switch (dtype) {
    case DType::kInt4:
      return "|i1";
    case DType::kInt48:
    case DType::kShape:
      return "<i8";
    case DType::kBf16:
      return "<u2";
    case DType::kFp8E4M3:
    case DType::kFp8E5M2:
    case DType::kFp6E2M3:
    case DType::kFp6E3M2:
    case DType::kFp4E2M1:
    case DType::kFp8UE8M0:
      return "|u1";
    default:
      break;
  }
  for (const Descriptor& d : kDescriptors) {
    if (d.dtype == dtype) return d.name;
  }
  CARINA_UNREACHABLE("npy dtype", dtype);
}

// The text after "'key':" in the header's Python dictionary, without leading blanks.
std::optional<std::string_view> value_of(std::string_view header, std::string_view key) {
  const std::string quoted = fmt::format("'{}'", key);
  size_t at = header.find(quoted);
  if (at == std::string_view::npos) return std::nullopt;
  at = header.find(':', at + quoted.size());
  if (at == std::string_view::npos) return std::nullopt;
  at = header.find_first_not_of(' ', at + 1);
  if (at == std::string_view::npos) return std::nullopt;
  return header.substr(at);
}

std::optional<std::string_view> quoted_value(std::string_view header, std::string_view key) {
  const auto text = value_of(header, key);
  if (!text || text->front() != '\'') return std::nullopt;
  const size_t end = text->find('\'', 1);
  if (end == std::string_view::npos) return std::nullopt;
  return text->substr(1, end - 1);
}

std::optional<std::vector<int64_t>> tuple_value(std::string_view header, std::string_view key) {
  const auto text = value_of(header, key);
  if (!text || text->front() != '(') return std::nullopt;
  std::vector<int64_t> dims;
  const char* at = text->data() + 1;
  const char* const end = text->data() + text->size();
  while (at < end && *at != ')') {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    int64_t dim = 0;
    const auto [next, error] = std::from_chars(at, end, dim);
    if (error != std::errc() || dim < 0 || dims.size() == Shape::kMaxRank) return std::nullopt;
    dims.push_back(dim);
    at = next;
  }
  if (at == end) return std::nullopt;
  return dims;
}

struct Header {
  std::string_view text;
  size_t data_offset;
};

std::optional<Header> find_header(std::span<const std::byte> file) {
  if (file.size() < 12 || std::memcmp(file.data(), kMagic.data(), kMagic.size()) != 0) return std::nullopt;
  const auto major = static_cast<uint8_t>(file[6]);
  if (major < 1 || major > 3) return std::nullopt;
  size_t length = static_cast<size_t>(file[8]) | static_cast<size_t>(file[9]) << 8;
  const size_t start = major == 1 ? 10 : 12;
  if (major > 1) length |= static_cast<size_t>(file[10]) << 16 | static_cast<size_t>(file[11]) << 24;
  if (length > file.size() - start) return std::nullopt;
  return Header{.text = {reinterpret_cast<const char*>(file.data()) + start, length}, .data_offset = start + length};
}

// Converts column-major data to row-major.
Tensor to_row_major(const Tensor& column_major) {
  const Shape& shape = column_major.shape;
  const size_t bytes = element_bytes(column_major.dtype);
  MutableTensor out(column_major.dtype, shape);
  std::vector<int64_t> index(shape.rank(), 0);
  for (int64_t to = 0; to < shape.elements(); ++to) {
    int64_t from = 0;
    for (size_t axis = shape.rank(); axis-- > 0;) from = from * shape[axis] + index[axis];
    std::memcpy(out.bytes().data() + static_cast<size_t>(to) * bytes,
                column_major.data.data() + static_cast<size_t>(from) * bytes, bytes);
    for (size_t axis = shape.rank(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
  return std::move(out).freeze();
}

}  // namespace

bool is_npy_of_other_kind(std::span<const std::byte> head) {
  const auto header = find_header(head);
  const auto descriptor = header ? quoted_value(header->text, "descr") : std::nullopt;
  return descriptor && (descriptor->starts_with("|O") || descriptor->starts_with("<U"));
}

Result<NpyLayout> npy_layout(std::span<const std::byte> head, size_t file_bytes, const std::string& where) {
  const auto header = find_header(head);
  if (!header) return fail({.where = where, .what = "not an .npy file", .expected = "NumPy format 1.0 to 3.0"});
  const auto descriptor = quoted_value(header->text, "descr");
  const auto dims = tuple_value(header->text, "shape");
  const auto order = value_of(header->text, "fortran_order");
  const bool column_major = order && order->starts_with("True");
  if (!descriptor || !dims || !order || (!column_major && !order->starts_with("False")))
    return fail({.where = where, .what = "the .npy header is damaged or of a structured or object type"});
  const size_t data_bytes = file_bytes - header->data_offset;
  NpyLayout layout{.data_offset = header->data_offset, .column_major = column_major && dims->size() > 1};
  if (descriptor->starts_with("|S")) {
    int64_t length = 0;
    std::from_chars(descriptor->data() + 2, descriptor->data() + descriptor->size(), length);
    if (!dims->empty() || length < 0 || static_cast<size_t>(length) > data_bytes) {
      return fail({.where = where, .what = "a byte string must be a scalar that lies inside the file"});
    }
    layout.dtype = DType::kUInt8;
    layout.shape = {length};
    return layout;
  }
  const auto* const d = std::ranges::find(kDescriptors, *descriptor, &Descriptor::name);
  if (d == std::end(kDescriptors))
    return fail({.where = where,
                 .what = "unsupported .npy dtype",
                 .expected = "a little-endian number, bool or byte string",
                 .got = std::string(*descriptor)});
  const auto elements = checked_product(*dims);
  const auto bytes =
      elements ? checked_mul<int64_t>(*elements, static_cast<int64_t>(element_bytes(d->dtype))) : std::nullopt;
  if (!bytes || static_cast<uint64_t>(*bytes) > data_bytes) {
    return fail({.where = where,
                 .what = "the data is shorter than its shape says",
                 .expected = bytes ? fmt::format("{} bytes", *bytes) : "a size that fits",
                 .got = fmt::format("{}", data_bytes)});
  }
  layout.dtype = d->dtype;
  layout.shape = Shape(*dims);
  return layout;
}

std::string name_in_npz(const std::string& entry) {
  return entry.ends_with(".npy") ? entry.substr(0, entry.size() - 4) : entry;
}

Result<Tensor> read_npy(const Buffer& file, const std::string& where) {
  CARINA_TRY(const NpyLayout layout, npy_layout(file.bytes(), file.size(), where));
  const size_t bytes = tensor_bytes(layout.dtype, layout.shape);
  // Copied if necessary, because an entry of an archive may not be aligned for its type. Single bytes are always
  // aligned.
  Buffer data = file.slice(layout.data_offset, bytes);
  if (element_bytes(layout.dtype) > 1) data = Buffer::copy_of(data.bytes());
  const Tensor tensor{.dtype = layout.dtype, .shape = layout.shape, .data = std::move(data)};
  return layout.column_major ? to_row_major(tensor) : tensor;
}

Result<NpzContent> read_npz(const Buffer& file, const std::string& where, size_t max_inflated_bytes) {
  CARINA_TRY(const ZipReader zip, ZipReader::open(file, where));
  if (zip.inflated_bytes() > max_inflated_bytes) {
    return fail({.where = where,
                 .what = "the arrays unpack to more memory than is allowed",
                 .expected = fmt::format("at most {} bytes", max_inflated_bytes),
                 .got = std::to_string(zip.inflated_bytes()),
                 .hint = "np.savez writes them without compression"});
  }
  NpzContent content;
  for (const std::string& entry : zip.names()) {
    const std::string name = name_in_npz(entry);
    CARINA_TRY(const Buffer bytes, zip.read(entry));
    if (is_npy_of_other_kind(bytes.bytes())) {
      content.skipped.push_back(name);
      continue;
    }
    CARINA_TRY(Tensor tensor, read_npy(bytes, where + ":" + entry));
    if (content.arrays.emplace(name, std::move(tensor)).second) content.order.push_back(name);
  }
  return content;
}

namespace {

// Returns the header of an .npy file.
std::vector<std::byte> npy_header(const Tensor& tensor) {
  std::string shape;
  for (const int64_t dim : tensor.shape.dims()) shape += fmt::format("{}, ", dim);
  if (tensor.shape.rank() > 1) shape.resize(shape.size() - 2);
  if (tensor.shape.rank() == 1) shape.resize(shape.size() - 1);
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descriptor_of(tensor.dtype), shape);
  header.resize(round_up<size_t>(10 + header.size() + 1, 64) - 10 - 1, ' ');
  header += '\n';
  std::vector<std::byte> out(10 + header.size());
  std::memcpy(out.data(), kMagic.data(), kMagic.size());
  out[6] = std::byte{1};
  out[7] = std::byte{0};
  out[8] = static_cast<std::byte>(header.size() & 0xFF);
  out[9] = static_cast<std::byte>(header.size() >> 8);
  std::memcpy(out.data() + 10, header.data(), header.size());
  return out;
}

}  // namespace

std::vector<std::byte> npy_bytes(const Tensor& tensor) {
  std::vector<std::byte> out = npy_header(tensor);
  out.reserve(out.size() + tensor.data.size());
  out.insert(out.end(), tensor.data.bytes().begin(), tensor.data.bytes().end());
  return out;
}

Result<std::vector<std::byte>> npz_bytes(const std::map<std::string, Tensor>& arrays) {
  std::vector<std::vector<std::byte>> headers;
  std::vector<ZipEntry> entries;
  headers.reserve(arrays.size());
  for (const auto& [name, tensor] : arrays) {
    headers.push_back(npy_header(tensor));
    entries.push_back({.name = name + ".npy", .data = headers.back(), .rest = tensor.data.bytes()});
  }
  return write_zip(entries);
}

}  // namespace carina
