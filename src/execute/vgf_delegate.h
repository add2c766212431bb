#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "results/vulkan_report.h"
#include "runtime/backend.h"

namespace carina::execute {

// A graph in a file (VGF, TOSA) that is ready: runs with a delegate call's arguments, and says how many nanoseconds that
// took.
using VgfGraph = std::function<Result<int64_t>(runtime::Arguments arguments)>;
// Makes a file ready; `where` is what messages call it.
using VgfLoader = std::function<Result<VgfGraph>(std::span<const std::byte> file, const std::string& where)>;

// In the interpreter: the bits that a device which keeps to the specification gives, on any machine.
VgfLoader vgf_on_interpreter(int threads);
// The same of TOSA FlatBuffers, which the Arm backend's TOSABackend has for delegates.
VgfLoader tosa_on_interpreter(int threads);
// On a Vulkan device. Errors: none on this machine that runs graphs, with what each lacks.
Result<VgfLoader> vgf_on_vulkan();

// Which Vulkan devices there are on this machine, and what each lacks.
results::VulkanReport vulkan_devices();

// Delegates that are graphs, in our runtime: the VGF files of VgfBackend, the TOSA FlatBuffers of TOSABackend.
class GraphDelegates final : public runtime::Backend {
 public:
  // `id` is one of facts'.
  GraphDelegates(std::string_view id, VgfLoader loader) : id_(id), loader_(std::move(loader)) {}

  [[nodiscard]] std::string_view id() const override { return id_; }
  // Errors: kInvalidProgram for a blob that cannot be loaded; failure() says why.
  runtime::Error init(std::span<const std::byte> blob, std::span<const runtime::CompileSpec> specs,
                      runtime::Arena& arena, void** handle) override;
  runtime::Error execute(void* handle, runtime::Arguments arguments, runtime::Arena& scratch) override;

  [[nodiscard]] const Diagnostics& failure() const { return failure_; }
  // What each call took, in nanoseconds, in the order of the calls.
  [[nodiscard]] const std::vector<int64_t>& times() const { return times_; }

 private:
  std::string_view id_;
  VgfLoader loader_;
  std::vector<int64_t> times_;
  std::deque<VgfGraph> graphs_;  // handles point into it
  Diagnostics failure_;
};

}  // namespace carina::execute
