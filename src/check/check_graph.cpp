#include "check/check_graph.h"

#include <fmt/format.h>

#include <optional>
#include <span>
#include <utility>

#include "check/first_difference_internal.h"
#include "check/part_internal.h"
#include "check/samples_internal.h"

namespace carina::check {

namespace {

using Results = std::vector<Tensor>;

// The first result that differs.
std::optional<Difference> compare(const ir::Graph& graph, std::span<const Tensor> expected,
                                  std::span<const Tensor> got) {
  for (size_t i = 0; i < expected.size(); ++i) {
    if (auto difference = difference_of(graph, graph.outputs[i], expected[i], got[i].data.bytes())) return difference;
  }
  return std::nullopt;
}

// The inputs in the shapes of the file, which may hold a scalar as a list of one element.
std::vector<Tensor> in_shapes_of(const ir::Graph& written, std::span<const Tensor> inputs) {
  std::vector<Tensor> shaped(inputs.begin(), inputs.end());
  for (size_t i = 0; i < shaped.size(); ++i) shaped[i].shape = written[written.inputs[i]].shape;
  return shaped;
}

Result<Results> run_plainly(const ir::Graph& graph, int threads, std::span<const Tensor> inputs) {
  CARINA_TRY(auto interpreter, plain_interpreter_of(graph, threads));
  return interpreter.run(inputs);
}

results::CheckReport report_of(size_t nodes, int samples, std::string unchecked) {
  return {.operators = samples == 0 ? 0 : static_cast<int64_t>(nodes),
          .samples = samples,
          .unchecked = std::move(unchecked)};
}

std::unexpected<Diagnostics> differs(const ir::Graph& graph, Difference difference) {
  const ir::NodeId node = ir::producers(graph)[difference.value.index()];
  return fail({.where = node.valid() ? place_of(graph[node]) : "check",
               .what = fmt::format("the file gives another value than the model for {}", graph[difference.value].name),
               .expected = std::move(difference.expected),
               .got = std::move(difference.got),
               .hint = kMistake,
               .fault = Fault::kInternal,
               .node = node.valid() ? std::optional(node.index()) : std::nullopt});
}

}  // namespace

Result<results::CheckReport> check_graph(const GraphCheck& what, const Log& log) {
  const auto [nodes, samples] = extent_of_file_check(what.tosa, what.extent, what.front_end);
  const bool is_whole = nodes == what.tosa.nodes.size();
  const std::string unchecked = is_whole ? "" : kMoreThanAFifth;
  if (nodes == 0 && !is_whole) return report_of(0, 0, unchecked);
  const ir::Graph asked = is_whole ? what.tosa : first_nodes(what.tosa, nodes);
  const ir::Graph& written = is_whole ? what.written : asked;
  auto single = interpreter_of(asked, Fusing::kNo, what.threads);
  auto fused = interpreter_of(written, Fusing::kYes, what.threads);
  if (!single || !fused)
    return report_of(0, 0,
                     "the interpreter does not take the graph: " + (single ? fused : single).error().front().what);
  for (int s = 0; s < samples; ++s) {
    auto sample = draw_sample(asked, *single, s);
    if (!sample)
      return report_of(nodes, s,
                       "the model has no result for the inputs that were drawn: " + sample.error().front().what);
    const std::vector<Tensor> inputs = in_shapes_of(written, sample->inputs);
    auto got = fused->run(inputs);
    if (got && !compare(asked, sample->results, *got)) continue;
    const auto right = run_plainly(asked, what.threads, sample->inputs);
    got = run_plainly(written, what.threads, inputs);
    if (!right) return fail(right.error());
    if (!got) return fail(std::move(got).error());
    if (auto difference = compare(asked, *right, *got)) return differs(asked, *std::move(difference));
    CARINA_CHECKED(report_fast_kernels(kInterpreter, asked.name, log));
    break;
  }
  return report_of(nodes, samples, unchecked);
}

}  // namespace carina::check
