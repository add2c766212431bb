#include "execute/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "base/split_mix64.h"
#include "datasets/outputs.h"
#include "execute/method_sessions.h"
#include "execute/run.h"
#include "tensor/elements.h"

namespace carina::execute {

namespace {

std::unexpected<Diagnostics> no_language_model(const std::string& where) {
  return fail({.where = where,
               .what = "this is no program that generates tokens",
               .expected = "a method with one token id (int64 or int32) and, if it has a second input, its position"});
}

// A method that takes tokens, and how many.
struct Reader {
  ProgramSession* session = nullptr;
  int64_t tokens = 0;
};

Reader reader_of(ProgramSession& session) {
  const std::vector<datasets::InputType> inputs = session.inputs();
  const auto fits = [](const datasets::InputType& input) {
    return !input.number && (input.dtype == DType::kInt64 || input.dtype == DType::kInt32);
  };
  if (inputs.empty() || inputs.size() > 2 || !std::ranges::all_of(inputs, fits)) return {};
  const int64_t tokens = inputs.front().shape.elements();
  if (inputs.size() == 2 && inputs.back().shape.elements() != tokens) return {};
  return {.session = &session, .tokens = tokens};
}

// Runs a method on tokens that stand from `position` on. Returns the logits of the next token.
Result<std::vector<double>> read(const Reader& reader, std::span<const int64_t> tokens, int64_t position) {
  std::vector<int64_t> positions(tokens.size());
  std::iota(positions.begin(), positions.end(), position);
  const std::vector<datasets::InputType> types = reader.session->inputs();
  datasets::Sample sample{integer_tensor(types[0].dtype, types[0].shape, tokens)};
  if (types.size() == 2) sample.push_back(integer_tensor(types[1].dtype, types[1].shape, positions));
  CARINA_TRY(const std::vector<datasets::NamedTensor> outputs, reader.session->run(sample));
  const auto logits = outputs.empty() ? std::nullopt : numbers_of(outputs.front().tensor);
  if (!logits || outputs.front().tensor.shape.rank() == 0) return no_language_model("logits");
  const Shape& shape = outputs.front().tensor.shape;
  return std::vector<double>(logits->end() - static_cast<std::ptrdiff_t>(shape[shape.rank() - 1]), logits->end());
}

// The most likely token, or one of the `top_k` most likely ones by their probabilities. Of equal ones, the first.
int64_t next_token(const std::vector<double>& logits, int64_t top_k, SplitMix64& random) {
  std::vector<size_t> order(logits.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto kept = std::min(static_cast<size_t>(top_k), logits.size());
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(kept),
                            [&](size_t a, size_t b) { return logits[a] != logits[b] ? logits[a] > logits[b] : a < b; });
  std::vector<double> upto;  // sums of probabilities, up to a factor
  for (size_t i = 0; i < kept; ++i)
    upto.push_back((upto.empty() ? 0 : upto.back()) + std::exp(logits[order[i]] - logits[order[0]]));
  const double drawn = kept == 1 ? 0 : std::ldexp(static_cast<double>(random.next() >> 11), -53) * upto.back();
  const auto found = std::ranges::upper_bound(upto, drawn);
  return static_cast<int64_t>(order[std::min(static_cast<size_t>(found - upto.begin()), kept - 1)]);
}

// The method that generates, and the one that reads prompts, which may be missing.
struct Readers {
  Reader step;
  Reader prompt;
};

Readers readers_of(MethodSessions& methods) {
  Readers readers;
  for (const auto& [name, session] : methods.all()) {
    const Reader reader = reader_of(*session);
    if (reader.tokens == 1 && readers.step.tokens == 0) readers.step = reader;
    if (reader.tokens > std::max<int64_t>(1, readers.prompt.tokens)) readers.prompt = reader;
  }
  return readers;
}

}  // namespace

Result<results::RunReport> generate(const Buffer& program, const std::string& where, const GenerateOptions& what,
                                    const std::string& folder, const RunOptions& options, const Log& log) {
  if (what.prompt.empty())
    return fail({.where = "--tokens", .what = "generation begins with a token", .fault = Fault::kUsage});
  CARINA_TRY(MethodSessions methods, MethodSessions::load(program, where, options, log));
  const Readers readers = readers_of(methods);
  if (readers.step.tokens == 0) return no_language_model(where);
  std::vector<double> logits;
  std::vector<int64_t> made;
  SplitMix64 random(what.seed);
  int64_t position = 0;
  std::span<const int64_t> left = what.prompt;
  while (!left.empty() || static_cast<int64_t>(made.size()) < what.count) {
    log.progress("token", made.size(), static_cast<size_t>(what.count));
    const bool whole = readers.prompt.tokens > 1 && static_cast<int64_t>(left.size()) >= readers.prompt.tokens;
    const Reader& reader = whole ? readers.prompt : readers.step;
    const std::vector<int64_t> tokens =
        left.empty() ? std::vector{made.back()} : std::vector(left.begin(), left.begin() + reader.tokens);
    left = left.subspan(std::min(left.size(), tokens.size()));
    CARINA_TRY(logits, read(reader, tokens, position));
    position += reader.tokens;
    if (left.empty()) made.push_back(next_token(logits, what.top_k, random));
  }
  RunOutcome outcome = readers.step.session->figures();
  CARINA_TRY(results::RunReport report, run_report(outcome, where, options));
  const Shape shape{static_cast<int64_t>(made.size())};
  const std::vector<datasets::NamedTensor> outputs{
      {.name = "tokens", .tensor = integer_tensor(DType::kInt64, shape, made)}};
  CARINA_TRY(report.outputs, datasets::report_tensors(outputs, folder));
  report.samples = position;
  return report;
}

}  // namespace carina::execute
