#include "npu/vela_raw.h"

#include <fmt/format.h>

#include <limits>
#include <optional>

#include "facts/npu_targets.h"
#include "tensor/npy.h"

namespace carina::npu {

namespace {

constexpr size_t kIoRank = 6;
constexpr int64_t kMaxBytes = int64_t{1} << 40;  // the address range of 40 bits
constexpr size_t kMaxTensors = 4096;
// The driver action that contains a stream has a length field of 24 bits, in words.
constexpr int64_t kMaxPayloadBytes = (int64_t{4} << 24) + 4096;

class RawReader {
 public:
  RawReader(const NpzContent& content, const std::string& where) : content_(content), where_(where) {}

  Result<NetworkInFile> read() const {
    NetworkInFile raw;
    CompiledNetwork& network = raw.network;
    CARINA_TRY(const Buffer commands, bytes("cmd_data", kMaxPayloadBytes));
    network.command_payload.assign(commands.bytes().begin(), commands.bytes().end());
    CARINA_TRY(raw.weights, bytes("weight_data", kMaxBytes));
    CARINA_TRY(network.weight_region, region("weight_region", static_cast<int>(Region::kConstants)));
    CARINA_TRY(network.scratch_region, region("scratch_region", static_cast<int>(Region::kArena)));
    CARINA_TRY(network.fast_scratch_region, region("scratch_fast_region", static_cast<int>(Region::kFastScratch)));
    CARINA_TRY(network.scratch_bytes, size("scratch"));
    CARINA_TRY(network.fast_scratch_bytes, size("scratch_fast"));
    CARINA_TRY(network.inputs, tensors("input"));
    CARINA_TRY(network.outputs, tensors("output"));
    return raw;
  }

 private:
  [[nodiscard]] std::string entry(std::string_view name) const { return fmt::format("{}:{}", where_, name); }
  [[nodiscard]] const Tensor* find(std::string_view name) const {
    const auto found = content_.arrays.find(std::string(name));
    return found == content_.arrays.end() ? nullptr : &found->second;
  }

  [[nodiscard]] Result<Buffer> bytes(std::string_view name, int64_t max) const {
    const Tensor* tensor = find(name);
    if (tensor == nullptr)
      return fail({.where = where_, .what = fmt::format("not a raw output of Vela: '{}' is missing", name)});
    if (tensor->dtype != DType::kUInt8)
      return fail({.where = entry(name), .what = "not bytes", .got = std::string(name_of(tensor->dtype))});
    if (tensor->data.size() > static_cast<size_t>(max)) {
      return fail({.where = entry(name),
                   .what = "too many bytes",
                   .expected = fmt::format("at most {}", max),
                   .got = std::to_string(tensor->data.size())});
    }
    return tensor->data;
  }

  // All elements of an integer array, or no value if the array does not exist.
  [[nodiscard]] Result<std::optional<std::vector<int64_t>>> integers(std::string_view name) const {
    const Tensor* tensor = find(name);
    if (tensor == nullptr) return std::optional<std::vector<int64_t>>();
    std::vector<int64_t> values;
    switch (tensor->dtype) {
      case DType::kInt64:
        values.assign(tensor->values<int64_t>().begin(), tensor->values<int64_t>().end());
        break;
      case DType::kInt32:
        values.assign(tensor->values<int32_t>().begin(), tensor->values<int32_t>().end());
        break;
      // NumPy writes an empty list with this type.
      case DType::kFp64:
        if (tensor->elements() == 0) break;
        [[fallthrough]];
      default:
        return fail({.where = entry(name),
                     .what = "not whole numbers",
                     .expected = "int32 or int64",
                     .got = std::string(name_of(tensor->dtype))});
    }
    return std::optional(std::move(values));
  }

  [[nodiscard]] Result<int64_t> checked(std::string_view name, int64_t value, int64_t max) const {
    if (value >= 0 && value <= max) return value;
    return fail({.where = entry(name),
                 .what = "out of range",
                 .expected = fmt::format("0 to {}", max),
                 .got = std::to_string(value)});
  }

  [[nodiscard]] Result<int32_t> region(std::string_view name, int otherwise) const {
    CARINA_TRY(const auto values, integers(name));
    if (!values || values->empty()) return otherwise;
    CARINA_TRY(const int64_t value, checked(name, values->front(), kMaxRegions - 1));
    return static_cast<int32_t>(value);
  }

  // The value of <name>_size, or the only element of <name>_shape in older files. 0 if neither exists.
  [[nodiscard]] Result<int64_t> size(std::string_view name) const {
    for (const std::string_view suffix : {"_size", "_shape"}) {
      const std::string key = fmt::format("{}{}", name, suffix);
      CARINA_TRY(const auto values, integers(key));
      if (values && !values->empty()) return checked(key, values->front(), kMaxBytes);
    }
    return 0;
  }

  // A column of the table of inputs or outputs. It must have as many elements as the other columns.
  [[nodiscard]] Result<std::vector<int64_t>> column(const std::string& name, size_t rows) const {
    CARINA_TRY(const auto values, integers(name));
    if (!values) return fail({.where = where_, .what = fmt::format("not a raw output of Vela: '{}' is missing", name)});
    if (values->size() != rows) {
      return fail({.where = entry(name),
                   .what = "one number per tensor",
                   .expected = std::to_string(rows),
                   .got = std::to_string(values->size())});
    }
    return *values;
  }

  [[nodiscard]] Result<std::vector<IoTensor>> tensors(const std::string& kind) const {
    const std::string key = kind + "_shape";
    CARINA_TRY(const auto shapes, integers(key));
    if (!shapes) return fail({.where = where_, .what = fmt::format("not a raw output of Vela: '{}' is missing", key)});
    if (shapes->empty()) return std::vector<IoTensor>();
    const Shape& shape = find(key)->shape;
    if (shape.rank() != 2 || shape[1] > static_cast<int64_t>(kIoRank) || shape[0] > static_cast<int64_t>(kMaxTensors)) {
      return fail({.where = entry(key),
                   .what = "not a table of shapes",
                   .expected = "[tensors, at most 6]",
                   .got = to_string(shape)});
    }
    const auto rows = static_cast<size_t>(shape[0]);
    const auto rank = static_cast<size_t>(shape[1]);
    CARINA_TRY(const auto element_bytes, column(kind + "_elem_size", rows));
    CARINA_TRY(const auto regions, column(kind + "_region", rows));
    CARINA_TRY(const auto offsets, column(kind + "_offset", rows));
    std::vector<IoTensor> out(rows);
    for (size_t i = 0; i < rows; ++i) {
      for (size_t axis = 0; axis < rank; ++axis) {
        CARINA_TRY(const int64_t dim, checked(key, (*shapes)[i * rank + axis], std::numeric_limits<int32_t>::max()));
        out[i].shape[kIoRank - rank + axis] = static_cast<int32_t>(dim);
      }
      CARINA_TRY(const int64_t bytes_each, checked(kind + "_elem_size", element_bytes[i], 8));
      CARINA_TRY(const int64_t in_region, checked(kind + "_region", regions[i], kMaxRegions - 1));
      CARINA_TRY(out[i].offset, checked(kind + "_offset", offsets[i], kMaxBytes));
      out[i].element_bytes = static_cast<int32_t>(bytes_each);
      out[i].region = static_cast<int32_t>(in_region);
    }
    return out;
  }

  const NpzContent& content_;
  const std::string& where_;
};

// Returns a view, so `bytes` must outlive it.
Tensor byte_array(const std::vector<std::byte>& bytes) {
  return {.dtype = DType::kUInt8, .shape = {static_cast<int64_t>(bytes.size())}, .data = Buffer({}, bytes)};
}
Tensor int64_array(const Shape& shape, const std::vector<int64_t>& values) {
  return Tensor::of<int64_t>(DType::kInt64, shape, values);
}
Tensor int64_scalar(int64_t value) {
  return int64_array({}, {value});
}

void add_tensors(std::map<std::string, Tensor>& arrays, const std::string& kind, const std::vector<IoTensor>& tensors) {
  std::vector<int64_t> shapes;
  std::vector<int64_t> element_bytes;
  std::vector<int64_t> regions;
  std::vector<int64_t> offsets;
  for (const IoTensor& tensor : tensors) {
    shapes.insert(shapes.end(), tensor.shape.begin(), tensor.shape.end());
    element_bytes.push_back(tensor.element_bytes);
    regions.push_back(tensor.region);
    offsets.push_back(tensor.offset);
  }
  const auto count = static_cast<int64_t>(tensors.size());
  arrays.emplace(kind + "_shape", int64_array({count, static_cast<int64_t>(kIoRank)}, shapes));
  arrays.emplace(kind + "_elem_size", int64_array({count}, element_bytes));
  arrays.emplace(kind + "_region", int64_array({count}, regions));
  arrays.emplace(kind + "_offset", int64_array({count}, offsets));
}

}  // namespace

Result<NetworkInFile> read_vela_raw_in_place(const Buffer& npz, const std::string& where, size_t max_inflated_bytes) {
  CARINA_TRY(const NpzContent content, read_npz(npz, where, max_inflated_bytes));
  return RawReader(content, where).read();
}

Result<CompiledNetwork> read_vela_raw(const Buffer& npz, const std::string& where, size_t max_inflated_bytes) {
  CARINA_TRY(NetworkInFile raw, read_vela_raw_in_place(npz, where, max_inflated_bytes));
  raw.network.weights.assign(raw.weights.bytes().begin(), raw.weights.bytes().end());
  return std::move(raw.network);
}

Result<std::vector<std::byte>> write_vela_raw(const CompiledNetwork& network) {
  std::map<std::string, Tensor> arrays;
  arrays.emplace("cmd_data", byte_array(network.command_payload));
  arrays.emplace("weight_data", byte_array(network.weights));
  arrays.emplace("weight_region", int64_scalar(network.weight_region));
  arrays.emplace("scratch_shape", int64_array({1}, {network.scratch_bytes}));
  arrays.emplace("scratch_region", int64_scalar(network.scratch_region));
  arrays.emplace("scratch_size", int64_scalar(network.scratch_bytes));
  arrays.emplace("scratch_fast_shape", int64_array({1}, {network.fast_scratch_bytes}));
  arrays.emplace("scratch_fast_region", int64_scalar(network.fast_scratch_region));
  arrays.emplace("scratch_fast_size", int64_scalar(network.fast_scratch_bytes));
  add_tensors(arrays, "input", network.inputs);
  add_tensors(arrays, "output", network.outputs);
  add_tensors(arrays, "variable", {});
  return npz_bytes(arrays);
}

}  // namespace carina::npu
