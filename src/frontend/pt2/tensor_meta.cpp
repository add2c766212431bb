#include "frontend/pt2/tensor_meta_internal.h"

#include <fmt/format.h>

#include <array>

#include "base/checked_math.h"

namespace carina::pt2 {

namespace {

struct ScalarTypeRow {
  int64_t number;
  std::string_view name;  // name in torch
  DType dtype;            // empty: not supported
};
constexpr std::array kScalarTypes = {
    ScalarTypeRow{1, "uint8", DType::kUInt8},
    ScalarTypeRow{2, "int8", DType::kInt8},
    ScalarTypeRow{3, "int16", DType::kInt16},
    ScalarTypeRow{4, "int32", DType::kInt32},
    ScalarTypeRow{5, "int64", DType::kInt64},
    ScalarTypeRow{6, "float16", DType::kFp16},
    ScalarTypeRow{7, "float32", DType::kFp32},
    ScalarTypeRow{8, "float64", DType::kFp64},
    ScalarTypeRow{9, "complex32", DType::kUnknown},
    ScalarTypeRow{10, "complex64", DType::kUnknown},
    ScalarTypeRow{11, "complex128", DType::kUnknown},
    ScalarTypeRow{12, "bool", DType::kBool},
    ScalarTypeRow{13, "bfloat16", DType::kBf16},
    ScalarTypeRow{28, "uint16", DType::kUInt16},
    ScalarTypeRow{29, "float8_e4m3fn", DType::kFp8E4M3},
    ScalarTypeRow{30, "float8_e5m2", DType::kFp8E5M2},
    ScalarTypeRow{31, "float8_e4m3fnuz", DType::kUnknown},
    ScalarTypeRow{32, "float8_e5m2fnuz", DType::kUnknown},
    ScalarTypeRow{33, "float8_e8m0fnu", DType::kFp8UE8M0},
    ScalarTypeRow{34, "uint32", DType::kUInt32},
    ScalarTypeRow{35, "uint64", DType::kUnknown},
};

// A larger tensor is a mistake in the file. With this limit, the products below cannot overflow.
constexpr int64_t kMaxTensorBytes = int64_t{1} << 40;
// The limit for a strided constant that is copied to a dense one. It exceeds its storage only if it repeats elements.
constexpr size_t kMaxDenseBytes = size_t{1} << 28;

constexpr int64_t kStrided = 7;
constexpr std::array<std::string_view, 7> kSparseLayouts = {"unknown",    "sparse_coo", "sparse_csr", "sparse_csc",
                                                            "sparse_bsr", "sparse_bsc", "mkldnn"};

Result<std::vector<int64_t>> read_sizes(JsonView list, Symbols& symbols, const std::string& where) {
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::optional<int64_t> size = symbols.integer(list[i]);
    if (!size)
      return fail({.where = where,
                   .what = "a size depends on the data",
                   .hint =
                       "only sizes that are fixed, or known from the example input, are supported; instead of a bool "
                       "mask as an index, give the positions (x[:, torch.tensor([0, 2])]), or use torch.where"});
    sizes.push_back(*size);
  }
  return sizes;
}

Result<void> check_sizes(std::span<const int64_t> sizes, DType dtype, const std::string& where) {
  if (sizes.size() > Shape::kMaxRank) {
    return fail({.where = where,
                 .what = "too many dimensions",
                 .expected = fmt::format("at most {}", Shape::kMaxRank),
                 .got = std::to_string(sizes.size())});
  }
  int64_t bytes = static_cast<int64_t>(element_bytes(dtype));
  for (const int64_t size : sizes) {
    const std::optional<int64_t> product = size < 0 ? std::nullopt : checked_mul(bytes, std::max<int64_t>(size, 1));
    if (!product || *product > kMaxTensorBytes) {
      return fail({.where = where,
                   .what = "the tensor's shape is not possible",
                   .got = fmt::format("[{}]", fmt::join(sizes, ","))});
    }
    bytes = *product;
  }
  return {};
}

bool is_dense(const TensorMeta& meta) {
  int64_t expected = 1;
  for (size_t axis = meta.shape.rank(); axis-- > 0;) {
    if (meta.shape[axis] != 1 && meta.strides[axis] != expected) return false;
    expected *= meta.shape[axis];
  }
  return true;
}

// The number of elements between the tensor's first and last element in the storage, inclusive. Returns no value if it
// overflows.
std::optional<int64_t> reach_of(const TensorMeta& meta) {
  int64_t last = meta.storage_offset;
  for (size_t axis = 0; axis < meta.shape.rank(); ++axis) {
    const auto step = checked_mul(meta.shape[axis] - 1, meta.strides[axis]);
    const auto next = step && meta.strides[axis] >= 0 ? checked_add(last, *step) : std::nullopt;
    if (!next) return std::nullopt;
    last = *next;
  }
  return checked_add(last, int64_t{1});
}

// Copies the elements of a strided tensor in row-major order. The storage has been checked to contain them all.
Tensor gather(const TensorMeta& meta, const Buffer& storage) {
  MutableTensor dense(meta.dtype, meta.shape);
  const size_t bytes = element_bytes(meta.dtype);
  std::array<int64_t, Shape::kMaxRank> index{};
  std::byte* out = dense.bytes().data();
  int64_t at = meta.storage_offset;
  for (int64_t left = meta.shape.elements(); left > 0; --left) {
    std::memcpy(out, storage.data() + static_cast<size_t>(at) * bytes, bytes);
    out += bytes;
    for (size_t axis = meta.shape.rank(); axis-- > 0;) {
      at += meta.strides[axis];
      if (++index[axis] < meta.shape[axis]) break;
      at -= meta.strides[axis] * meta.shape[axis];
      index[axis] = 0;
    }
  }
  return std::move(dense).freeze();
}

Result<Tensor> tensor_in(const TensorMeta& meta, const Buffer& storage, const std::string& where) {
  if (meta.shape.elements() == 0) return Tensor{.dtype = meta.dtype, .shape = meta.shape, .data = {}};
  if (storage.size() == 0) {
    return fail({.where = where,
                 .what = "the weights are missing: the model was exported with fake tensors",
                 .hint = "export a model that holds its real weights"});
  }
  const size_t bytes = element_bytes(meta.dtype);
  const std::optional<int64_t> reach = meta.storage_offset < 0 ? std::nullopt : reach_of(meta);
  if (!reach || static_cast<uint64_t>(*reach) > storage.size() / bytes) {
    return fail(
        {.where = where,
         .what = "the tensor reaches past the end of its stored bytes",
         .expected = reach ? fmt::format("{} elements of {} bytes", *reach, bytes) : "a possible offset and strides",
         .got = fmt::format("{} bytes", storage.size())});
  }
  const Buffer dense = storage.slice(static_cast<size_t>(meta.storage_offset) * bytes,
                                     storage.size() - static_cast<size_t>(meta.storage_offset) * bytes);
  const bool aligned = reinterpret_cast<uintptr_t>(dense.data()) % bytes == 0;
  if (is_dense(meta) && aligned)
    return Tensor{
        .dtype = meta.dtype, .shape = meta.shape, .data = dense.slice(0, tensor_bytes(meta.dtype, meta.shape))};
  if (tensor_bytes(meta.dtype, meta.shape) > std::max(kMaxDenseBytes, storage.size())) {
    return fail({.where = where,
                 .what = "the tensor repeats its elements too often",
                 .got = to_string(meta.shape),
                 .hint = "store it without expanding, and expand it in forward()"});
  }
  return gather(meta, storage);
}

}  // namespace

std::optional<DType> dtype_of_scalar_type(int64_t number) {
  for (const ScalarTypeRow& row : kScalarTypes) {
    if (row.number == number && row.dtype != DType::kUnknown) return row.dtype;
  }
  return std::nullopt;
}

std::string scalar_type_name(int64_t number) {
  for (const ScalarTypeRow& row : kScalarTypes) {
    if (row.number == number) return std::string(row.name);
  }
  return fmt::format("scalar type {}", number);
}

std::optional<int64_t> c10_layout(int64_t number) {
  if (number == kStrided) return 0;
  return std::nullopt;
}

std::optional<int64_t> c10_memory_format(int64_t number) {
  constexpr std::array<int64_t, 4> kC10 = {0, 2, 3, 1};  // contiguous, channels_last, channels_last_3d, preserve
  if (number < 1 || number > 4) return std::nullopt;
  return kC10[static_cast<size_t>(number - 1)];
}

std::optional<int64_t> Symbols::integer(JsonView sym) {
  const auto [kind, value] = sym.alternative();
  if (kind == "as_int") return value.integer();
  if (kind != "as_expr") {
    sym.complain("as_int or as_expr");
    return 0;
  }
  const JsonView hint = value.optional("hint");
  if (!hint) return std::nullopt;
  const int64_t example = hint["as_int"].integer();
  // An expression such as Symbol('s77', positive=True, integer=True). Sums and products of symbols are derived from
  // them.
  const std::string_view expression = value["expr_str"].text();
  constexpr std::string_view kSymbol = "Symbol('";
  if (expression.starts_with(kSymbol)) {
    const std::string_view rest = expression.substr(kSymbol.size());
    values_.emplace(std::string(rest.substr(0, rest.find('\''))), example);
  } else {
    values_.emplace(std::string(expression), example);
  }
  return example;
}

std::string Symbols::summary() const {
  std::string text;
  for (const auto& [name, value] : values_) {
    if (name.contains('(')) continue;
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, value);
  }
  return text;
}

Result<TensorMeta> read_tensor_meta(JsonView json, Symbols& symbols, const std::string& where) {
  const int64_t scalar_type = json["dtype"].integer();
  const std::optional<DType> dtype = dtype_of_scalar_type(scalar_type);
  if (!dtype && json["dtype"]) {
    return fail(
        {.where = where, .what = fmt::format("tensors of type {} are not supported", scalar_type_name(scalar_type))});
  }
  const int64_t layout = json["layout"].integer();
  if (layout != kStrided) {
    const std::string name = layout >= 0 && layout < kStrided ? std::string(kSparseLayouts[static_cast<size_t>(layout)])
                                                              : std::to_string(layout);
    return fail({.where = where,
                 .what = fmt::format("tensors of layout {} are not supported", name),
                 .expected = "strided (dense)"});
  }
  CARINA_TRY(const std::vector<int64_t> sizes, read_sizes(json["sizes"], symbols, where));
  CARINA_TRY(std::vector<int64_t> strides, read_sizes(json["strides"], symbols, where));
  CARINA_CHECKED(check_sizes(sizes, dtype.value_or(DType::kInt8), where));
  if (strides.size() != sizes.size())
    return fail({.where = where, .what = "the tensor has not as many strides as dimensions"});
  const std::optional<int64_t> offset = symbols.integer(json["storage_offset"]);
  return TensorMeta{.dtype = dtype.value_or(DType::kInt8),
                    .shape = Shape(sizes),
                    .strides = std::move(strides),
                    .storage_offset = offset.value_or(-1)};
}

Result<Tensor> read_stored_tensor(Archive& archive, Store store, JsonView config, std::string_view fqn,
                                  Symbols& symbols) {
  const std::string where = fmt::format("{}: {}", archive.where(), fqn);
  const JsonView payload = config["config"].optional(fqn);
  if (!payload)
    return fail({.where = where,
                 .what = "the archive does not hold this tensor",
                 .hint = "the file is incomplete: save the model again"});
  if (payload["use_pickle"].boolean()) {
    return fail({.where = where,
                 .what = "the tensor is stored as a pickle: it is a tensor subclass, which is not supported",
                 .hint = "export a model of plain tensors (for quantized weights: use convert_pt2e)"});
  }
  CARINA_TRY(const TensorMeta meta, read_tensor_meta(payload["tensor_meta"], symbols, where));
  CARINA_TRY(const Buffer storage, archive.read_storage(store, payload["path_name"].text()));
  if (const auto& wrong = config.errors().first) return fail(*wrong);
  return tensor_in(meta, storage, where);
}

}  // namespace carina::pt2
