#include "driver/bundle_program.h"

#include <fmt/format.h>

#include "driver/bundle.h"
#include "driver/file_kind.h"
#include "driver/import.h"
#include "driver/kernel_evaluator.h"
#include "driver/run_inputs.h"
#include "driver/run_program.h"
#include "quantize/float_run.h"

namespace carina::driver {

namespace {

using Outputs = std::vector<std::vector<NamedTensor>>;

Result<Outputs> outputs_of_model(const BundleRequest& request, std::span<const Sample> samples, const Log& log) {
  CARINA_TRY(const Buffer file, open_file(request.model, {FileKind::kPt2}));
  CARINA_TRY(const Model model, import_pt2(file, request.model, log));
  const KernelEvaluator evaluator;
  CARINA_TRY(quantize::FloatRun run,
             quantize::FloatRun::create(
                 model.graph, {.threads = request.threads, .evaluator = &evaluator, .where = request.model}, log));
  Outputs outputs;
  for (const Sample& sample : samples) {
    CARINA_TRY(const std::vector<Tensor> tensors, run.run(sample));
    std::vector<NamedTensor>& named = outputs.emplace_back();
    for (const Tensor& tensor : tensors)
      named.push_back({.name = fmt::format("output_{}", named.size()), .tensor = tensor});
  }
  return outputs;
}

// A program whose inputs or outputs are raw integers answers in other types than its model.
Result<void> check_types(const Outputs& expected, const Outputs& run, const std::string& model) {
  for (size_t i = 0; i < run.front().size(); ++i) {
    const Tensor& got = run.front()[i].tensor;
    const bool there = i < expected.front().size();
    if (there && expected.front()[i].tensor.dtype == got.dtype && expected.front()[i].tensor.shape == got.shape)
      continue;
    return fail({.where = model,
                 .what = fmt::format("output {} of the model is not of the program's type", i),
                 .expected = type_text(got.dtype, got.shape),
                 .got = there ? type_text(expected.front()[i].tensor.dtype, expected.front()[i].tensor.shape)
                              : std::string("none"),
                 .hint = "expect what the program gives instead: --expected run"});
  }
  return {};
}

}  // namespace

Result<std::vector<std::byte>> bundle_program(const Buffer& program, const BundleRequest& request, const Log& log) {
  if (request.inputs.empty())
    return fail({.where = "--output",
                 .what = "a .bpte has test cases, whose inputs are not given",
                 .expected = "--test-inputs FILE.npz, or -o FILE.pte",
                 .fault = Fault::kUsage});
  std::vector<Sample> samples;
  const auto source = [&](std::span<const InputType> types) -> Result<std::vector<Sample>> {
    CARINA_TRY(InputBatch batch, load_batch(request.inputs, types, {}, log));
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

}  // namespace carina::driver
