// Declares runtime backends whose delegates are graphs: VGF files and TOSA FlatBuffers.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string_view>
#include <vector>

#include "carina/result.h"
#include "results/vulkan_report.h"
#include "runtime/backend.h"

namespace carina::execute {

// A loaded graph of a file (VGF, TOSA). It runs with the arguments of a delegate call and returns its time in
// nanoseconds.
using VgfGraph = std::function<Result<int64_t>(runtime::Arguments arguments)>;
// Loads a file; `where` is its name in messages.
using VgfLoader = std::function<Result<VgfGraph>(std::span<const std::byte> file, const std::string& where)>;

// Loads VGF files for the interpreter, which gives the bits of a conforming device on any machine.
VgfLoader vgf_on_interpreter(int threads);
// Loads TOSA FlatBuffers, the delegates of the Arm backend's TOSABackend, for the interpreter.
VgfLoader tosa_on_interpreter(int threads);
// Loads VGF files for a Vulkan device. Errors: no device of this machine can run graphs, with what each lacks.
Result<VgfLoader> vgf_on_vulkan();

// Lists the Vulkan devices of this machine and the features that each lacks.
results::VulkanReport vulkan_devices();

// A runtime backend whose delegates are graphs: VGF files for VgfBackend, TOSA FlatBuffers for TOSABackend.
class GraphDelegates final : public runtime::Backend {
 public:
  // `id` is a backend id of the facts library.
  GraphDelegates(std::string_view id, VgfLoader loader) : id_(id), loader_(std::move(loader)) {}

  [[nodiscard]] std::string_view id() const override { return id_; }
  // Errors: kInvalidProgram for a blob that cannot be loaded; failure() says why.
  runtime::Error init(std::span<const std::byte> blob, std::span<const runtime::CompileSpec> specs,
                      runtime::Arena& arena, void** handle) override;
  runtime::Error execute(void* handle, runtime::Arguments arguments, runtime::Arena& scratch) override;

  [[nodiscard]] const Diagnostics& failure() const { return failure_; }
  // The time of each call in nanoseconds, in the order of the calls.
  [[nodiscard]] const std::vector<int64_t>& times() const { return times_; }
  void clear_times() { times_.clear(); }
  void clear_failure() { failure_.clear(); }

 private:
  std::string_view id_;
  VgfLoader loader_;
  std::vector<int64_t> times_;
  std::deque<VgfGraph> graphs_;  // handles point into it
  Diagnostics failure_;
};

}  // namespace carina::execute
