#include "datasets/number_text_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/text/number.h"
#include "tensor/float_formats.h"

namespace carina::datasets {

namespace {

constexpr std::string_view kSeparators = ",; \t\r";

std::optional<double> number_of(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  return number_in<double>(text);
}

template <typename T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

// Writes the number as an element of the type. Returns false if the type cannot represent it.
bool store_element(std::byte* to, DType dtype, double number) {
  switch (dtype) {
    case DType::kFp32:
      return store(to, static_cast<float>(number)), true;
    case DType::kFp64:
      return store(to, number), true;
    case DType::kFp16:
      return store(to, fp32_to_fp16(static_cast<float>(number))), true;
    case DType::kBf16:
      return store(to, fp32_to_bf16(static_cast<float>(number))), true;
    case DType::kFp8E4M3:
      return store(to, fp32_to_fp8e4m3(static_cast<float>(number))), true;
    case DType::kFp8E5M2:
      return store(to, fp32_to_fp8e5m2(static_cast<float>(number))), true;
    case DType::kFp6E2M3:
      return store(to, fp32_to_fp6e2m3(static_cast<float>(number))), true;
    case DType::kFp6E3M2:
      return store(to, fp32_to_fp6e3m2(static_cast<float>(number))), true;
    case DType::kFp4E2M1:
      return store(to, fp32_to_fp4e2m1(static_cast<float>(number))), true;
    case DType::kFp8UE8M0:
      return store(to, fp32_to_fp8ue8m0(static_cast<float>(number))), true;
    default:
      break;
  }
  constexpr double kMaxExactInteger = 9007199254740992.0;  // 2^53: larger integers of the text may have been rounded
  if (number != std::floor(number) || std::abs(number) > kMaxExactInteger) return false;
  const auto integer = static_cast<int64_t>(number);
  const IntegerRange range = dtype == DType::kShape ? range_of(DType::kInt64) : range_of(dtype);
  if (integer < range.min || integer > range.max) return false;
  std::memcpy(to, &integer, element_bytes(dtype));  // two's complement, little-endian
  return true;
}

template <typename T>
std::optional<Tensor> scalar_tensor(DType dtype, const std::string& text) {
  const std::optional<T> number = number_in<T>(text);
  if (!number) return std::nullopt;
  return Tensor{.dtype = dtype, .shape = Shape{}, .data = Buffer::copy_of(std::as_bytes(std::span(&*number, 1)))};
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
               .what = is_number
                           ? "the program was exported for another value of this number, which is fixed in its code"
                           : "the input is a number of the program, not a tensor",
               .expected = text_of(*input.number),
               .got = std::move(got),
               .hint = "export the model again for another number, or make it a tensor"});
}

// Returns the lines that are not blank, with their numbers from 1.
std::vector<std::pair<size_t, std::string_view>> lines_of(std::string_view text) {
  std::vector<std::pair<size_t, std::string_view>> lines;
  size_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    ++number;
    if (line.find_first_not_of(kSeparators) != std::string_view::npos) lines.emplace_back(number, line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

std::optional<std::vector<double>> numbers_in_line(std::string_view line) {
  std::vector<double> numbers;
  size_t at = 0;
  while ((at = line.find_first_not_of(kSeparators, at)) != std::string_view::npos) {
    const size_t end = std::min(line.find_first_of(kSeparators, at), line.size());
    const std::optional<double> number = number_of(line.substr(at, end - at));
    if (!number) return std::nullopt;
    numbers.push_back(*number);
    at = end;
  }
  if (numbers.empty()) return std::nullopt;
  return numbers;
}

Result<std::vector<std::vector<double>>> read_csv(std::string_view text, const std::string& where, const Log& log) {
  std::vector<std::vector<double>> rows;
  bool titles = false;
  for (const auto& [number, line] : lines_of(text)) {
    std::optional<std::vector<double>> row = numbers_in_line(line);
    if (!row && rows.empty() && !titles) {
      titles = true;
      log.note({.where = where,
                .what = fmt::format("line {} has no numbers; it is skipped as a line of titles", number),
                .severity = Severity::kNote});
      continue;
    }
    if (!row) return fail({.where = fmt::format("{}:{}", where, number), .what = "not a number"});
    if (!rows.empty() && row->size() != rows.front().size())
      return fail({.where = fmt::format("{}:{}", where, number),
                   .what = "rows of different lengths",
                   .expected = fmt::format("{} numbers", rows.front().size()),
                   .got = std::to_string(row->size())});
    rows.push_back(*std::move(row));
  }
  if (rows.empty()) return fail({.where = where, .what = "the file has no numbers"});
  return rows;
}

Result<Tensor> tensor_of_numbers(std::span<const double> numbers, const InputType& input, const std::string& where) {
  if (static_cast<int64_t>(numbers.size()) != input.shape.elements())
    return fail({.where = where,
                 .what = fmt::format("the numbers do not fill the input {}", input.name),
                 .expected = fmt::format("{} for {}", input.shape.elements(), type_text(input.dtype, input.shape)),
                 .got = std::to_string(numbers.size())});
  MutableTensor tensor(input.dtype, input.shape);
  const size_t bytes = element_bytes(input.dtype);
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (!store_element(tensor.bytes().data() + i * bytes, input.dtype, numbers[i]))
      return fail({.where = where,
                   .what = fmt::format("the number is out of range for the input {}", input.name),
                   .expected = std::string(name_of(input.dtype)),
                   .got = fmt::format("{}", numbers[i])});
  }
  return std::move(tensor).freeze();
}

Result<Tensor> number_of_program(const std::string& text, const InputType& input) {
  const std::optional<Tensor> number = parsed_number(text, input.dtype);
  if (number && std::ranges::equal(number->data.bytes(), input.number->data.bytes())) return *number;
  return other_number(input, number.has_value(), text);
}

Result<Tensor> number_of_program(const Tensor& array, const InputType& input) {
  const bool is_number = array.shape.rank() == 0 && array.dtype == input.dtype;
  if (is_number && identical(array, *input.number)) return array;
  return other_number(input, is_number, is_number ? text_of(array) : type_text(array.dtype, array.shape));
}

}  // namespace carina::datasets
