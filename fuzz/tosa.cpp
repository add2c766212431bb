// Any bytes as a TOSA file; what is accepted is sound, is written again, and is run where it is small.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>

#include "interpret/interpreter.h"
#include "ir/pass.h"
#include "tosa/flatbuffer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace carina;
  const auto module = tosa::read_tosa(Buffer::copy_of(std::as_bytes(std::span(data, size))), "fuzz");
  if (!module) return 0;
  for (const ir::Graph& graph : module->graphs) {
    if (!ir::verify_structure(graph)) std::abort();
  }
  (void)tosa::write_tosa(*module);
  auto interpreter =
      interpret::Interpreter::create(*module, {.memory_budget_bytes = size_t{1} << 20, .loop_limit = 100});
  if (!interpreter) return 0;
  std::vector<Tensor> inputs;
  for (const ir::ValueId id : module->main().inputs) {
    const ir::Value& value = module->main()[id];
    MutableTensor zeros(value.dtype, value.shape);
    std::memset(zeros.bytes().data(), 0, zeros.bytes().size());
    inputs.push_back(std::move(zeros).freeze());
  }
  (void)interpreter->run(inputs);
  return 0;
}
