#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "execute/interpreted_graph.h"
#include "runtime/backend.h"

namespace carina::execute {

// Runs Ethos-U delegates by their TOSA graphs in the interpreter instead of by their command streams: what the NPU
// should give, bit for bit.
class InterpretedDelegates final : public runtime::Backend {
 public:
  // Reads output_tag<n>_*.tosa of a folder that `carina compile --dump` wrote, and output_tag<n>_vela.npz beside them.
  // Errors: none there, damaged files.
  static Result<InterpretedDelegates> load(const std::string& folder, int threads);

  [[nodiscard]] std::string_view id() const override;
  // A delegate is the graph whose output_tag<n>_vela.npz has its commands and weights. Error: kInvalidArgument for a
  // folder of another program; failure() says so.
  runtime::Error init(std::span<const std::byte> blob, std::span<const runtime::CompileSpec> specs,
                      runtime::Arena& arena, void** handle) override;
  runtime::Error execute(void* handle, runtime::Arguments arguments, runtime::Arena& scratch) override;

  [[nodiscard]] const Diagnostics& failure() const { return failure_; }

 private:
  struct Part {
    InterpretedGraph graph;
    std::vector<std::byte> commands;
    std::vector<std::byte> weights;
  };
  std::string folder_;
  std::vector<Part> parts_;
  Diagnostics failure_;
};

}  // namespace carina::execute
