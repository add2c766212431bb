#include "datasets/run_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/io/file.h"
#include "base/memory/copy_bytes.h"
#include "datasets/image_input_internal.h"
#include "datasets/number_text_internal.h"
#include "datasets/samples_internal.h"
#include "datasets/sound_input_internal.h"
#include "files/file_kind.h"
#include "tensor/npy.h"

namespace carina::datasets {

namespace {

using Join = InputBatch::Join;

// The samples of one input, and how they were stored.
struct Stack {
  std::vector<Tensor> samples;
  Join join = Join::kNone;
};

enum class Archive : uint8_t { kNamed, kNamedOrInOrder };

struct Context {
  const ImageOptions& images;
  const Log& log;
  Archive archive = Archive::kNamed;
  const SoundOptions* sound = nullptr;  // nullptr: a sound file is an error
};

// Converts an int64 array, NumPy's default for integers, to int32. No value if an element does not fit.
std::optional<Tensor> narrowed(const Tensor& array) {
  const auto wide = array.values<int64_t>();
  const IntegerRange range = range_of(DType::kInt32);
  if (!std::ranges::all_of(wide, [&](int64_t v) { return v >= range.min && v <= range.max; })) return std::nullopt;
  MutableTensor narrow(DType::kInt32, array.shape);
  std::ranges::transform(wide, narrow.values<int32_t>().begin(), [](int64_t v) { return static_cast<int32_t>(v); });
  return std::move(narrow).freeze();
}

// Returns whether the array's type is the type in which npy_bytes() writes `wanted`. NumPy has no int4, int48, shape,
// bf16, fp8, fp6 or fp4.
bool has_storage_of(const Tensor& array, DType wanted) {
  return element_bytes(array.dtype) == element_bytes(wanted) &&
         (array.dtype == wanted || wanted == DType::kInt48 || wanted == DType::kInt4 || wanted == DType::kBf16 ||
          wanted == DType::kShape || (is_float(wanted) && element_bytes(wanted) == 1));
}

// Returns how the samples of this shape are stored in an array of another shape.
Join join_of(const Shape& array, const Shape& wanted) {
  if (array == wanted) return Join::kNone;
  return array.rank() == wanted.rank() ? Join::kFirstAxis : Join::kNewAxis;
}

// Returns how files with one sample each are joined: along the first axis if it has size 1, otherwise along a new axis.
Join join_of_single(const InputType& input) {
  return input.shape.rank() > 0 && input.shape[0] == 1 ? Join::kFirstAxis : Join::kNewAxis;
}

std::unexpected<Diagnostics> does_not_fit(const Tensor& array, const InputType& input, const std::string& where) {
  return fail({.where = where,
               .what = fmt::format("the array does not fit the input {}", input.name),
               .expected = type_text(input.dtype, input.shape),
               .got = type_text(array.dtype, array.shape),
               .hint = conversion_hint(array.dtype, input.dtype)});
}

// Splits an array into samples of the input's type and shape. The array may have NumPy's substitute for the type.
Result<Stack> stack_of(Tensor array, const InputType& input, const std::string& where) {
  if (array.dtype == DType::kInt64 && input.dtype == DType::kInt32) array = narrowed(array).value_or(array);
  if (is_smaller(array.shape, input) && has_storage_of(array, input.dtype)) {
    array.dtype = input.dtype;
    return Stack{.samples = {std::move(array)}};
  }
  const std::optional<int64_t> count = samples_in(array.shape, input.shape);
  if (!has_storage_of(array, input.dtype) || !count) return does_not_fit(array, input, where);
  array.dtype = input.dtype;
  Stack stack{.samples = {}, .join = join_of(array.shape, input.shape)};
  for (int64_t n = 0; n < *count; ++n) stack.samples.push_back(nth_sample(array, input, n));
  return stack;
}

// Splits a CSV into samples: one per row if a row has as many numbers as a sample, otherwise one sample from all rows.
Result<Stack> stack_of_csv(const Buffer& file, const InputType& input, const std::string& where, const Log& log) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  CARINA_TRY(std::vector<std::vector<double>> rows, read_csv(text, where, log));
  if (static_cast<int64_t>(rows.front().size()) != input.shape.elements()) {
    std::vector<double> all;
    for (const std::vector<double>& row : rows) all.insert(all.end(), row.begin(), row.end());
    rows = {std::move(all)};
  }
  Stack stack{.samples = {}, .join = rows.size() == 1 ? Join::kNone : join_of_single(input)};
  for (const std::vector<double>& row : rows) {
    CARINA_TRY(Tensor sample, tensor_of_numbers(row, input, where));
    stack.samples.push_back(std::move(sample));
  }
  return stack;
}

// Reads raw bytes as one sample, as ExecuTorch's runners do.
Result<Stack> stack_of_bytes(const Buffer& file, const InputType& input, const std::string& where) {
  const size_t bytes = tensor_bytes(input.dtype, input.shape);
  if (bytes == 0 || file.size() == 0 || file.size() % bytes != 0)
    return fail({.where = where,
                 .what = fmt::format("the bytes do not fit the input {}", input.name),
                 .expected = fmt::format("{} bytes for {}, or several times as many", bytes,
                                         type_text(input.dtype, input.shape)),
                 .got = fmt::format("{} bytes", file.size())});
  Stack stack{.samples = {}, .join = file.size() == bytes ? Join::kNone : join_of_single(input)};
  const Tensor all{.dtype = input.dtype, .shape = input.shape, .data = Buffer::copy_of(file.bytes())};
  for (size_t n = 0; n < file.size() / bytes; ++n)
    stack.samples.push_back(nth_sample(all, input, static_cast<int64_t>(n)));
  return stack;
}

bool has_ending(const std::string& path, std::string_view ending) {
  std::string extension = std::filesystem::path(path).extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char c) { return std::tolower(c); });
  return extension == ending;
}

Result<Stack> stack_of_file(const std::string& path, const InputType& input, const Context& context) {
  CARINA_TRY(const Buffer file, map_file(path));
  if (image_format_of(file) != ImageFormat::kNone) {
    CARINA_TRY(Tensor sample, image_tensor(file, input, context.images, path));
    return Stack{.samples = {std::move(sample)}};
  }
  if (context.sound != nullptr && files::kind_of(file) == files::FileKind::kWav) {
    CARINA_TRY(std::vector<Tensor> steps, sound_steps(file, input, *context.sound, path, context.log));
    return Stack{.samples = std::move(steps), .join = Join::kNewAxis};
  }
  if (has_ending(path, ".csv")) return stack_of_csv(file, input, path, context.log);
  if (has_ending(path, ".bin")) return stack_of_bytes(file, input, path);
  const files::FileKind kind = files::kind_of(file);
  if (kind == files::FileKind::kNpz || kind == files::FileKind::kVelaRaw) {
    CARINA_TRY(const Arrays arrays, load_arrays(path));
    const Tensor* array = array_for(arrays, input, 1);
    if (array == nullptr) return fail(missing(arrays, input, std::span(&input, 1), path));
    return stack_of(*array, input, path);
  }
  CARINA_TRY(const Buffer checked, files::open_file(path, {files::FileKind::kNpy}));
  CARINA_TRY(Tensor array, read_npy(checked, path));
  return stack_of(std::move(array), input, path);
}

std::vector<std::string> files_in(const std::string& folder) {
  constexpr std::array<std::string_view, 7> kEndings{".npy", ".npz", ".png", ".jpg", ".jpeg", ".csv", ".bin"};
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (std::ranges::any_of(kEndings, [&](std::string_view ending) { return has_ending(path, ending); }))
      files.push_back(path);
  }
  std::ranges::sort(files);
  return files;
}

// Reads the files of a folder in the order of their names. Each has one sample or several.
Result<Stack> stack_of_folder(const std::string& folder, const InputType& input, const Context& context) {
  Stack all{.samples = {}, .join = join_of_single(input)};
  for (const std::string& file : files_in(folder)) {
    CARINA_TRY(Stack stack, stack_of_file(file, input, context));
    std::ranges::move(stack.samples, std::back_inserter(all.samples));
  }
  if (all.samples.empty())
    return fail({.where = folder, .what = "the folder has no .npy, .npz, .png, .jpg, .csv or .bin"});
  return all;
}

bool is_folder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

Result<Stack> stack_of_spec(const std::string& spec, const InputType& input, const Context& context) {
  std::error_code error;
  if (input.number) {
    CARINA_TRY(Tensor number, number_of_program(spec, input));
    return Stack{.samples = {std::move(number)}};
  }
  if (is_folder(spec)) return stack_of_folder(spec, input, context);
  const std::optional<std::vector<double>> numbers = numbers_in_line(spec);
  if (!numbers || std::filesystem::exists(spec, error)) return stack_of_file(spec, input, context);
  const bool fills = numbers->size() == 1;
  const std::vector<double> all =
      fills ? std::vector<double>(static_cast<size_t>(input.shape.elements()), numbers->front()) : *numbers;
  CARINA_TRY(Tensor tensor, tensor_of_numbers(all, input, spec));
  return Stack{.samples = {std::move(tensor)}};
}

// Assigns the words to the inputs: NAME=WORD by name, the others in order.
Result<std::vector<std::string>> specs_by_input(std::span<const std::string> given, std::span<const InputType> inputs) {
  std::vector<std::string> specs(inputs.size());
  std::vector<std::string> in_order;
  for (const std::string& text : given) {
    const size_t equals = text.find('=');
    const auto named = std::ranges::find(inputs, text.substr(0, equals), &InputType::name);
    if (equals == std::string::npos || named == inputs.end()) {
      in_order.push_back(text);
      continue;
    }
    std::string& spec = specs[static_cast<size_t>(named - inputs.begin())];
    if (!spec.empty()) return fail({.where = text, .what = "two files for one input", .fault = Fault::kUsage});
    spec = text.substr(equals + 1);
  }
  size_t next = 0;
  for (std::string& spec : specs) {
    if (spec.empty() && next < in_order.size()) spec = in_order[next++];
  }
  if (next < in_order.size())
    specs.insert(specs.end(), in_order.begin() + static_cast<std::ptrdiff_t>(next), in_order.end());
  return specs;
}

// Formats the number and types of inputs: "2 (x fp32 [1,3], n int64 [])".
std::string types_text(std::span<const InputType> inputs) {
  std::string wanted;
  for (const InputType& input : inputs)
    wanted += fmt::format("{}{} {}", wanted.empty() ? "" : ", ", input.name, type_text(input.dtype, input.shape));
  return fmt::format("{} ({})", inputs.size(), wanted);
}

std::unexpected<Diagnostics> wrong_count(size_t got, std::span<const InputType> inputs) {
  return fail({.where = "inputs",
               .what = "wrong number of inputs",
               .expected = types_text(inputs),
               .got = std::to_string(got),
               .hint = "give one -i FILE.npy for each input, in this order, or -i NAME=FILE.npy, or one .npz for all"});
}

// Names the arrays of an archive as the inputs, in order, if there are as many and none has the name of an input.
Result<Arrays> arrays_in_order(const std::string& path, Arrays arrays, std::span<const InputType> inputs) {
  const auto is_named = [&](const InputType& input) { return arrays.contains(input.name); };
  if (arrays.size() != inputs.size() || std::ranges::any_of(inputs, is_named)) return arrays;
  CARINA_TRY(const Buffer file, map_file(path));
  CARINA_TRY(const NpzContent content, read_npz(file, path));
  Arrays named;
  for (size_t i = 0; i < inputs.size(); ++i) named.emplace(inputs[i].name, content.arrays.at(content.order[i]));
  return named;
}

// Reads one file with the arrays of all inputs.
Result<std::vector<Stack>> stacks_of_archive(const std::string& path, std::span<const InputType> inputs,
                                             Archive archive) {
  CARINA_TRY(Arrays arrays, load_arrays(path));
  if (archive == Archive::kNamedOrInOrder) {
    CARINA_TRY(arrays, arrays_in_order(path, std::move(arrays), inputs));
  }
  std::vector<Stack> stacks;
  for (const InputType& input : inputs) {
    const Tensor* array = array_for(arrays, input, inputs.size());
    if (array == nullptr) return fail(missing(arrays, input, inputs, path));
    CARINA_TRY(Stack stack, stack_of(*array, input, path));
    stacks.push_back(std::move(stack));
  }
  return stacks;
}

Result<bool> is_archive(const std::string& path) {
  std::error_code error;
  if (is_folder(path) || (numbers_in_line(path) && !std::filesystem::exists(path, error))) return false;
  CARINA_TRY(const Buffer file, map_file(path));
  const files::FileKind kind = files::kind_of(file);
  return kind == files::FileKind::kNpz || kind == files::FileKind::kVelaRaw;
}

// Combines the samples of all inputs. An input with one sample is used with every sample of the others.
Result<InputBatch> batch_of(std::span<const Stack> stacks, std::span<const InputType> inputs) {
  InputBatch batch;
  size_t count = stacks.empty() ? 1 : 0;  // a program without inputs runs once
  size_t first = 0;
  for (size_t i = 0; i < stacks.size(); ++i) {
    if (stacks[i].samples.size() > count) first = i;
    count = std::max(count, stacks[i].samples.size());
    if (batch.join == Join::kNone) batch.join = stacks[i].join;
  }
  for (size_t i = 0; i < stacks.size(); ++i) {
    if (stacks[i].samples.size() == count || stacks[i].samples.size() == 1) continue;
    return fail({.where = "inputs",
                 .what = "the inputs have different numbers of samples",
                 .expected = fmt::format("1 or {} ({})", count, inputs[first].name),
                 .got = fmt::format("{} ({})", stacks[i].samples.size(), inputs[i].name)});
  }
  for (size_t n = 0; n < count; ++n) {
    Sample& sample = batch.samples.emplace_back();
    for (const Stack& stack : stacks) sample.push_back(stack.samples[stack.samples.size() == 1 ? 0 : n]);
  }
  return batch;
}

Result<std::vector<Stack>> stacks_of(std::span<const std::string> given, std::span<const InputType> inputs,
                                     const Context& context) {
  CARINA_TRY(const std::vector<std::string> specs, specs_by_input(given, inputs));
  if (given.size() == 1 && specs.front() == given.front() && !inputs.empty() && !inputs.front().number) {
    CARINA_TRY(const bool archive, is_archive(given.front()));
    if (archive) return stacks_of_archive(given.front(), inputs, context.archive);
  }
  if (given.size() != inputs.size() || specs.size() != inputs.size()) return wrong_count(given.size(), inputs);
  std::vector<Stack> stacks;
  for (size_t i = 0; i < specs.size(); ++i) {
    CARINA_TRY(Stack stack, stack_of_spec(specs[i], inputs[i], context));
    stacks.push_back(std::move(stack));
  }
  return stacks;
}

Result<void> check_count(size_t arrays, std::span<const InputType> inputs, const std::string& where) {
  if (arrays == inputs.size()) return {};
  return fail({.where = where,
               .what = "wrong number of inputs",
               .expected = types_text(inputs),
               .got = std::to_string(arrays)});
}

// Returns the shape of an output after joining all samples.
Shape joined_shape(const Shape& one, int64_t samples, bool along_first) {
  std::vector<int64_t> dims(one.dims().begin(), one.dims().end());
  if (along_first) {
    dims[0] *= samples;
  } else {
    dims.insert(dims.begin(), samples);
  }
  return Shape(dims);
}

bool counts_samples(const Shape& output, std::span<const InputType> inputs) {
  return output.rank() > 0 && std::ranges::any_of(inputs, [&](const InputType& input) {
           return !input.number && input.shape.rank() > 0 && input.shape[0] == output[0];
         });
}

}  // namespace

Result<InputBatch> load_batch(std::span<const std::string> specs, std::span<const InputType> inputs,
                              const ImageOptions& images, const Log& log) {
  CARINA_TRY(const std::vector<Stack> stacks, stacks_of(specs, inputs, {.images = images, .log = log}));
  return batch_of(stacks, inputs);
}

Result<InputBatch> load_sequence(std::span<const std::string> specs, std::span<const InputType> inputs,
                                 const ImageOptions& images, const SoundOptions& sound, const Log& log) {
  CARINA_TRY(
      const std::vector<Stack> stacks,
      stacks_of(specs, inputs, {.images = images, .log = log, .archive = Archive::kNamedOrInOrder, .sound = &sound}));
  CARINA_TRY(InputBatch batch, batch_of(stacks, inputs));
  batch.join = Join::kNewAxis;
  return batch;
}

Result<Sample> load_inputs(std::span<const std::string> specs, std::span<const InputType> inputs,
                           const ImageOptions& images) {
  CARINA_TRY(InputBatch batch, load_batch(specs, inputs, images, {}));
  if (batch.samples.size() == 1) return std::move(batch.samples.front());
  return fail({.where = "inputs",
               .what = "more than one sample",
               .expected = "1",
               .got = std::to_string(batch.samples.size()),
               .hint = "`carina run` takes them all at once"});
}

Result<Sample> fit_inputs(std::span<const Tensor> arrays, std::span<const InputType> inputs, const std::string& where) {
  CARINA_CHECKED(check_count(arrays.size(), inputs, where));
  Sample sample;
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (inputs[i].number) {
      CARINA_TRY(Tensor number, number_of_program(arrays[i], inputs[i]));
      sample.push_back(std::move(number));
      continue;
    }
    CARINA_TRY(Stack stack, arrays[i].shape == inputs[i].shape
                                ? stack_of(arrays[i], inputs[i], where)
                                : Result<Stack>(does_not_fit(arrays[i], inputs[i], where)));
    sample.push_back(std::move(stack.samples.front()));
  }
  return sample;
}

Result<InputBatch> split_inputs(std::span<const Tensor> arrays, std::span<const InputType> inputs,
                                const std::string& where) {
  CARINA_CHECKED(check_count(arrays.size(), inputs, where));
  std::vector<Stack> stacks;
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (inputs[i].number) {
      CARINA_TRY(Tensor number, number_of_program(arrays[i], inputs[i]));
      stacks.push_back({.samples = {std::move(number)}});
      continue;
    }
    CARINA_TRY(Stack stack, stack_of(arrays[i], inputs[i], where));
    stacks.push_back(std::move(stack));
  }
  return batch_of(stacks, inputs);
}

Result<std::vector<NamedTensor>> joined_outputs(std::span<const std::vector<NamedTensor>> outputs,
                                                InputBatch::Join join, std::span<const InputType> inputs,
                                                const std::string& where) {
  if (join == Join::kNone && outputs.size() == 1) return outputs.front();
  std::vector<NamedTensor> joined;
  for (size_t i = 0; i < outputs.front().size(); ++i) {
    const Tensor& first = outputs.front()[i].tensor;
    const bool along_first = join == Join::kFirstAxis && counts_samples(first.shape, inputs);
    MutableTensor all(first.dtype, joined_shape(first.shape, static_cast<int64_t>(outputs.size()), along_first));
    size_t at = 0;
    for (const std::vector<NamedTensor>& one : outputs) {
      const Tensor& tensor = one[i].tensor;
      if (tensor.shape != first.shape)
        return fail({.where = where,
                     .what = fmt::format("the shape of {} differs between samples", one[i].name),
                     .expected = to_string(first.shape),
                     .got = to_string(tensor.shape),
                     .hint = "run the samples separately"});
      copy_bytes(tensor.data.bytes(), all.bytes().subspan(at));
      at += tensor.data.size();
    }
    joined.push_back({.name = outputs.front()[i].name, .tensor = std::move(all).freeze()});
  }
  return joined;
}

}  // namespace carina::datasets
