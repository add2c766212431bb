#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "base/diagnostic.h"
#include "driver/interpreted_graph.h"
#include "runtime/backend.h"

namespace carina::driver {

// VGF delegates in the interpreter: the bits that a device which keeps to the specification gives, on any machine.
class VgfDelegates final : public runtime::Backend {
 public:
  explicit VgfDelegates(int threads) : threads_(threads) {}

  [[nodiscard]] std::string_view id() const override;
  // Errors: kInvalidProgram for a blob that is no VGF file, or one of no TOSA 1.0 graph; failure() says why.
  runtime::Error init(std::span<const std::byte> blob, std::span<const runtime::CompileSpec> specs,
                      runtime::Arena& arena, void** handle) override;
  runtime::Error execute(void* handle, runtime::Arguments arguments, runtime::Arena& scratch) override;

  [[nodiscard]] const Diagnostics& failure() const { return failure_; }
  // What each call took, in nanoseconds of this machine, in the order of the calls.
  [[nodiscard]] const std::vector<int64_t>& times() const { return times_; }

 private:
  int threads_;
  std::vector<int64_t> times_;
  std::deque<InterpretedGraph> graphs_;  // handles point into it
  Diagnostics failure_;
};

// A VGF file, read and verified, to be called as a delegate. Errors: of the reader, the verifier and the interpreter.
Result<InterpretedGraph> load_vgf(std::span<const std::byte> file, int threads, const std::string& where);

}  // namespace carina::driver
