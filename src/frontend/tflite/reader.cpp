#include "frontend/tflite/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/checked_math.h"
#include "frontend/tflite/read_options_internal.h"
#include "tflite_generated.h"

namespace carina::tflite {

namespace {

constexpr uint32_t kSchemaVersion = 3;
constexpr int64_t kMaxElements = int64_t{1} << 31;

struct TypeRow {
  std::string_view name;
  DType dtype;
};
// By number. Source: TensorType of the schema.
constexpr std::array kTypes{
    TypeRow{"FLOAT32", DType::kFp32},        TypeRow{"FLOAT16", DType::kFp16},
    TypeRow{"INT32", DType::kInt32},         TypeRow{"UINT8", DType::kUInt8},
    TypeRow{"INT64", DType::kInt64},         TypeRow{"STRING", DType::kUnknown},
    TypeRow{"BOOL", DType::kBool},           TypeRow{"INT16", DType::kInt16},
    TypeRow{"COMPLEX64", DType::kUnknown},   TypeRow{"INT8", DType::kInt8},
    TypeRow{"FLOAT64", DType::kFp64},        TypeRow{"COMPLEX128", DType::kUnknown},
    TypeRow{"UINT64", DType::kUnknown},      TypeRow{"RESOURCE", DType::kUnknown},
    TypeRow{"VARIANT", DType::kUnknown},     TypeRow{"UINT32", DType::kUInt32},
    TypeRow{"UINT16", DType::kUInt16},       TypeRow{"INT4", DType::kInt4},
    TypeRow{"BFLOAT16", DType::kBf16},       TypeRow{"INT2", DType::kUnknown},
    TypeRow{"UINT4", DType::kUnknown},       TypeRow{"FLOAT8_E4M3FN", DType::kFp8E4M3},
    TypeRow{"FLOAT8_E5M2", DType::kFp8E5M2},
};

struct OperatorRow {
  int32_t code;
  std::string_view name;
};
constexpr auto kOperators = std::to_array<OperatorRow>({
#define CARINA_TFLITE_OPERATOR(name, code) {code, #name},
#include "frontend/tflite/operators.def"
#undef CARINA_TFLITE_OPERATOR
});
constexpr int32_t kCustom = 32;

template <typename T>
uint32_t size_of(const T* list) {
  return list == nullptr ? 0 : list->size();
}

// An element of a verified list. FlatBuffers' verifier aligns the length of a list only, not its 64-bit elements.
int64_t element(const flatbuffers::Vector<int64_t>& list, uint32_t i) {
  int64_t value = 0;
  std::memcpy(&value, list.Data() + size_t{i} * sizeof(value), sizeof(value));
  return flatbuffers::EndianScalar(value);
}

std::string text_of(const flatbuffers::String* text) {
  return text == nullptr ? std::string() : text->str();
}

// Reads one file. A message names the part of the file.
class FileReader {
 public:
  FileReader(const Buffer& file, std::string where) : file_(file), where_(std::move(where)) {}

  Result<Model> read();

 private:
  [[nodiscard]] std::unexpected<Diagnostics> damaged(const std::string& part, std::string what) const {
    return fail({.where = part.empty() ? where_ : fmt::format("{}: {}", where_, part), .what = std::move(what)});
  }

  Result<Subgraph> read_subgraph(const fb::SubGraph& from, const std::string& part);
  Result<Tensor> read_tensor(const fb::Tensor& from, size_t index, const std::string& part);
  Result<Shape> read_shape(const fb::Tensor& from, const std::string& part) const;
  Result<TensorQuantization> read_quantization(const fb::QuantizationParameters& from, const Shape& shape,
                                               const std::string& part) const;
  Result<void> read_data(Tensor& tensor, uint32_t buffer, const std::string& part);
  Result<Buffer> stored_bytes(uint32_t buffer, const std::string& part) const;
  Result<Operator> read_operator(const fb::Operator& from, size_t tensors, const std::string& part) const;
  Result<std::vector<int32_t>> read_indices(const flatbuffers::Vector<int32_t>* from, size_t tensors, int32_t lowest,
                                            const std::string& part) const;
  Result<void> check_order(const Subgraph& graph, const std::string& part) const;
  Result<std::vector<Metadata>> read_metadata() const;

  const Buffer& file_;
  std::string where_;
  const fb::Model* model_ = nullptr;
};

Result<Shape> FileReader::read_shape(const fb::Tensor& from, const std::string& part) const {
  std::vector<int64_t> dims;
  for (uint32_t i = 0; i < size_of(from.shape()); ++i) dims.push_back(from.shape()->Get(i));
  if (dims.size() > Shape::kMaxRank) return damaged(part, fmt::format("a tensor of rank {}", dims.size()));
  int64_t elements = 1;
  for (const int64_t dim : dims) {
    if (dim < 0) return damaged(part, fmt::format("a size of {}", dim));
    if (dim != 0 && elements > kMaxElements / dim) return damaged(part, "a tensor of more than 2^31 elements");
    elements *= dim;
  }
  return Shape(dims);
}

Result<TensorQuantization> FileReader::read_quantization(const fb::QuantizationParameters& from, const Shape& shape,
                                                         const std::string& part) const {
  TensorQuantization out;
  if (from.details_type() != 0) return damaged(part, "a quantization that is not one of scales and zero points");
  const uint32_t scales = size_of(from.scale()), zero_points = size_of(from.zero_point());
  if (scales == 0) return out;
  for (uint32_t i = 0; i < scales; ++i) {
    const float scale = from.scale()->Get(i);
    if (!std::isfinite(scale) || scale < 0) return damaged(part, fmt::format("a scale of {}", scale));
    out.scales.push_back(scale);
  }
  if (zero_points != 0 && zero_points != 1 && zero_points != scales)
    return damaged(part, fmt::format("{} scales and {} zero points", scales, zero_points));
  for (uint32_t i = 0; i < scales; ++i)
    out.zero_points.push_back(zero_points == 0 ? 0 : element(*from.zero_point(), zero_points == 1 ? 0 : i));
  if (scales == 1) return out;
  // TFLM's person_detect has an axis of 3 for one-dimensional tensors. The only axis with that many indices is meant.
  const int64_t axis = from.quantized_dimension();
  const auto fits = [&](int64_t a) {
    return a >= 0 && a < static_cast<int64_t>(shape.rank()) && shape[static_cast<size_t>(a)] == scales;
  };
  if (fits(axis))
    out.axis = static_cast<size_t>(axis);
  else if (shape.rank() == 1 && fits(0))
    out.axis = 0;
  else
    return damaged(part, fmt::format("{} scales along axis {} of {}", scales, axis, to_string(shape)));
  return out;
}

// Returns the bytes of a buffer: in the FlatBuffer, or after it at an offset from the start of the file. An empty
// result is that of a tensor without data.
Result<Buffer> FileReader::stored_bytes(uint32_t buffer, const std::string& part) const {
  if (buffer >= size_of(model_->buffers()))
    return damaged(part, fmt::format("buffer {} of {}", buffer, size_of(model_->buffers())));
  const fb::Buffer& from = *model_->buffers()->Get(buffer);
  if (size_of(from.data()) != 0) {
    const auto* start = reinterpret_cast<const std::byte*>(from.data()->data());
    return file_.slice(static_cast<size_t>(start - file_.data()), from.data()->size());
  }
  if (from.size() == 0 || from.offset() <= 1) return Buffer();
  if (from.offset() > file_.size() || from.size() > file_.size() - from.offset())
    return damaged(part, fmt::format("buffer {} is outside of the file", buffer));
  return file_.slice(from.offset(), from.size());
}

// int4 elements are stored in pairs, the first one in the low half of the byte.
Buffer unpacked(const Buffer& packed, int64_t elements) {
  MutableBuffer out = MutableBuffer::allocate(static_cast<size_t>(elements));
  for (size_t i = 0; i < static_cast<size_t>(elements); ++i) {
    const int byte = std::to_integer<int>(packed.bytes()[i / 2]);
    const int half = i % 2 == 0 ? byte & 15 : byte >> 4;
    out.bytes()[i] = static_cast<std::byte>(half >= 8 ? half - 16 : half);
  }
  return std::move(out).freeze();
}

Result<void> FileReader::read_data(Tensor& tensor, uint32_t buffer, const std::string& part) {
  CARINA_TRY(Buffer bytes, stored_bytes(buffer, part));
  if (bytes.size() == 0) return {};
  tensor.is_constant = true;
  if (tensor.dtype == DType::kUnknown || tensor.is_sparse) return {};  // rejected where it is read
  const int64_t elements = tensor.shape.elements();
  const bool is_packed = tensor.dtype == DType::kInt4;
  const size_t wanted =
      is_packed ? static_cast<size_t>((elements + 1) / 2) : static_cast<size_t>(elements) * element_bytes(tensor.dtype);
  if (bytes.size() != wanted)
    return damaged(part,
                   fmt::format("{} bytes of data for {} {}", bytes.size(), tensor.type_name, to_string(tensor.shape)));
  if (is_packed)
    bytes = unpacked(bytes, elements);
  else if (reinterpret_cast<uintptr_t>(bytes.data()) % element_bytes(tensor.dtype) != 0)
    bytes = Buffer::copy_of(bytes.bytes());
  tensor.data = std::move(bytes);
  return {};
}

Result<Tensor> FileReader::read_tensor(const fb::Tensor& from, size_t index, const std::string& graph) {
  Tensor out{.name = text_of(from.name()), .type_name = {}, .shape = {}, .quantization = {}, .data = {}};
  if (out.name.empty()) out.name = fmt::format("tensor_{}", index);
  const std::string part = fmt::format("{}tensor {} {}", graph, index, out.name);
  const auto type = static_cast<size_t>(from.type());
  if (from.type() < 0 || type >= kTypes.size()) return damaged(part, fmt::format("unknown type {}", from.type()));
  out.dtype = kTypes[type].dtype;
  out.type_name = kTypes[type].name;
  out.is_variable = from.is_variable();
  out.is_sparse = from.sparsity() != nullptr;
  CARINA_TRY(out.shape, read_shape(from, part));
  out.has_open_batch = size_of(from.shape_signature()) == out.shape.rank() && out.shape.rank() != 0 &&
                       from.shape_signature()->Get(0) == -1;
  if (from.quantization() != nullptr) {
    CARINA_TRY(out.quantization, read_quantization(*from.quantization(), out.shape, part));
  }
  CARINA_CHECKED(read_data(out, from.buffer(), part));
  return out;
}

Result<std::vector<int32_t>> FileReader::read_indices(const flatbuffers::Vector<int32_t>* from, size_t tensors,
                                                      int32_t lowest, const std::string& part) const {
  std::vector<int32_t> out;
  for (uint32_t i = 0; i < size_of(from); ++i) {
    const int32_t index = from->Get(i);
    if (index < lowest || index >= static_cast<int64_t>(tensors))
      return damaged(part, fmt::format("tensor {} of {}", index, tensors));
    out.push_back(index);
  }
  return out;
}

Result<Operator> FileReader::read_operator(const fb::Operator& from, size_t tensors, const std::string& part) const {
  if (from.opcode_index() >= size_of(model_->operator_codes()))
    return damaged(part, fmt::format("operator code {} of {}", from.opcode_index(), size_of(model_->operator_codes())));
  const fb::OperatorCode& code = *model_->operator_codes()->Get(from.opcode_index());
  // Files from before 2021 have the number in a byte; later ones in both fields, where the byte ends at 127.
  Operator out{.code = std::max<int32_t>(code.deprecated_builtin_code(), code.builtin_code()),
               .version = code.version(),
               .name = {},
               .inputs = {},
               .outputs = {},
               .options = {}};
  const auto* row = std::ranges::find(kOperators, out.code, &OperatorRow::code);
  if (out.code == kCustom)
    out.name = text_of(code.custom_code());
  else
    out.name = row == kOperators.end() ? fmt::format("operator {}", out.code) : std::string(row->name);
  const std::string named = fmt::format("{} {}", part, out.name);
  CARINA_TRY(out.inputs, read_indices(from.inputs(), tensors, kAbsent, named));
  CARINA_TRY(out.outputs, read_indices(from.outputs(), tensors, 0, named));
  CARINA_TRY(out.intermediates, read_indices(from.intermediates(), tensors, 0, named));
  out.options = read_options(from);
  return out;
}

// Every operand has a value before it is read, and no tensor is written twice.
Result<void> FileReader::check_order(const Subgraph& graph, const std::string& part) const {
  std::vector<bool> known(graph.tensors.size()), written(graph.tensors.size());
  for (size_t i = 0; i < graph.tensors.size(); ++i)
    known[i] = graph.tensors[i].is_constant || graph.tensors[i].is_variable;
  for (const int32_t input : graph.inputs) known[static_cast<size_t>(input)] = true;
  const auto check = [&](int32_t index, const std::string& reader) -> Result<void> {
    if (index == kAbsent || known[static_cast<size_t>(index)]) return {};
    // A tensor without elements has no data and no producer.
    const Tensor& tensor = graph.tensors[static_cast<size_t>(index)];
    if (tensor.shape.elements() == 0) return {};
    return damaged(part + reader, fmt::format("tensor {} has no value", tensor.name));
  };
  for (size_t i = 0; i < graph.operators.size(); ++i) {
    const Operator& op = graph.operators[i];
    for (const int32_t input : op.inputs) CARINA_CHECKED(check(input, fmt::format("operator {} {}", i, op.name)));
    for (const int32_t output : op.outputs) {
      const auto at = static_cast<size_t>(output);
      if (written[at] || graph.tensors[at].is_constant || std::ranges::find(graph.inputs, output) != graph.inputs.end())
        return damaged(part + fmt::format("operator {} {}", i, op.name),
                       fmt::format("tensor {} has a value already", graph.tensors[at].name));
      written[at] = known[at] = true;
    }
  }
  for (const int32_t output : graph.outputs) CARINA_CHECKED(check(output, "output"));
  return {};
}

Result<Subgraph> FileReader::read_subgraph(const fb::SubGraph& from, const std::string& part) {
  Subgraph out{.name = text_of(from.name()), .tensors = {}, .inputs = {}, .outputs = {}, .operators = {}};
  const uint32_t tensors = size_of(from.tensors());
  for (uint32_t i = 0; i < tensors; ++i) {
    CARINA_TRY(Tensor tensor, read_tensor(*from.tensors()->Get(i), i, part));
    out.tensors.push_back(std::move(tensor));
  }
  CARINA_TRY(out.inputs, read_indices(from.inputs(), tensors, 0, part + "inputs"));
  CARINA_TRY(out.outputs, read_indices(from.outputs(), tensors, 0, part + "outputs"));
  for (uint32_t i = 0; i < size_of(from.operators()); ++i) {
    CARINA_TRY(Operator op, read_operator(*from.operators()->Get(i), tensors, fmt::format("{}operator {}", part, i)));
    out.operators.push_back(std::move(op));
  }
  if (!is_compiled(out)) CARINA_CHECKED(check_order(out, part));
  return out;
}

Result<std::vector<Metadata>> FileReader::read_metadata() const {
  std::vector<Metadata> out;
  for (uint32_t i = 0; i < size_of(model_->metadata()); ++i) {
    const fb::Metadata& from = *model_->metadata()->Get(i);
    Metadata metadata{.name = text_of(from.name()), .data = {}};
    CARINA_TRY(metadata.data, stored_bytes(from.buffer(), fmt::format("metadata {}", metadata.name)));
    out.push_back(std::move(metadata));
  }
  return out;
}

Result<Model> FileReader::read() {
  const auto* bytes = reinterpret_cast<const uint8_t*>(file_.data());
  // Data may follow the FlatBuffer, which itself is smaller than 2 GB.
  const size_t size = std::min<size_t>(file_.size(), FLATBUFFERS_MAX_BUFFER_SIZE - 1);
  if (size < 16) return damaged({}, "not a .tflite file, or damaged");
  flatbuffers::Verifier verifier(bytes, size);
  if (!fb::VerifyModelBuffer(verifier)) return damaged({}, "the .tflite file is damaged");
  model_ = fb::GetModel(bytes);
  if (model_->version() != kSchemaVersion)
    return fail({.where = where_,
                 .what = "a version of the .tflite schema that Carina does not read",
                 .expected = fmt::to_string(kSchemaVersion),
                 .got = fmt::to_string(model_->version())});
  const uint32_t subgraphs = size_of(model_->subgraphs());
  if (subgraphs == 0) return damaged({}, "the file has no subgraph");
  Model out{.description = text_of(model_->description()), .subgraphs = {}};
  for (uint32_t i = 0; i < subgraphs; ++i) {
    CARINA_TRY(Subgraph graph,
               read_subgraph(*model_->subgraphs()->Get(i), subgraphs == 1 ? "" : fmt::format("subgraph {}: ", i)));
    out.subgraphs.push_back(std::move(graph));
  }
  CARINA_TRY(out.metadata, read_metadata());
  for (uint32_t i = 0; i < size_of(model_->signature_defs()); ++i) {
    const fb::SignatureDef& from = *model_->signature_defs()->Get(i);
    if (from.subgraph_index() >= subgraphs) return damaged({}, "a signature of a subgraph that does not exist");
    out.signatures.push_back({.key = text_of(from.signature_key()), .subgraph = from.subgraph_index()});
  }
  return out;
}

}  // namespace

bool is_compiled(const Subgraph& graph) {
  return std::ranges::find(graph.operators, kNpuOperator, &Operator::name) != graph.operators.end();
}

Result<Model> read_model(const Buffer& file, const std::string& where) {
  const bool is_aligned = reinterpret_cast<uintptr_t>(file.data()) % alignof(uint64_t) == 0;
  const Buffer bytes = is_aligned ? file : Buffer::copy_of(file.bytes());
  return FileReader(bytes, where).read();
}

}  // namespace carina::tflite
