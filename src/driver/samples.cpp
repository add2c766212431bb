#include "driver/samples.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>

#include "driver/file_kind.h"
#include "tensor/npy.h"

namespace carina::driver {

namespace {

using Arrays = std::map<std::string, Tensor>;

// How many samples of `wanted` an array holds along its first axis; nothing when it does not fit.
std::optional<int64_t> samples_in(const Shape& array, const Shape& wanted) {
  if (array == wanted) return 1;
  const bool batched = wanted.rank() > 0 && wanted[0] > 0 && array.rank() == wanted.rank() &&
                       array[0] % wanted[0] == 0 &&
                       std::ranges::equal(array.dims().subspan(1), wanted.dims().subspan(1));
  const bool stacked = array.rank() == wanted.rank() + 1 && std::ranges::equal(array.dims().subspan(1), wanted.dims());
  if ((!batched && !stacked) || array[0] == 0) return std::nullopt;
  return batched ? array[0] / wanted[0] : array[0];
}

// "fp32 [4,8], or of N samples [N,4,8] or [4*N,8]"
std::string wanted_text(const InputType& input) {
  const std::string dims = to_string(input.shape);
  std::string text = type_text(input.dtype, input.shape) + fmt::format(", or of N samples [N,{}", dims.substr(1));
  if (input.shape.rank() == 0) return type_text(input.dtype, input.shape) + ", or of N samples [N]";
  const std::string first = input.shape[0] == 1 ? "N" : fmt::format("{}*N", input.shape[0]);
  const size_t comma = dims.find(',');
  return text + fmt::format(" or [{}{}", first, comma == std::string::npos ? "]" : dims.substr(comma));
}

// What brings an array of one type to another, where NumPy can do it in a word.
std::string conversion_hint(DType got, DType wanted) {
  std::string_view name;
  if (wanted == DType::kFp32) name = "float32";
  if (wanted == DType::kInt64) name = "int64";
  if (wanted == DType::kInt32) name = "int32";
  if (got == wanted || name.empty()) return {};
  return fmt::format("save it as that type: np.save(file, array.astype(np.{})); NumPy's own floats are float64", name);
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

Diagnostic missing(const Arrays& arrays, const InputType& input, const std::string& where) {
  std::string names;
  for (const auto& [name, tensor] : arrays)
    names += fmt::format("{}{}: {}", names.empty() ? "" : ", ", name, type_text(tensor.dtype, tensor.shape));
  return {.where = where,
          .what = fmt::format("no array for the input {}", input.name),
          .expected = fmt::format("an array of that name: {}", wanted_text(input)),
          .got = names.empty() ? "no array of numbers" : names};
}

std::vector<std::string> array_files_in(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".npz" || extension == ".npy") files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

// One .npy per input, by their names; nothing when the files are not that.
Result<std::optional<Arrays>> arrays_by_file_name(std::span<const std::string> files,
                                                  std::span<const InputType> inputs) {
  if (files.size() != inputs.size()) return std::nullopt;
  Arrays arrays;
  for (const std::string& file : files) {
    const std::filesystem::path path(file);
    const std::string name = path.stem().string();
    if (path.extension() != ".npy" || std::ranges::find(inputs, name, &InputType::name) == inputs.end())
      return std::nullopt;
    CARINA_TRY(const Buffer bytes, open_file(file, {FileKind::kNpy}));
    CARINA_TRY(Tensor array, read_npy(bytes, file));
    arrays.emplace(name, std::move(array));
  }
  return std::optional(std::move(arrays));
}

Result<std::vector<Sample>> load_folder(const std::string& path, std::span<const InputType> inputs) {
  const std::vector<std::string> files = array_files_in(path);
  CARINA_TRY(const auto named, arrays_by_file_name(files, inputs));
  if (named) return split_samples(*named, inputs, path);
  std::vector<Sample> all;
  for (const std::string& file : files) {
    CARINA_TRY(std::vector<Sample> samples, load_samples(file, inputs));
    std::ranges::move(samples, std::back_inserter(all));
  }
  if (all.empty()) return fail({.where = path, .what = "the folder has no .npy or .npz file"});
  return all;
}

// The widest integers of NumPy, which are its own, as the widest of TOSA: nothing if one does not fit.
std::optional<Tensor> narrowed(const Tensor& array) {
  const auto wide = array.values<int64_t>();
  const IntegerRange range = range_of(DType::kInt32);
  if (!std::ranges::all_of(wide, [&](int64_t v) { return v >= range.min && v <= range.max; })) return std::nullopt;
  MutableTensor narrow(DType::kInt32, array.shape);
  std::ranges::transform(wide, narrow.values<int32_t>().begin(), [](int64_t v) { return static_cast<int32_t>(v); });
  return std::move(narrow).freeze();
}

// An array as an input of a run: of its type and shape, or what NumPy has in its stead.
Result<Tensor> as_input(Tensor array, const InputType& input, const std::string& where) {
  if (array.dtype == DType::kInt64 && input.dtype == DType::kInt32) array = narrowed(array).value_or(array);
  // NumPy has no int48 and no shape type, and no bf16 or fp8: their files hold what npy_bytes() writes.
  const bool same_storage =
      element_bytes(array.dtype) == element_bytes(input.dtype) &&
      (array.dtype == input.dtype || input.dtype == DType::kInt48 || input.dtype == DType::kInt4 ||
       input.dtype == DType::kBf16 || input.dtype == DType::kFp8E4M3 || input.dtype == DType::kFp8E5M2 ||
       input.dtype == DType::kShape);
  if (!same_storage || array.shape != input.shape) {
    return fail({.where = where,
                 .what = fmt::format("the array does not fit the input {}", input.name),
                 .expected = type_text(input.dtype, input.shape),
                 .got = type_text(array.dtype, array.shape),
                 .hint = conversion_hint(array.dtype, input.dtype)});
  }
  array.dtype = input.dtype;
  return array;
}

// The inputs of a run from one .npz: each array belongs to the input of its name, as in load_samples().
Result<Sample> inputs_of_archive(const std::string& path, std::span<const InputType> inputs) {
  CARINA_TRY(const Arrays arrays, load_arrays(path));
  Sample sample;
  for (const InputType& input : inputs) {
    const Tensor* array = array_for(arrays, input, inputs.size());
    if (array == nullptr) return fail(missing(arrays, input, path));
    CARINA_TRY(Tensor tensor, as_input(*array, input, path));
    sample.push_back(std::move(tensor));
  }
  return sample;
}

// Which file belongs to which input: NAME=FILE says it, the others follow in order.
Result<std::vector<std::string>> files_by_input(std::span<const std::string> paths, std::span<const InputType> inputs) {
  std::vector<std::string> files(inputs.size());
  std::vector<std::string> in_order;
  for (const std::string& path : paths) {
    const size_t equals = path.find('=');
    const auto named = std::ranges::find(inputs, path.substr(0, equals), &InputType::name);
    if (equals == std::string::npos || named == inputs.end()) {
      in_order.push_back(path);
      continue;
    }
    std::string& file = files[static_cast<size_t>(named - inputs.begin())];
    if (!file.empty()) return fail({.where = path, .what = "a second file for this input", .fault = Fault::kUsage});
    file = path.substr(equals + 1);
  }
  size_t next = 0;
  for (std::string& file : files) {
    if (file.empty() && next < in_order.size()) file = in_order[next++];
  }
  if (next < in_order.size())
    files.insert(files.end(), in_order.begin() + static_cast<std::ptrdiff_t>(next), in_order.end());
  return files;
}

}  // namespace

Result<std::vector<Sample>> split_samples(const Arrays& arrays, std::span<const InputType> inputs,
                                          const std::string& where) {
  std::vector<Sample> samples;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor* array = array_for(arrays, inputs[i], inputs.size());
    if (array == nullptr) return fail(missing(arrays, inputs[i], where));
    const auto count = samples_in(array->shape, inputs[i].shape);
    if (array->dtype != inputs[i].dtype || !count) {
      return fail({.where = where,
                   .what = fmt::format("the array for the input {} does not fit", inputs[i].name),
                   .expected = wanted_text(inputs[i]),
                   .got = type_text(array->dtype, array->shape),
                   .hint = conversion_hint(array->dtype, inputs[i].dtype)});
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
  CARINA_TRY(const Buffer file, open_file(path, {FileKind::kNpz, FileKind::kNpy, FileKind::kVelaRaw}));
  if (kind_of(file) == FileKind::kNpy) {
    CARINA_TRY(Tensor array, read_npy(file, path));
    return Arrays{{"x", std::move(array)}};
  }
  CARINA_TRY(NpzContent content, read_npz(file, path));
  if (content.arrays.empty()) {
    return fail({.where = path,
                 .what = content.skipped.empty() ? "the archive has no array"
                                                 : fmt::format("the archive has arrays of objects or text only ({})",
                                                               fmt::join(content.skipped, ", ")),
                 .expected = "arrays of numbers",
                 .hint = "was it saved from lists of different lengths? np.stack makes one array of equal ones"});
  }
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
  return split_samples(arrays, inputs, path);
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

std::unexpected<Diagnostics> other_number(const InputType& input, bool is_number, std::string got) {
  return fail({.where = input.name,
               .what = is_number ? "the program was exported for another number, which is part of its code"
                                 : "the input is a number of the program, not a tensor",
               .expected = text_of(*input.number),
               .got = std::move(got),
               .hint = "export the model again for another number, or make it a tensor"});
}

Result<Tensor> number_from(const std::string& text, const InputType& input) {
  const std::optional<Tensor> number = parsed_number(text, input.dtype);
  if (number && std::ranges::equal(number->data.bytes(), input.number->data.bytes())) return *number;
  return other_number(input, number.has_value(), text);
}

Result<Tensor> number_in(const Tensor& array, const InputType& input) {
  const bool is_number = array.shape.rank() == 0 && array.dtype == input.dtype;
  if (is_number && identical(array, *input.number)) return array;
  return other_number(input, is_number, is_number ? text_of(array) : type_text(array.dtype, array.shape));
}

// "2 (x fp32 [1,3], n int64 [])"
std::string types_text(std::span<const InputType> inputs) {
  std::string wanted;
  for (const InputType& input : inputs)
    wanted += fmt::format("{}{} {}", wanted.empty() ? "" : ", ", input.name, type_text(input.dtype, input.shape));
  return fmt::format("{} ({})", inputs.size(), wanted);
}

}  // namespace

Result<Sample> load_inputs(std::span<const std::string> paths, std::span<const InputType> inputs) {
  CARINA_TRY(const std::vector<std::string> files, files_by_input(paths, inputs));
  if (paths.size() == 1 && files.front() == paths.front() && !inputs.empty() && !inputs.front().number) {
    CARINA_TRY(const Buffer file, open_file(paths.front(), {FileKind::kNpy, FileKind::kNpz, FileKind::kVelaRaw}));
    const FileKind kind = kind_of(file);
    if (kind == FileKind::kNpz || kind == FileKind::kVelaRaw) return inputs_of_archive(paths.front(), inputs);
  }
  if (paths.size() != inputs.size() || files.size() != inputs.size()) {
    return fail(
        {.where = "inputs",
         .what = "wrong number of inputs",
         .expected = types_text(inputs),
         .got = std::to_string(paths.size()),
         .hint = "give one -i FILE.npy for each input, in this order, or -i NAME=FILE.npy, or one .npz for all"});
  }
  Sample sample;
  for (size_t i = 0; i < files.size(); ++i) {
    if (inputs[i].number) {
      CARINA_TRY(Tensor number, number_from(files[i], inputs[i]));
      sample.push_back(std::move(number));
      continue;
    }
    CARINA_TRY(const Buffer file, open_file(files[i], {FileKind::kNpy}));
    CARINA_TRY(Tensor tensor, read_npy(file, files[i]));
    CARINA_TRY(tensor, as_input(std::move(tensor), inputs[i], files[i]));
    sample.push_back(std::move(tensor));
  }
  return sample;
}

Result<Sample> fit_inputs(std::span<const Tensor> arrays, std::span<const InputType> inputs, const std::string& where) {
  if (arrays.size() != inputs.size())
    return fail({.where = where,
                 .what = "wrong number of inputs",
                 .expected = types_text(inputs),
                 .got = std::to_string(arrays.size())});
  Sample sample;
  for (size_t i = 0; i < arrays.size(); ++i) {
    CARINA_TRY(Tensor tensor,
               inputs[i].number ? number_in(arrays[i], inputs[i]) : as_input(arrays[i], inputs[i], where));
    sample.push_back(std::move(tensor));
  }
  return sample;
}

}  // namespace carina::driver
