#include "execute/bundle_program.h"

#include <fmt/format.h>

#include "datasets/run_inputs.h"
#include "evaluate/kernel_evaluator.h"
#include "execute/bundle.h"
#include "execute/run_program.h"
#include "files/file_kind.h"
#include "models/import.h"
#include "observe/float_run.h"

namespace carina::execute {

namespace {

using Outputs = std::vector<std::vector<datasets::NamedTensor>>;

Result<Outputs> outputs_of_model(const BundleRequest& request, std::span<const datasets::Sample> samples,
                                 const Log& log) {
  CARINA_TRY(const Buffer file, files::open_file(request.model, {files::FileKind::kPt2}));
  CARINA_TRY(const models::Model model, models::import_pt2(file, request.model, log));
  const evaluate::KernelEvaluator evaluator;
  CARINA_TRY(observe::FloatRun run,
             observe::FloatRun::create(
                 model.graph, {.threads = request.threads, .evaluator = &evaluator, .where = request.model}, log));
  Outputs outputs;
  for (const datasets::Sample& sample : samples) {
    CARINA_TRY(const std::vector<Tensor> tensors, run.run(sample));
    std::vector<datasets::NamedTensor>& named = outputs.emplace_back();
    for (const Tensor& tensor : tensors)
      named.push_back({.name = fmt::format("output_{}", named.size()), .tensor = tensor});
  }
  return outputs;
}

// If a program has raw integers as inputs or outputs, its types differ from those of the model.
Result<void> check_types(const Outputs& expected, const Outputs& run, const std::string& model) {
  for (size_t i = 0; i < run.front().size(); ++i) {
    const Tensor& got = run.front()[i].tensor;
    const bool there = i < expected.front().size();
    if (there && expected.front()[i].tensor.dtype == got.dtype && expected.front()[i].tensor.shape == got.shape)
      continue;
    return fail({.where = model,
                 .what = fmt::format("output {} of the model has another type than the program's output", i),
                 .expected = datasets::type_text(got.dtype, got.shape),
                 .got = there ? datasets::type_text(expected.front()[i].tensor.dtype, expected.front()[i].tensor.shape)
                              : std::string("none"),
                 .hint = "use the program's outputs as expected outputs: --expected run"});
  }
  return {};
}

}  // namespace

Result<std::vector<std::byte>> bundle_program(const Buffer& program, const BundleRequest& request, const Log& log) {
  if (request.inputs.empty())
    return fail({.where = "--output",
                 .what = "a .bpte needs inputs for its test cases",
                 .expected = "--test-inputs FILE.npz, or -o FILE.pte",
                 .fault = Fault::kUsage});
  std::vector<datasets::Sample> samples;
  const auto source = [&](std::span<const datasets::InputType> types) -> Result<std::vector<datasets::Sample>> {
    CARINA_TRY(datasets::InputBatch batch, datasets::load_batch(request.inputs, types, request.images, log));
    samples = std::move(batch.samples);
    return samples;
  };
  CARINA_TRY(BatchOutcome run,
             run_batch(program, "program", source, {.memories = {}, .threads = request.threads}, log));
  if (request.expected == Expected::kModel) {
    CARINA_TRY(Outputs expected, outputs_of_model(request, samples, log));
    CARINA_CHECKED(check_types(expected, run.outputs, request.model));
    run.outputs = std::move(expected);
  }
  return write_bundle(program, run.method, samples, run.outputs, run.inputs);
}

}  // namespace carina::execute
