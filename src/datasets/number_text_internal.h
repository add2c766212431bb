#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/log.h"
#include "datasets/samples.h"

// Numbers in text, as tensors.
namespace carina::datasets {

// "1, 2.5;3" -> numbers; nothing when some part is none.
std::optional<std::vector<double>> numbers_in_line(std::string_view line);

// The rows of a CSV, all of one length: numbers separated by commas, semicolons, tabs or blanks; a first line of titles is
// skipped with a note. Errors: no numbers, rows of different lengths, something else among the numbers (its line).
Result<std::vector<std::vector<double>>> read_csv(std::string_view text, const std::string& where, const Log& log);

// A tensor of the input's type with these elements. Errors: another count; a number that the type does not have.
Result<Tensor> tensor_of_numbers(std::span<const double> numbers, const InputType& input, const std::string& where);

// An input that is a number of the program, from its text. Errors: no such number; another than the program's.
Result<Tensor> number_of_program(const std::string& text, const InputType& input);
// The same from an array of no axes.
Result<Tensor> number_of_program(const Tensor& array, const InputType& input);

}  // namespace carina::datasets
