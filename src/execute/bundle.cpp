#include "execute/bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/io/file.h"
#include "evaluate/memory_order.h"
#include "pte/scalar_type.h"
#include "tensor/elements.h"
#include "tensor/float_formats.h"

namespace carina::execute {

namespace {

// Copies the elements in the order of the shape's axes.
Tensor tensor_of(const pte::BundledTensor& bundled) {
  Tensor tensor{.dtype = bundled.dtype, .shape = bundled.shape, .data = bundled.data};
  if (bundled.dim_order.empty()) return tensor;
  const std::vector<int32_t> sizes(bundled.shape.dims().begin(), bundled.shape.dims().end());
  const runtime::Tensor header(pte::scalar_type_of(bundled.dtype).value(), sizes, bundled.dim_order, nullptr);
  tensor.data = evaluate::from_memory_order(header, bundled.data.bytes());
  return tensor;
}

template <typename T>
Tensor number_tensor(DType dtype, T number) {
  return {.dtype = dtype, .shape = Shape{}, .data = Buffer::copy_of(std::as_bytes(std::span(&number, 1)))};
}

Tensor tensor_of(const pte::BundledValue& value) {
  if (const auto* tensor = std::get_if<pte::BundledTensor>(&value)) return tensor_of(*tensor);
  if (const auto* integer = std::get_if<int64_t>(&value)) return number_tensor(DType::kInt64, *integer);
  if (const auto* number = std::get_if<double>(&value)) return number_tensor(DType::kFp64, *number);
  return number_tensor(DType::kBool, static_cast<uint8_t>(std::get<bool>(value) ? 1 : 0));
}

// The elements as doubles, if the tensor has a float type.
std::optional<std::vector<double>> floats_of(const Tensor& tensor) {
  if (tensor.dtype == DType::kFp32 || tensor.dtype == DType::kFp64) return numbers_of(tensor);
  if (tensor.dtype != DType::kFp16 && tensor.dtype != DType::kBf16) return std::nullopt;
  std::vector<double> numbers;
  for (const uint16_t bits : tensor.values<uint16_t>())
    numbers.push_back(tensor.dtype == DType::kFp16 ? fp16_to_fp32(bits) : bf16_to_fp32(bits));
  return numbers;
}

std::vector<double> doubles_of(const std::vector<int64_t>& integers) {
  return {integers.begin(), integers.end()};
}

bool is_near(double got, double expected, Tolerance tolerance) {
  if (std::isnan(got) || std::isnan(expected)) return std::isnan(got) && std::isnan(expected);
  if (std::isinf(got) || std::isinf(expected)) return got == expected;
  return std::abs(got - expected) <= tolerance.absolute + std::abs(tolerance.relative * expected);
}

// The index of an element as text: "[0,3]".
std::string place_text(const Shape& shape, size_t element) {
  std::vector<int64_t> index(shape.rank());
  for (size_t axis = shape.rank(); axis-- > 0;) {
    index[axis] = static_cast<int64_t>(element) % shape[axis];
    element /= static_cast<size_t>(shape[axis]);
  }
  return to_string(Shape(index));
}

void compare(const std::vector<double>& got, const std::vector<double>& expected, const Shape& shape,
             Tolerance tolerance, results::OutputCheck& check) {
  for (size_t i = 0; i < got.size(); ++i) {
    const double difference = std::abs(got[i] - expected[i]);
    if (std::isfinite(difference)) check.largest_difference = std::max(check.largest_difference, difference);
    if (is_near(got[i], expected[i], tolerance)) continue;
    if (check.wrong++ == 0)
      check.first_wrong = fmt::format("{}: expected {:.7g}, got {:.7g}", place_text(shape, i), expected[i], got[i]);
  }
}

results::OutputCheck no_such_output(const Tensor& expected) {
  return {.type = datasets::type_text(expected.dtype, expected.shape),
          .elements = expected.elements(),
          .wrong = expected.elements(),
          .first_wrong = "the program has fewer outputs than the test case"};
}

// Converts a tensor to a value of a bundled program: a number if the program's input or output is a scalar.
pte::BundledValue value_of(const Tensor& tensor, bool is_number) {
  if (!is_number)
    return pte::BundledTensor{.dtype = tensor.dtype, .shape = tensor.shape, .dim_order = {}, .data = tensor.data};
  if (tensor.dtype == DType::kFp64) return tensor.values<double>().front();
  if (tensor.dtype == DType::kBool) return tensor.values<uint8_t>().front() != 0;
  return tensor.values<int64_t>().front();
}

Result<void> check_writable(const Tensor& tensor, const std::string& name) {
  if (pte::scalar_type_of(tensor.dtype)) return {};
  return fail({.where = name,
               .what = "a bundled program cannot hold this element type",
               .got = std::string(name_of(tensor.dtype))});
}

}  // namespace

results::OutputCheck check_output(const Tensor& got, const Tensor& expected, Tolerance tolerance) {
  results::OutputCheck check{.type = datasets::type_text(expected.dtype, expected.shape),
                             .elements = expected.elements()};
  if (got.dtype != expected.dtype || got.shape != expected.shape) {
    check.wrong = check.elements;
    check.first_wrong = fmt::format("got {}", datasets::type_text(got.dtype, got.shape));
    return check;
  }
  if (const auto floats = floats_of(got)) {
    compare(*floats, *floats_of(expected), got.shape, tolerance, check);
  } else {
    compare(doubles_of(integers_of(got)), doubles_of(integers_of(expected)), got.shape, {.relative = 0, .absolute = 0},
            check);
  }
  return check;
}

Result<std::vector<pte::TestSuite>> test_suites_of(const std::string& path) {
  CARINA_TRY(const Buffer file, map_file(path));
  if (!pte::is_bundled_program(file)) return std::vector<pte::TestSuite>();
  CARINA_TRY(pte::BundledProgram bundle, pte::read_bundled_program(file, path));
  return std::move(bundle.suites);
}

datasets::Sample sample_of(const pte::TestCase& test) {
  datasets::Sample sample;
  for (const pte::BundledValue& value : test.inputs) sample.push_back(tensor_of(value));
  return sample;
}

results::TestCaseReport check_case(const pte::TestCase& test, std::span<const datasets::NamedTensor> outputs,
                                   Tolerance tolerance) {
  results::TestCaseReport report{.method = {}, .outputs = {}};
  for (size_t i = 0; i < test.expected_outputs.size(); ++i) {
    const Tensor expected = tensor_of(test.expected_outputs[i]);
    report.outputs.push_back(i < outputs.size() ? check_output(outputs[i].tensor, expected, tolerance)
                                                : no_such_output(expected));
  }
  return report;
}

Result<BundleOutcome> run_bundle(const pte::BundledProgram& bundle, const std::string& where, Tolerance tolerance,
                                 const RunOptions& options, const Log& log) {
  BundleOutcome outcome{
      .tests = {.relative_tolerance = tolerance.relative, .absolute_tolerance = tolerance.absolute, .cases = {}},
      .outputs = {},
      .run = {}};
  for (const pte::TestSuite& suite : bundle.suites) {
    if (!options.method.empty() && suite.method != options.method) continue;
    RunOptions of_suite = options;
    of_suite.method = suite.method;
    for (size_t i = 0; i < suite.cases.size(); ++i) {
      const datasets::Sample sample = sample_of(suite.cases[i]);
      const std::string name = fmt::format("{}: {}, test case {}", where, suite.method, i);
      CARINA_TRY(
          RunOutcome run,
          run_program(bundle.program, name, [&](auto) -> Result<datasets::Sample> { return sample; }, of_suite, log));
      results::TestCaseReport report = check_case(suite.cases[i], run.outputs, tolerance);
      report.method = suite.method;
      report.index = static_cast<int64_t>(i);
      outcome.tests.cases.push_back(std::move(report));
      outcome.outputs.push_back(std::move(run.outputs));
      for (pte::RunRecord& record : run.records) record.test_case = static_cast<int32_t>(i);
      if (outcome.tests.cases.size() == 1) {
        outcome.run = std::move(run);
      } else {
        std::ranges::move(run.records, std::back_inserter(outcome.run.records));
      }
    }
  }
  if (!outcome.tests.cases.empty()) return outcome;
  return fail({.where = where,
               .what = options.method.empty() ? "the bundled program has no test case"
                                              : fmt::format("no test case for the method {}", options.method),
               .hint = "give inputs of your own: -i FILE"});
}

Result<std::vector<std::byte>> write_bundle(const Buffer& program, const std::string& method,
                                            std::span<const datasets::Sample> samples,
                                            std::span<const std::vector<datasets::NamedTensor>> expected,
                                            std::span<const datasets::InputType> inputs) {
  pte::TestSuite suite{.method = method, .cases = {}};
  for (size_t n = 0; n < samples.size(); ++n) {
    pte::TestCase& test = suite.cases.emplace_back();
    for (size_t i = 0; i < samples[n].size(); ++i) {
      CARINA_CHECKED(check_writable(samples[n][i], inputs[i].name));
      test.inputs.push_back(value_of(samples[n][i], inputs[i].number.has_value()));
    }
    for (const datasets::NamedTensor& output : expected[n]) {
      CARINA_CHECKED(check_writable(output.tensor, output.name));
      test.expected_outputs.push_back(value_of(output.tensor, false));
    }
  }
  return pte::write_bundled_program({.suites = {std::move(suite)}, .program = program});
}

}  // namespace carina::execute
