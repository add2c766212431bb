// The interpreter as the delegate "VgfBackend" of the official ExecuTorch runtime: its bits on any machine, without a
// Vulkan device.
#include "execute/vgf_delegate.h"

#include <memory>

#include "base/guarded.h"
#include "facts/executorch.h"
#include "interop/executorch/glue_internal.h"
#include "interop/executorch/journal_internal.h"

namespace carina::interop {

namespace {

using execute::VgfGraph;

Result<std::unique_ptr<VgfGraph>> loaded(std::span<const std::byte> blob) {
  CARINA_TRY(VgfGraph graph, execute::vgf_on_interpreter(1)(blob, std::string(kVgfBackendId)));
  return std::make_unique<VgfGraph>(std::move(graph));
}

Result<void> run_graph(const VgfGraph& graph, official::Span<official::EValue*> arguments) {
  CARINA_TRY(const int64_t nanoseconds, graph(converted(arguments).pointers));
  Journal::get().add_vgf(nanoseconds);
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
    const auto done = guarded([&] { return run_graph(*static_cast<VgfGraph*>(handle), arguments); });
    return done ? official::Error::Ok : failed(done.error(), official::Error::InvalidArgument);
  }

  void destroy(official::DelegateHandle* handle) const override { delete static_cast<VgfGraph*>(handle); }
};

[[maybe_unused]] const bool kVgfRegistered = [] {
  static VgfDelegate delegate;
  return registered("VgfBackend", delegate);
}();

}  // namespace

}  // namespace carina::interop
