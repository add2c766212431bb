// Parses numbers in text to tensors.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "carina/log.h"
#include "carina/result.h"
#include "datasets/samples.h"

// Numbers in text, as tensors.
namespace carina::datasets {

// Parses "1, 2.5;3" to three numbers. Returns no value if a part is not a number.
std::optional<std::vector<double>> numbers_in_line(std::string_view line);

// Parses a CSV to rows of equal length. Numbers are separated by commas, semicolons, tabs or blanks; a first line of
// titles is skipped with a note. Errors: no numbers, rows of different lengths, text that is not a number (with its
// line).
Result<std::vector<std::vector<double>>> read_csv(std::string_view text, const std::string& where, const Log& log);

// Returns a tensor of the input's type with these elements. Errors: a wrong count; a number outside of the type's
// range.
Result<Tensor> tensor_of_numbers(std::span<const double> numbers, const InputType& input, const std::string& where);

// Parses an input that is a fixed number of the program. Errors: not a number; not the number of the program.
Result<Tensor> number_of_program(const std::string& text, const InputType& input);
// Converts an array without axes to an input that is a fixed number of the program. Errors: not the program's number.
Result<Tensor> number_of_program(const Tensor& array, const InputType& input);

}  // namespace carina::datasets
