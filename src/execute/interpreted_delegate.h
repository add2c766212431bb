#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "carina/result.h"
#include "execute/interpreted_graph.h"
#include "runtime/backend.h"

namespace carina::execute {

// A runtime backend that runs Ethos-U delegates by interpreting their TOSA graphs instead of their command streams. The
// outputs are the bits that the NPU should give.
class InterpretedDelegates final : public runtime::Backend {
 public:
  // Reads output_tag<n>_*.tosa and output_tag<n>_vela.npz of a folder that `carina compile --dump` wrote. Errors: no
  // such files, damaged files.
  static Result<InterpretedDelegates> load(const std::string& folder, int threads);

  [[nodiscard]] std::string_view id() const override;
  // Finds the graph whose output_tag<n>_vela.npz has the delegate's commands and weights. Error: kInvalidArgument if
  // the folder belongs to another program; failure() gives that reason.
  runtime::Error init(std::span<const std::byte> blob, std::span<const runtime::CompileSpec> specs,
                      runtime::Arena& arena, void** handle) override;
  runtime::Error execute(void* handle, runtime::Arguments arguments, runtime::Arena& scratch) override;

  [[nodiscard]] const Diagnostics& failure() const { return failure_; }
  void clear_failure() { failure_.clear(); }

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
