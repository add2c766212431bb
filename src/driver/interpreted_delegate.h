#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "interpret/interpreter.h"
#include "runtime/backend.h"

namespace carina::driver {

// Runs Ethos-U delegates by their TOSA graphs in the interpreter instead of by their command streams: what the NPU
// should give, bit for bit.
class InterpretedDelegates final : public runtime::Backend {
 public:
  // Reads output_tag<n>_*.tosa of a folder that `carina compile --dump` wrote. Errors: none there, damaged files.
  static Result<InterpretedDelegates> load(const std::string& folder, int threads);

  [[nodiscard]] std::string_view id() const override;
  // The n-th delegate of a program is the n-th graph of the folder.
  runtime::Error init(std::span<const std::byte> blob, std::span<const runtime::CompileSpec> specs,
                      runtime::Arena& arena, void** handle) override;
  runtime::Error execute(void* handle, runtime::Arguments arguments, runtime::Arena& scratch) override;

  // Delegates are counted from 0 again: a program is about to be loaded anew.
  void restart() { next_ = 0; }
  [[nodiscard]] const Diagnostics& failure() const { return failure_; }

 private:
  struct Part {
    std::vector<DType> inputs;
    std::vector<Shape> shapes;
    interpret::Interpreter interpreter;
  };
  std::vector<Part> parts_;
  size_t next_ = 0;
  Diagnostics failure_;
};

}  // namespace carina::driver
