#include "evaluate/kernel_evaluator.h"

#include "evaluate/program_runner.h"
#include "normalize/core_aten.h"
#include "pte/emit.h"
#include "pte/writer.h"

namespace carina::evaluate {

namespace {

class KernelProgram final : public ir::Evaluation {
 public:
  explicit KernelProgram(std::unique_ptr<ProgramRunner> runner) : runner_(std::move(runner)) {}

  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs) override {
    CARINA_TRY(std::vector<datasets::NamedTensor> named, runner_->run({inputs.begin(), inputs.end()}));
    std::vector<Tensor> outputs;
    for (datasets::NamedTensor& output : named) outputs.push_back(std::move(output.tensor));
    return outputs;
  }

 private:
  std::unique_ptr<ProgramRunner> runner_;
};

}  // namespace

Result<std::unique_ptr<ir::Evaluation>> KernelEvaluator::load(const ir::Graph& graph) const {
  ir::Graph program = graph;
  program.states.clear();  // plain inputs and outputs of the evaluation
  CARINA_CHECKED(normalize::to_core_aten(program, Log{}));
  CARINA_TRY(const pte::Program emitted, pte::emit(program, {}));
  CARINA_TRY(const std::vector<std::byte> bytes, pte::write_program(emitted, {}));
  const std::string where = graph.nodes.empty() ? graph.name : graph.nodes.front().name;
  CARINA_TRY(std::unique_ptr<ProgramRunner> runner,
             ProgramRunner::load(Buffer::copy_of(bytes), where, {}, {}, {.kind = RunnerKernels::Kind::kPortable}));
  return std::make_unique<KernelProgram>(std::move(runner));
}

}  // namespace carina::evaluate
