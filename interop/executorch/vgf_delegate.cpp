// The interpreter as the delegate "VgfBackend" of the official ExecuTorch runtime: its bits on any machine, without a
// Vulkan device.
#include "driver/vgf_delegate.h"

#include <chrono>
#include <memory>

#include "base/guarded.h"
#include "facts/executorch.h"
#include "interop/executorch/glue_internal.h"
#include "interop/executorch/journal_internal.h"

namespace carina::interop {

namespace {

using driver::InterpretedGraph;

Result<std::unique_ptr<InterpretedGraph>> loaded(std::span<const std::byte> blob) {
  CARINA_TRY(InterpretedGraph graph, driver::load_vgf(blob, 1, std::string(kVgfBackendId)));
  return std::make_unique<InterpretedGraph>(std::move(graph));
}

Result<void> run_graph(InterpretedGraph& graph, official::Span<official::EValue*> arguments) {
  const auto start = std::chrono::steady_clock::now();
  CARINA_CHECKED(graph.run(converted(arguments).pointers));
  const int64_t time = std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
  Journal::get().add_vgf(time);
  return {};
}

class VgfDelegate final : public official::BackendInterface {
 public:
  [[nodiscard]] bool is_available() const override { return true; }

  official::Result<official::DelegateHandle*> init(official::BackendInitContext& /*context*/,
                                                   official::FreeableBuffer* processed,
                                                   official::ArrayRef<official::CompileSpec> /*specs*/) const override {
    auto graph = guarded([&] { return loaded({static_cast<const std::byte*>(processed->data()), processed->size()}); });
    processed->Free();
    if (!graph) return failed(graph.error(), official::Error::DelegateInvalidCompatibility);
    return graph->release();
  }

  official::Error execute(official::BackendExecutionContext& /*context*/, official::DelegateHandle* handle,
                          official::Span<official::EValue*> arguments) const override {
    const auto done = guarded([&] { return run_graph(*static_cast<InterpretedGraph*>(handle), arguments); });
    return done ? official::Error::Ok : failed(done.error(), official::Error::InvalidArgument);
  }

  void destroy(official::DelegateHandle* handle) const override { delete static_cast<InterpretedGraph*>(handle); }
};

[[maybe_unused]] const bool kVgfRegistered = [] {
  static VgfDelegate delegate;
  return registered("VgfBackend", delegate);
}();

}  // namespace

}  // namespace carina::interop
