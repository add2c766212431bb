#include "check/check_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "check/first_difference_internal.h"
#include "check/network_run_internal.h"
#include "check/part_internal.h"
#include "check/samples_internal.h"

// The check of a network, in this order:
//   1. the part that is checked: all, or with Check::kQuick what a fifth of the compilation's work pays for;
//   2. for each sample, inputs from the range of their types; the interpreter gives the expected bytes;
//   3. the simulator runs the same inputs in memory full of garbage, with registers that count as unset;
//   4. bytes are compared. A byte that nothing wrote is garbage, and so is what is computed from it;
//   5. with Check::kFull, the first sample runs again, and the simulator follows each byte: an operation that reads
//      what nothing wrote, or does not wait for what it reads, may still give the right values in the simulator's
//      order.
// After a difference, slower runs find out more: the plain loops of both engines, whether it is an engine that is
// wrong, and then the first value that differs.
namespace carina::check {

namespace {

class Check {
 public:
  Check(const NetworkCheck& what, const Log& log)
      : what_(what), log_(log), part_(part_of(what.tosa, what.network, what.extent, what.front_end)) {}

  Result<results::CheckReport> run();

 private:
  [[nodiscard]] ir::Graph graph() const {
    return part_.is_whole(what_.tosa) ? what_.tosa : first_nodes(what_.tosa, part_.extent.nodes);
  }
  [[nodiscard]] std::optional<Difference> compare(const Sample& sample, const simulate::Memory& memory) const;
  // The inputs of step `step` that are state: those of the step before it, whose results are given; nothing after the
  // last step that passes state on.
  [[nodiscard]] std::vector<GivenInput> state(int step, std::span<const Tensor> before) const;
  [[nodiscard]] int samples() const;
  // The engine whose fast kernels make the difference, because with its plain ones there is none; nullptr: the network
  // is wrong.
  [[nodiscard]] const char* wrong_engine(const Sample& sample, const simulate::Memory& memory) const;
  // The simulator's checks of each access to memory, in a slower run. Errors: the first finding.
  [[nodiscard]] Result<void> accesses(const Sample& sample) const;
  [[nodiscard]] simulate::Options options() const;
  [[nodiscard]] std::unexpected<Diagnostics> differs(const Sample& sample, Difference difference) const;
  [[nodiscard]] std::unexpected<Diagnostics> rejected(const Diagnostics& errors, std::optional<uint32_t> word) const;
  [[nodiscard]] results::CheckReport report(int samples, std::string unchecked) const;
  // A message about a node of the model, or about the network.
  [[nodiscard]] Diagnostic about(std::optional<size_t> node) const;

  const NetworkCheck& what_;
  const Log& log_;
  Part part_;
};

// The memory of results is the interpreter's until its next run.
std::vector<Tensor> copies_of(std::vector<Tensor> tensors) {
  for (Tensor& tensor : tensors) tensor.data = Buffer::copy_of(tensor.data.bytes());
  return tensors;
}

Result<results::CheckReport> Check::run() {
  if (part_.extent.nodes == 0 && !part_.is_whole(what_.tosa)) return report(0, kMoreThanAFifth);
  auto interpreter = interpreter_of(graph(), Fusing::kYes, what_.threads);
  if (!interpreter) return report(0, "the interpreter does not take the graph: " + interpreter.error().front().what);
  std::optional<uint32_t> word;  // of the last operation that ended
  simulate::Options watched = options();
  watched.after_operation = [&](uint32_t ended) { word = ended; };
  NetworkRun network(what_.network, std::move(watched));
  std::vector<Tensor> before;  // results of the last sample
  for (int s = 0; s < samples(); ++s) {
    auto sample = draw_sample(what_.tosa, *interpreter, s, state(s, before));
    if (!sample)
      return report(s, "the model has no result for the inputs that were drawn: " + sample.error().front().what);
    word.reset();
    if (const auto done = network.run(sample->inputs); !done) return rejected(done.error(), word);
    auto difference = compare(*sample, network.memory());
    before = copies_of(sample->results);
    if (!difference) {
      if (s == 0 && what_.extent == options::Check::kFull) CARINA_CHECKED(accesses(*sample));
      continue;
    }
    const char* const engine = wrong_engine(*sample, network.memory());
    if (engine == nullptr) return differs(*sample, *std::move(difference));
    CARINA_CHECKED(report_fast_kernels(engine, what_.tosa.name, log_));
    break;
  }
  return report(samples(), part_.is_whole(what_.tosa) ? "" : kMoreThanAFifth);
}

int Check::samples() const {
  const bool is_stepped = !what_.ties.empty() && part_.is_whole(what_.tosa) && part_.extent.samples == kSamples;
  if (!is_stepped) return part_.extent.samples;
  return kSteps + (what_.extent == options::Check::kFull ? kSamples : 0);  // and samples with any state
}

std::vector<GivenInput> Check::state(int step, std::span<const Tensor> before) const {
  std::vector<GivenInput> given;
  const bool is_stepped = step == 0 || (step < kSteps && part_.is_whole(what_.tosa));
  if (!is_stepped) return given;
  for (const StateTie& tie : what_.ties)
    given.push_back({.index = tie.input, .tensor = step == 0 ? tie.initial : before[tie.output]});
  return given;
}

std::optional<Difference> Check::compare(const Sample& sample, const simulate::Memory& memory) const {
  const bool is_whole = part_.is_whole(what_.tosa);
  for (size_t i = 0; i < sample.results.size(); ++i) {
    const Tensor& expected = sample.results[i];
    const ir::ValueId value = is_whole ? what_.tosa.outputs[i] : ir::ValueId(part_.results[i].value);
    auto difference = is_whole ? difference_of(what_.tosa, value, expected,
                                               bytes_of(what_.network.outputs[i], memory, expected.data.size()))
                               : difference_of(what_.tosa, value, expected, elements_of(part_.results[i], memory));
    if (difference) return difference;
  }
  return std::nullopt;
}

const char* Check::wrong_engine(const Sample& sample, const simulate::Memory& memory) const {
  Sample plain{.inputs = sample.inputs, .results = {}};
  auto interpreter = plain_interpreter_of(graph(), what_.threads);
  if (!interpreter) return nullptr;
  auto results = interpreter->run(sample.inputs);
  if (!results) return nullptr;
  plain.results = *std::move(results);
  if (!compare(plain, memory)) return kInterpreter;
  simulate::Options scalar = options();
  scalar.kernels = simulate::Kernels::kScalar;
  NetworkRun network(what_.network, std::move(scalar));
  const bool is_right = network.run(sample.inputs) && !compare(plain, network.memory());
  return is_right ? kSimulator : nullptr;
}

Result<void> Check::accesses(const Sample& sample) const {
  const std::string finding = first_finding(what_, sample.inputs);
  if (finding.empty()) return {};
  Diagnostic message = about(std::nullopt);
  message.what = fmt::format("the NPU program is wrong, although the values are the model's: {}", finding);
  return fail(std::move(message));
}

simulate::Options Check::options() const {
  simulate::Options options{
      .poison = simulate::Poison::kOn, .unset_register = simulate::UnsetRegister::kFault, .threads = what_.threads};
  if (!part_.is_whole(what_.tosa))
    options.end_word = static_cast<uint32_t>(what_.network.layers[part_.layers - 1].end_word);
  return options;
}

Diagnostic Check::about(std::optional<size_t> node) const {
  Diagnostic message{.where = "check", .what = {}, .hint = kMistake, .fault = Fault::kInternal, .node = node};
  if (node) message.where = place_of(what_.tosa.nodes[*node]);
  return message;
}

std::unexpected<Diagnostics> Check::differs(const Sample& sample, Difference difference) const {
  if (auto first = first_difference(what_, sample.inputs)) difference = *std::move(first);
  const ir::NodeId node = ir::producers(what_.tosa)[difference.value.index()];
  Diagnostic message = about(node.valid() ? std::optional(node.index()) : std::nullopt);
  message.what =
      fmt::format("the NPU program gives other values than the model for {}", what_.tosa[difference.value].name);
  if (const std::string finding = first_finding(what_, sample.inputs); !finding.empty())
    message.what += fmt::format(" [{}]", finding);
  message.expected = std::move(difference.expected);
  message.got = std::move(difference.got);
  return fail(std::move(message));
}

std::unexpected<Diagnostics> Check::rejected(const Diagnostics& errors, std::optional<uint32_t> word) const {
  const auto is_next = [&](const npu::LayerNote& layer) {
    return layer.first_word != layer.end_word && (!word || layer.first_word > *word);
  };
  const auto next = std::ranges::find_if(what_.network.layers, is_next);
  const std::optional<size_t> node = next == what_.network.layers.end() ? std::nullopt : next->node;
  Diagnostic message = about(node);
  message.what = fmt::format("the NPU program is wrong: {}", to_string(errors.front()));
  return fail(std::move(message));
}

results::CheckReport Check::report(int samples, std::string unchecked) const {
  return {.operators = samples == 0 ? 0 : static_cast<int64_t>(part_.extent.nodes),
          .samples = samples,
          .unchecked = std::move(unchecked)};
}

}  // namespace

Result<results::CheckReport> check_network(const NetworkCheck& what, const Log& log) {
  return Check(what, log).run();
}

}  // namespace carina::check
