#include "frontend/tflite/shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <optional>

namespace carina::tflite {

namespace {

constexpr int64_t kMaxElements = int64_t{1} << 31;

std::unexpected<Diagnostics> wrong(std::string what, std::string expected, std::string got) {
  return fail({.where = "--shape",
               .what = std::move(what),
               .expected = std::move(expected),
               .got = std::move(got),
               .fault = Fault::kUsage});
}

std::optional<std::vector<int64_t>> sizes_of(std::string_view text) {
  std::vector<int64_t> sizes;
  while (true) {
    const size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    int64_t size = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), size);
    if (error != std::errc() || end != part.data() + part.size() || size < 1) return std::nullopt;
    sizes.push_back(size);
    if (comma == std::string_view::npos) return sizes;
    text.remove_prefix(comma + 1);
  }
}

// The input that a text names, and the rest of the text.
struct Named {
  const Tensor* input = nullptr;
  std::string_view sizes;
};
Result<Named> named_input(const Subgraph& graph, std::string_view text) {
  const size_t equals = text.rfind('=');
  if (equals == std::string_view::npos) {
    if (graph.inputs.size() != 1) return wrong("the model has several inputs", "NAME=SHAPE", std::string(text));
    return Named{.input = &graph.tensors[static_cast<size_t>(graph.inputs.front())], .sizes = text};
  }
  const std::string_view name = text.substr(0, equals);
  std::string names;
  for (const int32_t index : graph.inputs) {
    const Tensor& tensor = graph.tensors[static_cast<size_t>(index)];
    if (tensor.name == name) return Named{.input = &tensor, .sizes = text.substr(equals + 1)};
    names += (names.empty() ? "" : ", ") + tensor.name;
  }
  return wrong("no input has this name", names, std::string(name));
}

// How many times the file's batch the given one is, as a fraction in lowest terms.
struct Ratio {
  int64_t to = 1;
  int64_t from = 1;
  [[nodiscard]] std::string text() const { return from == 1 ? fmt::to_string(to) : fmt::format("{}/{}", to, from); }
};
Result<Ratio> ratio_of(const Subgraph& graph, const std::string& text) {
  CARINA_TRY(const Named named, named_input(graph, text));
  const auto sizes = sizes_of(named.sizes);
  const Shape& shape = named.input->shape;
  if (!sizes) return wrong("not a shape", "sizes of at least 1, with commas between them", text);
  const auto dims = shape.dims();
  const bool fits = sizes->size() == dims.size() && !dims.empty() && dims[0] > 0 &&
                    std::equal(sizes->begin() + 1, sizes->end(), dims.begin() + 1);
  if (!fits || (!named.input->has_open_batch && sizes->front() != dims[0]))
    return wrong(
        fmt::format("input {} cannot have this shape", named.input->name),
        named.input->has_open_batch ? fmt::format("{} with another first size", to_string(shape)) : to_string(shape),
        text);
  const int64_t common = std::gcd(sizes->front(), dims[0]);
  return Ratio{.to = sizes->front() / common, .from = dims[0] / common};
}

}  // namespace

Result<void> set_shapes(Model& model, const std::vector<std::string>& texts) {
  Subgraph& graph = model.subgraphs.front();
  std::optional<Ratio> ratio;
  for (const std::string& text : texts) {
    CARINA_TRY(const Ratio one, ratio_of(graph, text));
    if (ratio && (ratio->to != one.to || ratio->from != one.from))
      return wrong("inputs have different batches", fmt::format("{} times the file's", ratio->text()), text);
    ratio = one;
  }
  if (!ratio) return {};
  for (Tensor& tensor : graph.tensors) {
    if (!tensor.has_open_batch || tensor.is_constant) continue;
    std::vector<int64_t> dims(tensor.shape.dims().begin(), tensor.shape.dims().end());
    const bool is_multiple = dims[0] % ratio->from == 0;
    const int64_t more = is_multiple ? dims[0] / ratio->from : 0;
    const int64_t one = dims[0] == 0 ? 0 : tensor.shape.elements() / dims[0];
    if (!is_multiple || (more != 0 && one != 0 && ratio->to > kMaxElements / more / one))
      return wrong(fmt::format("tensor {} cannot have this batch", tensor.name), {},
                   fmt::format("{} times {}", ratio->text(), dims[0]));
    dims[0] = more * ratio->to;
    tensor.shape = Shape(dims);
  }
  return {};
}

}  // namespace carina::tflite
