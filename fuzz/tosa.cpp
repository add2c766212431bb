// Any bytes as a TOSA file. What is accepted is sound, survives writing and the text form unchanged, can be verified,
// and is run where it is small.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "base/checked_math.h"
#include "interpret/interpreter.h"
#include "ir/pass.h"
#include "ir/text.h"
#include "tosa/flatbuffer.h"
#include "tosa/verify.h"

namespace {

using namespace carina;

constexpr int64_t kMostElements = 1 << 16;

void require(bool condition) {
  if (!condition) std::abort();
}

void check_forms(const ir::Module& module) {
  const auto parsed = ir::parse(ir::print(module), "fuzz");
  require(parsed && identical(module, *parsed));
  const auto written = tosa::write_tosa(module);
  if (!written) return;
  const auto again = tosa::read_tosa(Buffer::copy_of(*written), "fuzz");
  require(again.has_value());
  const auto rewritten = tosa::write_tosa(*again);
  require(rewritten && *rewritten == *written);
}

bool is_small(const ir::Module& module) {
  for (const ir::Graph& graph : module.graphs) {
    for (const ir::Value& value : graph.values) {
      if (checked_product(value.shape.dims()).value_or(kMostElements + 1) > kMostElements) return false;
    }
  }
  return true;
}

void run(const ir::Module& module) {
  auto interpreter =
      interpret::Interpreter::create(module, {.memory_budget_bytes = size_t{1} << 20, .loop_limit = 100});
  if (!interpreter) return;
  std::vector<Tensor> inputs;
  for (const ir::ValueId id : module.main().inputs) {
    const ir::Value& value = module.main()[id];
    MutableTensor zeros(value.dtype, value.shape);
    std::memset(zeros.bytes().data(), 0, zeros.bytes().size());
    inputs.push_back(std::move(zeros).freeze());
  }
  (void)interpreter->run(inputs);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto module = tosa::read_tosa(Buffer::copy_of(std::as_bytes(std::span(data, size))), "fuzz");
  if (!module) return 0;
  for (const ir::Graph& graph : module->graphs) require(verify_structure(graph).has_value());
  check_forms(*module);
  (void)tosa::verify(*module);
  if (is_small(*module)) run(*module);
  return 0;
}
