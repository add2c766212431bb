#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/backend.h"

namespace carina::execute {

// For each delegate call, in call order, the bytes of each of its outputs.
using DelegateOutputs = std::vector<std::vector<std::vector<std::byte>>>;

// A backend for Ethos-U delegates that forwards each call to another backend and keeps a copy of the outputs. So the
// result of a delegate can be compared even if the program's outputs do not depend on it.
class RecordedDelegates final : public runtime::Backend {
 public:
  // `runs` must outlive the recorder.
  explicit RecordedDelegates(runtime::Backend& runs) : runs_(runs) {}

  [[nodiscard]] std::string_view id() const override;
  [[nodiscard]] bool serves(std::string_view delegate_id) const override;
  runtime::Error init(std::span<const std::byte> blob, std::span<const runtime::CompileSpec> specs,
                      runtime::Arena& arena, void** handle) override;
  runtime::Error execute(void* handle, runtime::Arguments arguments, runtime::Arena& scratch) override;

  // Returns and clears the calls since the last take().
  [[nodiscard]] DelegateOutputs take();

 private:
  runtime::Backend& runs_;
  std::map<const void*, size_t> output_counts_;  // by the other backend's handle
  DelegateOutputs calls_;
};

}  // namespace carina::execute
