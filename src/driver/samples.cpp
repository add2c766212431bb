#include "driver/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>

#include "base/file.h"
#include "tensor/npy.h"

namespace carina::driver {

namespace {

using Arrays = std::map<std::string, Tensor>;

// How many samples of `wanted` an array holds along its first axis; nothing when it does not fit.
std::optional<int64_t> samples_in(const Shape& array, const Shape& wanted) {
  if (array == wanted) return 1;
  const bool batched = wanted.rank() > 0 && wanted[0] == 1 && array.rank() == wanted.rank() &&
                       std::ranges::equal(array.dims().subspan(1), wanted.dims().subspan(1));
  const bool stacked = array.rank() == wanted.rank() + 1 && std::ranges::equal(array.dims().subspan(1), wanted.dims());
  if ((batched || stacked) && array[0] > 0) return array[0];
  return std::nullopt;
}

Tensor nth_sample(const Tensor& array, const InputType& input, int64_t n) {
  const size_t bytes = tensor_bytes(input.dtype, input.shape);
  return {.dtype = input.dtype, .shape = input.shape, .data = array.data.slice(static_cast<size_t>(n) * bytes, bytes)};
}

const Tensor* array_for(const Arrays& arrays, const InputType& input, size_t inputs) {
  if (const auto named = arrays.find(input.name); named != arrays.end()) return &named->second;
  if (inputs > 1) return nullptr;
  if (const auto x = arrays.find("x"); x != arrays.end()) return &x->second;
  const Tensor* found = nullptr;
  for (const auto& [name, array] : arrays) {
    if (array.dtype != input.dtype || !samples_in(array.shape, input.shape)) continue;
    if (found != nullptr) return nullptr;
    found = &array;
  }
  return found;
}

Result<std::vector<Sample>> samples_of(const Arrays& arrays, std::span<const InputType> inputs,
                                       const std::string& where) {
  std::vector<Sample> samples;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor* array = array_for(arrays, inputs[i], inputs.size());
    if (array == nullptr) {
      std::string names;
      for (const auto& [name, tensor] : arrays)
        names += fmt::format("{}{}: {}", names.empty() ? "" : ", ", name, type_text(tensor.dtype, tensor.shape));
      return fail({.where = where,
                   .what = fmt::format("no array for the input {}", inputs[i].name),
                   .expected = fmt::format("an array of that name, {} with any number of samples",
                                           type_text(inputs[i].dtype, inputs[i].shape)),
                   .got = names});
    }
    const auto count = samples_in(array->shape, inputs[i].shape);
    if (array->dtype != inputs[i].dtype || !count) {
      return fail({.where = where,
                   .what = fmt::format("the array for the input {} does not fit", inputs[i].name),
                   .expected = type_text(inputs[i].dtype, inputs[i].shape),
                   .got = type_text(array->dtype, array->shape)});
    }
    if (i == 0) samples.resize(static_cast<size_t>(*count));
    if (samples.size() != static_cast<size_t>(*count)) {
      return fail({.where = where,
                   .what = "the inputs have different numbers of samples",
                   .expected = std::to_string(samples.size()),
                   .got = std::to_string(*count)});
    }
    for (int64_t n = 0; n < *count; ++n) samples[static_cast<size_t>(n)].push_back(nth_sample(*array, inputs[i], n));
  }
  return samples;
}

Result<std::vector<Sample>> load_folder(const std::string& path, std::span<const InputType> inputs) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".npz" || extension == ".npy") files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  std::vector<Sample> all;
  for (const std::string& file : files) {
    CARINA_TRY(std::vector<Sample> samples, load_samples(file, inputs));
    std::ranges::move(samples, std::back_inserter(all));
  }
  if (all.empty()) return fail({.where = path, .what = "the folder has no .npy or .npz file"});
  return all;
}

}  // namespace

std::string type_text(DType dtype, const Shape& shape) {
  return fmt::format("{} {}", name_of(dtype), to_string(shape));
}

std::vector<InputType> input_types(const ir::Graph& graph) {
  std::vector<InputType> types;
  for (const ir::ValueId id : graph.inputs)
    types.push_back({.name = graph[id].name, .dtype = graph[id].dtype, .shape = graph[id].shape});
  return types;
}

Result<Arrays> load_arrays(const std::string& path) {
  CARINA_TRY(const Buffer file, map_file(path));
  if (path.ends_with(".npy")) {
    CARINA_TRY(Tensor array, read_npy(file, path));
    return Arrays{{"x", std::move(array)}};
  }
  CARINA_TRY(NpzContent content, read_npz(file, path));
  return std::move(content.arrays);
}

Result<void> check_sample(const Sample& sample, std::span<const InputType> inputs) {
  if (sample.size() != inputs.size()) {
    return fail({.where = "sample",
                 .what = "wrong number of tensors",
                 .expected = std::to_string(inputs.size()),
                 .got = std::to_string(sample.size())});
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (sample[i].dtype == inputs[i].dtype && sample[i].shape == inputs[i].shape) continue;
    return fail({.where = "sample",
                 .what = fmt::format("the tensor for the input {} does not fit", inputs[i].name),
                 .expected = type_text(inputs[i].dtype, inputs[i].shape),
                 .got = type_text(sample[i].dtype, sample[i].shape)});
  }
  return {};
}

Result<std::vector<Sample>> load_samples(const std::string& path, std::span<const InputType> inputs) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return load_folder(path, inputs);
  CARINA_TRY(const Arrays arrays, load_arrays(path));
  return samples_of(arrays, inputs, path);
}

namespace {

template <typename T>
std::optional<Tensor> scalar_tensor(DType dtype, const std::string& text) {
  T number{};
  const char* end = text.data() + text.size();
  if (const auto [stop, error] = std::from_chars(text.data(), end, number); error != std::errc() || stop != end)
    return std::nullopt;
  return Tensor{.dtype = dtype, .shape = Shape{}, .data = Buffer::copy_of(std::as_bytes(std::span(&number, 1)))};
}

template <typename T>
T load_as(const Tensor& tensor) {
  T number{};
  std::memcpy(&number, tensor.data.data(), sizeof number);
  return number;
}

std::optional<Tensor> parsed_number(const std::string& text, DType dtype) {
  if (dtype == DType::kFp64) return scalar_tensor<double>(dtype, text);
  if (dtype == DType::kInt64) return scalar_tensor<int64_t>(dtype, text);
  if (text == "true" || text == "True") return scalar_tensor<uint8_t>(dtype, "1");
  if (text == "false" || text == "False") return scalar_tensor<uint8_t>(dtype, "0");
  return std::nullopt;
}

std::string text_of(const Tensor& number) {
  if (number.dtype == DType::kFp64) return fmt::format("{}", load_as<double>(number));
  if (number.dtype == DType::kInt64) return fmt::format("{}", load_as<int64_t>(number));
  return load_as<uint8_t>(number) != 0 ? "true" : "false";
}

Result<Tensor> number_from(const std::string& text, const InputType& input) {
  const std::optional<Tensor> number = parsed_number(text, input.dtype);
  if (number && std::ranges::equal(number->data.bytes(), input.number->data.bytes())) return *number;
  return fail({.where = input.name,
               .what = number ? "the program was exported for another number, which is part of its code"
                              : "the input is a number of the program, not a tensor",
               .expected = text_of(*input.number),
               .got = text,
               .hint = "export the model again for another number, or make it a tensor"});
}

}  // namespace

Result<Sample> load_inputs(std::span<const std::string> paths, std::span<const InputType> inputs) {
  if (paths.size() != inputs.size()) {
    std::string wanted;
    for (const InputType& input : inputs)
      wanted += fmt::format("{}{} {}", wanted.empty() ? "" : ", ", input.name, type_text(input.dtype, input.shape));
    return fail({.where = "inputs",
                 .what = "wrong number of inputs",
                 .expected = fmt::format("{} ({})", inputs.size(), wanted),
                 .got = std::to_string(paths.size()),
                 .hint = "give one -i FILE.npy for each input, in this order"});
  }
  Sample sample;
  for (size_t i = 0; i < paths.size(); ++i) {
    if (inputs[i].number) {
      CARINA_TRY(Tensor number, number_from(paths[i], inputs[i]));
      sample.push_back(std::move(number));
      continue;
    }
    CARINA_TRY(const Buffer file, map_file(paths[i]));
    CARINA_TRY(Tensor tensor, read_npy(file, paths[i]));
    // NumPy has no int48 and no shape type, and no bf16 or fp8: their files hold what npy_bytes() writes.
    const bool same_storage =
        element_bytes(tensor.dtype) == element_bytes(inputs[i].dtype) &&
        (tensor.dtype == inputs[i].dtype || inputs[i].dtype == DType::kInt48 || inputs[i].dtype == DType::kInt4 ||
         inputs[i].dtype == DType::kBf16 || inputs[i].dtype == DType::kFp8E4M3 || inputs[i].dtype == DType::kFp8E5M2 ||
         inputs[i].dtype == DType::kShape);
    if (!same_storage || tensor.shape != inputs[i].shape) {
      return fail({.where = paths[i],
                   .what = fmt::format("the array does not fit the input {}", inputs[i].name),
                   .expected = type_text(inputs[i].dtype, inputs[i].shape),
                   .got = type_text(tensor.dtype, tensor.shape)});
    }
    tensor.dtype = inputs[i].dtype;
    sample.push_back(std::move(tensor));
  }
  return sample;
}

}  // namespace carina::driver
