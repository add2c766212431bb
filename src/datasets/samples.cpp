#include "datasets/samples.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <ranges>

#include "datasets/samples_internal.h"
#include "files/file_kind.h"
#include "tensor/npy.h"

namespace carina::datasets {

bool is_smaller(const Shape& array, const InputType& input) {
  return input.is_upper_bound && array.rank() == input.shape.rank() && array != input.shape &&
         std::ranges::none_of(array.dims(), [](int64_t size) { return size < 0; }) &&
         std::ranges::equal(array.dims(), input.shape.dims(), std::less_equal());
}

std::optional<int64_t> samples_in(const Shape& array, const Shape& wanted) {
  if (array == wanted) return 1;
  const bool batched = wanted.rank() > 0 && wanted[0] > 0 && array.rank() == wanted.rank() &&
                       array[0] % wanted[0] == 0 &&
                       std::ranges::equal(array.dims().subspan(1), wanted.dims().subspan(1));
  const bool stacked = array.rank() == wanted.rank() + 1 && std::ranges::equal(array.dims().subspan(1), wanted.dims());
  if ((!batched && !stacked) || array[0] == 0) return std::nullopt;
  return batched ? array[0] / wanted[0] : array[0];
}

namespace {

// Formats the accepted shapes: "fp32 [4,8], or of N samples [N,4,8] or [4*N,8]".
std::string wanted_text(const InputType& input) {
  const std::string dims = to_string(input.shape);
  std::string text = type_text(input.dtype, input.shape) + fmt::format(", or of N samples [N,{}", dims.substr(1));
  if (input.shape.rank() == 0) return type_text(input.dtype, input.shape) + ", or of N samples [N]";
  const std::string first = input.shape[0] == 1 ? "N" : fmt::format("{}*N", input.shape[0]);
  const size_t comma = dims.find(',');
  return text + fmt::format(" or [{}{}", first, comma == std::string::npos ? "]" : dims.substr(comma));
}

}  // namespace

std::string conversion_hint(DType got, DType wanted) {
  std::string_view name;
  if (wanted == DType::kFp32) name = "float32";
  if (wanted == DType::kInt64) name = "int64";
  if (wanted == DType::kInt32) name = "int32";
  if (wanted == DType::kBf16) return "NumPy has no bf16: export model.float()";
  if (got == wanted || name.empty()) return {};
  return fmt::format("save it as that type: np.save(file, array.astype(np.{})){}", name,
                     got == DType::kFp64 ? "; NumPy's own floats are float64" : "");
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

// Formats the names of the inputs. A .pte has no names; its inputs are input_0, input_1 ...
std::string names_wanted(std::span<const InputType> inputs) {
  std::string names;
  for (const InputType& input : inputs) names += (names.empty() ? "" : ", ") + input.name;
  return "name the arrays as the inputs: " + names +
         (inputs.front().name == "input_0" ? "; or give an -i FILE.npy for each, in order" : "");
}

Diagnostic missing(const Arrays& arrays, const InputType& input, std::span<const InputType> inputs,
                   const std::string& where) {
  std::string names;
  for (const auto& [name, tensor] : arrays)
    names += fmt::format("{}{}: {}", names.empty() ? "" : ", ", name, type_text(tensor.dtype, tensor.shape));
  return {.where = where,
          .what = fmt::format("no array for the input {}", input.name),
          .expected = fmt::format("an array of that name: {}", wanted_text(input)),
          .got = names.empty() ? "no array of numbers" : names,
          .hint = names_wanted(inputs)};
}

Result<std::vector<const Tensor*>> arrays_of_inputs(const Arrays& arrays, std::span<const InputType> inputs,
                                                    const std::string& where) {
  std::vector<const Tensor*> found;
  for (const InputType& input : inputs) {
    found.push_back(array_for(arrays, input, inputs.size()));
    if (found.back() == nullptr) return fail(missing(arrays, input, inputs, where));
    const Tensor &array = *found.back(), &first = *found.front();
    const auto count = samples_in(array.shape, input.shape);
    if (array.dtype != input.dtype || !count) {
      return fail({.where = where,
                   .what = fmt::format("the array for the input {} does not fit", input.name),
                   .expected = wanted_text(input),
                   .got = type_text(array.dtype, array.shape),
                   .hint = conversion_hint(array.dtype, input.dtype)});
    }
    const auto expected = samples_in(first.shape, inputs.front().shape);
    if (*count != *expected) {
      return fail({.where = where,
                   .what = "the inputs have different numbers of samples",
                   .expected = std::to_string(*expected),
                   .got = std::to_string(*count)});
    }
  }
  return found;
}

Result<std::vector<Sample>> split_samples(const Arrays& arrays, std::span<const InputType> inputs,
                                          const std::string& where) {
  CARINA_TRY(const std::vector<const Tensor*> found, arrays_of_inputs(arrays, inputs, where));
  if (found.empty()) return std::vector<Sample>();
  std::vector<Sample> samples(static_cast<size_t>(*samples_in(found.front()->shape, inputs.front().shape)));
  for (size_t n = 0; n < samples.size(); ++n) {
    for (size_t i = 0; i < inputs.size(); ++i)
      samples[n].push_back(nth_sample(*found[i], inputs[i], static_cast<int64_t>(n)));
  }
  return samples;
}

Result<void> check_names(const Arrays& arrays, std::span<const InputType> inputs, const std::string& where) {
  for (const auto& [name, array] : arrays) {
    const bool is_input = std::ranges::find(inputs, name, &InputType::name) != inputs.end();
    if (is_input || (inputs.size() == 1 && name == "x") || std::ranges::find(kLabels, name) != kLabels.end()) continue;
    return fail({.where = where,
                 .what = fmt::format("{}: not an input of the model", name),
                 .expected = fmt::format("{}", fmt::join(inputs | std::views::transform(&InputType::name), ", ")),
                 .got = name,
                 .hint = names_wanted(inputs)});
  }
  return {};
}

std::string type_text(DType dtype, const Shape& shape) {
  return fmt::format("{} {}", name_of(dtype), to_string(shape));
}

std::vector<InputType> input_types(const ir::Graph& graph) {
  std::vector<InputType> types;
  for (const ir::ValueId id : std::span(graph.inputs).first(graph.inputs_without_state()))
    types.push_back({.name = graph[id].name, .dtype = graph[id].dtype, .shape = graph[id].shape});
  return types;
}

Result<Arrays> load_arrays(const std::string& path) {
  CARINA_TRY(const Buffer file,
             files::open_file(path, {files::FileKind::kNpz, files::FileKind::kNpy, files::FileKind::kVelaRaw}));
  if (files::kind_of(file) == files::FileKind::kNpy) {
    CARINA_TRY(Tensor array, read_npy(file, path));
    return Arrays{{"x", std::move(array)}};
  }
  CARINA_TRY(NpzContent content, read_npz(file, path));
  if (content.arrays.empty()) {
    return fail({.where = path,
                 .what = content.skipped.empty()
                             ? "the archive has no array"
                             : fmt::format("the archive contains only arrays of objects or text ({})",
                                           fmt::join(content.skipped, ", ")),
                 .expected = "arrays of numbers",
                 .hint = "save arrays of equal shapes: np.stack"});
  }
  return std::move(content.arrays);
}

Result<void> check_data(const Tensor& tensor, const std::string& where) {
  const size_t wanted = tensor_bytes(tensor.dtype, tensor.shape);
  const bool is_null = tensor.data.data() == nullptr && tensor.data.size() != 0;
  if (tensor.data.size() == wanted && !is_null) return {};
  return fail({.where = where,
               .what = "the data do not have the size of the tensor",
               .expected = fmt::format("{} bytes for {}", wanted, type_text(tensor.dtype, tensor.shape)),
               .got = is_null ? "a null pointer" : fmt::format("{} bytes", tensor.data.size())});
}

Result<void> check_sample(const Sample& sample, std::span<const InputType> inputs) {
  if (sample.size() != inputs.size()) {
    return fail({.where = "sample",
                 .what = "wrong number of tensors",
                 .expected = std::to_string(inputs.size()),
                 .got = std::to_string(sample.size())});
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (sample[i].dtype == inputs[i].dtype && sample[i].shape == inputs[i].shape) {
      CARINA_CHECKED(check_data(sample[i], fmt::format("sample: the tensor for the input {}", inputs[i].name)));
      continue;
    }
    return fail({.where = "sample",
                 .what = fmt::format("the tensor for the input {} does not fit", inputs[i].name),
                 .expected = type_text(inputs[i].dtype, inputs[i].shape),
                 .got = type_text(sample[i].dtype, sample[i].shape)});
  }
  return {};
}

}  // namespace carina::datasets
