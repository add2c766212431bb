#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

#include "check/first_difference_internal.h"
#include "check/network_run_internal.h"
#include "interpret/interpreter.h"

namespace carina::check {

namespace {

// The values that differ first are found in one run each: memory for the interpreter's values, at most this many bytes.
constexpr size_t kMaxKeptBytes = size_t{1} << 28;

// An element as text: an integer, or the bits of a float.
std::string element_text(const DTypeRow& type, std::span<const std::byte> bytes, size_t element) {
  uint64_t bits = 0;
  std::memcpy(&bits, &bytes[element * type.element_bytes], type.element_bytes);
  if (!type.is_integer) return fmt::format("{:#x}", bits);
  const int unused = 64 - 8 * static_cast<int>(type.element_bytes);
  return type.is_signed ? fmt::format("{}", static_cast<int64_t>(bits << unused) >> unused) : fmt::format("{}", bits);
}

// The values of the interpreter that have a note, by value.
Result<std::vector<std::optional<Tensor>>> plain_values(const NetworkCheck& what, std::span<const Tensor> inputs) {
  std::vector<std::optional<Tensor>> values(what.tosa.values.size());
  std::vector<bool> is_wanted(values.size());
  for (const npu::ValueNote& note : what.network.values) is_wanted[note.value] = true;
  size_t kept_bytes = 0;
  const interpret::Observer keep = [&](const ir::Graph&, ir::ValueId value, const Tensor& tensor) {
    if (!is_wanted[value.index()] || kept_bytes > kMaxKeptBytes) return;
    kept_bytes += tensor.data.size();
    values[value.index()] =
        Tensor{.dtype = tensor.dtype, .shape = tensor.shape, .data = Buffer::copy_of(tensor.data.bytes())};
  };
  CARINA_TRY(auto interpreter, interpret::Interpreter::create(
                                   {.graphs = {what.tosa}},
                                   {.threads = what.threads, .observer = keep, .kernels = interpret::Kernels::kPlain}));
  CARINA_CHECKED(interpreter.run(inputs));
  return values;
}

// The layer whose command starts at a word.
size_t layer_at(const npu::CompiledNetwork& network, size_t word) {
  const auto after = std::ranges::upper_bound(network.layers, word, {}, &npu::LayerNote::first_word);
  return static_cast<size_t>(std::distance(network.layers.begin(), after)) - 1;
}

}  // namespace

std::optional<Difference> difference_of(const ir::Graph& graph, ir::ValueId value, const Tensor& expected,
                                        std::span<const std::byte> got) {
  const std::span<const std::byte> wanted = expected.data.bytes();
  if (wanted.size() == got.size() && std::memcmp(wanted.data(), got.data(), got.size()) == 0) return std::nullopt;
  const DTypeRow& type = row_of(expected.dtype);
  size_t first = 0, differing = 0;
  const size_t count = std::min(wanted.size(), got.size()) / type.element_bytes;
  for (size_t i = count; i-- > 0;) {
    const size_t at = i * type.element_bytes;
    if (std::memcmp(&wanted[at], &got[at], type.element_bytes) == 0) continue;
    first = i;
    ++differing;
  }
  return Difference{
      .value = value,
      .expected = fmt::format("{} at element {} of {}", element_text(type, wanted, first), first,
                              to_string(graph[value].shape)),
      .got = fmt::format("{}; {} of {} elements differ", element_text(type, got, first), differing, count)};
}

std::optional<Difference> first_difference(const NetworkCheck& what, std::span<const Tensor> inputs) {
  const auto values = plain_values(what, inputs);
  if (!values) return std::nullopt;
  std::optional<Difference> first;
  NetworkRun* running = nullptr;
  const auto compare = [&](uint32_t word) {
    const size_t layer = layer_at(what.network, word);
    for (const npu::ValueNote& note : what.network.values) {
      if (first || note.layer != layer || !(*values)[note.value]) continue;
      first = difference_of(what.tosa, ir::ValueId(note.value), *(*values)[note.value],
                            elements_of(note, running->memory()));
    }
  };
  NetworkRun run(what.network, {.poison = simulate::Poison::kOn, .threads = what.threads, .after_operation = compare});
  running = &run;
  (void)run.run(inputs);
  return first;
}

std::string first_finding(const NetworkCheck& what, std::span<const Tensor> inputs) {
  NetworkRun run(what.network, {.checking = simulate::Checking::kOn, .threads = what.threads});
  const auto report = run.run(inputs);
  return report && !report->findings.empty() ? to_string(report->findings.front()) : std::string();
}

}  // namespace carina::check
