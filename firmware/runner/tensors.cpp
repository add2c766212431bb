#include "firmware/runner/tensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "firmware/board/console.h"

namespace carina::firmware {

namespace {

using runtime::Tensor;

constexpr size_t kShownElements = 16;

// The name of a file, "<prefix>-<number>-<number>.bin".
class FileName {
 public:
  explicit FileName(std::string_view prefix) { text(prefix); }
  FileName& number(uint32_t value) {
    std::array<char, 10> digits{};
    size_t first = digits.size();
    do {
      digits[--first] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value > 0);
    return text("-").text({digits.data() + first, digits.size() - first});
  }
  // Ends the name. Returns "", which names no file, if the name is too long.
  const char* end() {
    text(".bin");
    return fits_ ? text_.data() : "";
  }

 private:
  FileName& text(std::string_view text) {
    fits_ = fits_ && text.size() < text_.size() - size_;
    if (fits_) size_ += text.copy(text_.data() + size_, text.size());
    return *this;
  }
  std::array<char, 128> text_{};
  size_t size_ = 0;
  bool fits_ = true;
};

template <typename T>
void fill_with(const Tensor& tensor, T one) {
  std::fill_n(static_cast<T*>(tensor.data), tensor.elements(), one);
}

void fill_with_ones(const Tensor& tensor) {
  constexpr uint16_t kOneHalf = 0x3C00;
  constexpr uint16_t kOneBFloat16 = 0x3F80;
  switch (tensor.type) {
    case PteScalarType::kFloat:
    case PteScalarType::kComplexFloat:
      return fill_with(tensor, 1.0F);
    case PteScalarType::kDouble:
    case PteScalarType::kComplexDouble:
      return fill_with(tensor, 1.0);
    case PteScalarType::kHalf:
    case PteScalarType::kComplexHalf:
      return fill_with(tensor, kOneHalf);
    case PteScalarType::kBFloat16:
      return fill_with(tensor, kOneBFloat16);
    case PteScalarType::kLong:
      return fill_with(tensor, int64_t{1});
    case PteScalarType::kInt:
    case PteScalarType::kUInt32:
      return fill_with(tensor, int32_t{1});
    case PteScalarType::kShort:
    case PteScalarType::kUInt16:
      return fill_with(tensor, int16_t{1});
    case PteScalarType::kByte:
    case PteScalarType::kChar:
    case PteScalarType::kBool:
      return fill_with(tensor, int8_t{1});
  }
}

bool reject(std::string_view role, size_t index, std::string_view why) {
  error().text(role).text(" ").number(static_cast<int64_t>(index)).text(": ").text(why);
  return false;
}

// Reads a file of exactly as many bytes. `role` is "input" or "state".
bool read_bytes(std::string_view role, size_t index, const char* name, std::span<std::byte> bytes) {
  const size_t given = board_file_bytes(name);
  if (given == kNoFile) return reject(role, index, "its file cannot be read");
  if (given != bytes.size()) {
    error()
        .text(role)
        .text(" ")
        .number(static_cast<int64_t>(index))
        .text(" does not fit: the program takes ")
        .number(static_cast<int64_t>(bytes.size()))
        .text(" bytes, the file ")
        .text(name)
        .text(" has ")
        .number(static_cast<int64_t>(given));
    return false;
  }
  return board_read_file(name, bytes) || reject(role, index, "its file cannot be read");
}

bool read_input(size_t index, const char* name, const Options& options, uint32_t sample, std::span<std::byte> bytes) {
  if (options.samples == 0) return read_bytes("input", index, name, bytes);
  return read_bytes("input", index, FileName(name).number(sample).end(), bytes);
}

// The memory for an input. Empty if there is none.
std::span<std::byte> memory_of(runtime::Method& method, size_t index, runtime::Arena& arena) {
  const Tensor& tensor = method.input(index).tensor;
  const size_t bytes = tensor.bytes();
  if (tensor.data != nullptr) return {tensor.as<std::byte>(), bytes};
  const std::span<std::byte> memory(static_cast<std::byte*>(arena.allocate(bytes)), bytes);
  if (memory.data() == nullptr || method.set_input(index, memory) != runtime::Error::kOk) return {};
  return memory;
}

bool prepare_input(runtime::Method& method, size_t index, const Options& options, uint32_t sample,
                   runtime::Arena& arena) {
  if (!method.input(index).is_tensor()) return true;  // a number, which the export has fixed
  const Tensor& tensor = method.input(index).tensor;
  if (tensor.bytes() == 0) return true;
  const std::span<std::byte> memory = memory_of(method, index, arena);
  if (memory.empty()) return reject("input", index, "there is no memory for it in the method pool");
  if (options.input_count > 0) return read_input(index, options.inputs[index], options, sample, memory);
  fill_with_ones(tensor);
  return true;
}

template <typename T>
void show_integer(Line& line, const Tensor& tensor, size_t at) {
  line.number(static_cast<int64_t>(tensor.as<T>()[at]));
}

void show(Line& line, const Tensor& tensor, size_t at) {
  switch (tensor.type) {
    case PteScalarType::kComplexFloat:
    case PteScalarType::kComplexDouble:
    case PteScalarType::kComplexHalf:
      line.text("(complex)");
      return;
    case PteScalarType::kFloat:
      line.text("(float) ").fixed(static_cast<double>(tensor.as<float>()[at]), 6);
      return;
    case PteScalarType::kDouble:
      line.text("(double) ").fixed(tensor.as<double>()[at], 6);
      return;
    case PteScalarType::kLong:
      return show_integer<int64_t>(line.text("(int64) "), tensor, at);
    case PteScalarType::kInt:
      return show_integer<int32_t>(line.text("(int) "), tensor, at);
    case PteScalarType::kUInt32:
      return show_integer<uint32_t>(line.text("(uint32) "), tensor, at);
    case PteScalarType::kShort:
      return show_integer<int16_t>(line.text("(int16) "), tensor, at);
    case PteScalarType::kUInt16:
    case PteScalarType::kHalf:
    case PteScalarType::kBFloat16:
      return show_integer<uint16_t>(line.text("(uint16) "), tensor, at);
    case PteScalarType::kChar:
      return show_integer<int8_t>(line.text("(char) "), tensor, at);
    case PteScalarType::kByte:
      return show_integer<uint8_t>(line.text("(byte) "), tensor, at);
    case PteScalarType::kBool:
      return show_integer<uint8_t>(line.text("(bool) "), tensor, at);
  }
}

void show_output(size_t index, const Tensor& tensor) {
  const size_t elements = tensor.elements();
  for (size_t at = 0; at < std::min(elements, kShownElements); ++at) {
    Line line("");
    line.text("Output[").number(static_cast<int64_t>(index)).text("][").number(static_cast<int64_t>(at)).text("]: ");
    show(line, tensor, at);
  }
  if (elements > kShownElements)
    Line("")
        .text("Output[")
        .number(static_cast<int64_t>(index))
        .text("]: ")
        .number(static_cast<int64_t>(elements - kShownElements))
        .text(" more");
}

bool write_tensor(std::string_view role, size_t index, const Tensor& tensor, FileName& name) {
  return board_write_file(name.end(), {tensor.as<const std::byte>(), tensor.bytes()}) ||
         reject(role, index, "its file cannot be written");
}

}  // namespace

bool prepare_inputs(runtime::Method& method, const Options& options, uint32_t sample, runtime::Arena& arena) {
  if (options.input_count > 0 && options.input_count != method.inputs()) {
    error()
        .text("wrong number of inputs: the program takes ")
        .number(static_cast<int64_t>(method.inputs()))
        .text(", given are ")
        .number(static_cast<int64_t>(options.input_count));
    return false;
  }
  for (size_t i = 0; i < method.inputs(); ++i) {
    if (!prepare_input(method, i, options, sample, arena)) return false;
  }
  return true;
}

void show_outputs(const runtime::Method& method) {
  info().number(static_cast<int64_t>(method.outputs())).text(" outputs:");
  for (size_t i = 0; i < method.outputs(); ++i) {
    const runtime::EValue& value = method.output(i);
    if (value.is_tensor()) show_output(i, value.tensor);
  }
}

bool write_outputs(const runtime::Method& method, const Options& options, uint32_t sample) {
  if (options.output == nullptr) return true;
  for (size_t i = 0; i < method.outputs(); ++i) {
    const runtime::EValue& value = method.output(i);
    if (!value.is_tensor()) continue;
    FileName name(options.output);
    name.number(static_cast<uint32_t>(i));
    if (options.samples > 0) name.number(sample);
    if (!write_tensor("output", i, value.tensor, name)) return false;
  }
  return true;
}

bool read_state(const runtime::Method& method, const Options& options) {
  if (options.state_before == nullptr) return true;
  for (size_t i = 0; i < method.states(); ++i) {
    const Tensor& tensor = *method.state(i).tensor;
    FileName name = FileName(options.state_before).number(static_cast<uint32_t>(i));
    if (!read_bytes("state", i, name.end(), {tensor.as<std::byte>(), tensor.bytes()})) return false;
  }
  return true;
}

bool write_state(const runtime::Method& method, const Options& options) {
  if (options.state_after == nullptr) return true;
  for (size_t i = 0; i < method.states(); ++i) {
    FileName name = FileName(options.state_after).number(static_cast<uint32_t>(i));
    if (!write_tensor("state", i, *method.state(i).tensor, name)) return false;
  }
  return true;
}

}  // namespace carina::firmware
