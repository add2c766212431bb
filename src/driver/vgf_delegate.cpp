#include "driver/vgf_delegate.h"

#include <chrono>

#include "base/guarded.h"
#include "driver/tosa_file.h"
#include "facts/executorch.h"

namespace carina::driver {

Result<InterpretedGraph> load_vgf(std::span<const std::byte> file, int threads, const std::string& where) {
  CARINA_TRY(const ir::Module module, sound_vgf(Buffer::copy_of(file), where));
  return InterpretedGraph::create(module, threads, where);
}

std::string_view VgfDelegates::id() const {
  return kVgfBackendId;
}

runtime::Error VgfDelegates::init(std::span<const std::byte> blob, std::span<const runtime::CompileSpec> /*specs*/,
                                  runtime::Arena& /*arena*/, void** handle) {
  // The runtime between here and our caller is built without exceptions.
  auto graph = guarded([&] { return load_vgf(blob, threads_, "VGF delegate " + std::to_string(graphs_.size())); });
  if (!graph) {
    failure_ = std::move(graph).error();
    return runtime::Error::kInvalidProgram;
  }
  *handle = &graphs_.emplace_back(*std::move(graph));
  return runtime::Error::kOk;
}

runtime::Error VgfDelegates::execute(void* handle, runtime::Arguments arguments, runtime::Arena& /*scratch*/) {
  const auto start = std::chrono::steady_clock::now();
  const auto done = guarded([&] { return static_cast<InterpretedGraph*>(handle)->run(arguments); });
  times_.push_back(std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count());
  if (done) return runtime::Error::kOk;
  failure_ = done.error();
  return runtime::Error::kDelegateFailed;
}

}  // namespace carina::driver
