// The simulator as the delegate "EthosUBackend" of the official ExecuTorch runtime.
// Interface of a delegate: interface.h of the official package.
#include <executorch/runtime/backend/interface.h>

#include <array>
#include <memory>
#include <vector>

#include "backends/delegate_target.h"
#include "backends/ethosu_specs.h"
#include "base/guarded.h"
#include "carina/buffer.h"
#include "estimate/estimate.h"
#include "execute/simulated_npu.h"
#include "facts/executorch.h"
#include "interop/executorch/glue_internal.h"
#include "interop/executorch/journal_internal.h"
#include "runtime/backends/ethos_u.h"

namespace carina::interop {

namespace {

namespace official = ::executorch::runtime;

// One delegate of a loaded program.
struct Loaded {
  pte::Delegate delegate;
  plan::Target target;
  npu::CompiledNetwork layers;  // only their names and places
  execute::SimulatedNpu npu;
  ZeroedPages fast;
  runtime::EthosUBackend backend;
  MutableBuffer scratch;
  std::array<std::byte, 1024> handle_memory{};
  void* handle = nullptr;

  Loaded(pte::Delegate taken, const plan::Target& of, bool timed)
      : delegate(std::move(taken)),
        target(of),
        npu({.timing = timed ? simulate::Timing::kOn : simulate::Timing::kOff,
             .occupied = timed ? simulate::Occupied::kOn : simulate::Occupied::kOff,
             .own_system_config = target.system,
             .own_memory_mode = target.memory}),
        fast(backends::fast_memory_of(target)),
        backend(npu, fast.bytes()) {
    layers.layers = backends::read_specs(delegate.compile_specs).layers;
  }
};

Diagnostic said(runtime::Error error, std::string what) {
  return {.where = std::string(kEthosUBackendId), .what = std::move(what), .got = runtime::name_of(error)};
}

backends::CompileSpecs copied(official::ArrayRef<official::CompileSpec> specs) {
  backends::CompileSpecs copies;
  for (const official::CompileSpec& spec : specs) {
    const auto* bytes = static_cast<const uint8_t*>(spec.value.buffer);
    copies.emplace_back(spec.key, std::vector<uint8_t>(bytes, bytes + spec.value.nbytes));
  }
  return copies;
}

// The blob is copied: reports need it after the program's loader may have freed it.
Result<std::unique_ptr<Loaded>> load(std::span<const std::byte> blob, backends::CompileSpecs specs) {
  pte::Delegate delegate{
      .backend = std::string(kEthosUBackendId), .blob = Buffer::copy_of(blob), .compile_specs = std::move(specs)};
  const std::string where(kEthosUBackendId);
  CARINA_TRY(const std::optional<plan::Target> target,
             backends::target_of_delegate(delegate, {}, where, to_official_log()));
  if (!target) return fail({.where = where, .what = "the command stream is for an NPU that Carina does not know"});
  auto loaded = std::make_unique<Loaded>(std::move(delegate), *target, Journal::get().timed());
  runtime::Arena arena(loaded->handle_memory);
  const runtime::Error error = loaded->backend.init(loaded->delegate.blob.bytes(), {}, arena, &loaded->handle);
  if (error != runtime::Error::kOk) return fail(said(error, "the delegate's blob cannot be loaded"));
  runtime::NpuStream stream;
  if (runtime::read_npu_stream(loaded->delegate.blob.bytes(), stream) == runtime::Error::kOk)
    loaded->scratch = MutableBuffer::allocate(stream.scratch_bytes + alignof(std::max_align_t));
  return loaded;
}

Result<void> run(Loaded& loaded, official::Span<official::EValue*> arguments) {
  Converted ours = converted(arguments);
  runtime::Arena scratch(loaded.scratch.bytes());
  loaded.npu.clear_reports();
  const runtime::Error error = loaded.backend.execute(loaded.handle, ours.pointers, scratch);
  if (error == runtime::Error::kDelegateFailed) return fail(loaded.npu.failure());
  if (error != runtime::Error::kOk) return fail(said(error, "the delegate cannot run on these arguments"));
  for (const simulate::Report& report : loaded.npu.reports())
    Journal::get().add(estimate::npu_report(report, loaded.layers, loaded.target, simulate::Occupied::kOn));
  return {};
}

class Delegate final : public official::BackendInterface {
 public:
  [[nodiscard]] bool is_available() const override { return true; }

  official::Result<official::DelegateHandle*> init(official::BackendInitContext& /*context*/,
                                                   official::FreeableBuffer* processed,
                                                   official::ArrayRef<official::CompileSpec> specs) const override {
    auto loaded = guarded(
        [&] { return load({static_cast<const std::byte*>(processed->data()), processed->size()}, copied(specs)); });
    processed->Free();
    if (!loaded) return failed(loaded.error(), official::Error::DelegateInvalidCompatibility);
    return loaded->release();
  }

  official::Error execute(official::BackendExecutionContext& /*context*/, official::DelegateHandle* handle,
                          official::Span<official::EValue*> arguments) const override {
    const auto done = guarded([&] { return run(*static_cast<Loaded*>(handle), arguments); });
    return done ? official::Error::Ok : failed(done.error(), official::Error::InvalidArgument);
  }

  void destroy(official::DelegateHandle* handle) const override { delete static_cast<Loaded*>(handle); }
};

[[maybe_unused]] const bool kRegistered = [] {
  static Delegate delegate;
  return registered("EthosUBackend", delegate);
}();

}  // namespace

}  // namespace carina::interop
