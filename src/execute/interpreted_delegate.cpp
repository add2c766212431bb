#include "execute/interpreted_delegate.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/io/file.h"
#include "facts/executorch.h"
#include "files/tosa_file.h"
#include "npu/vela_raw.h"
#include "runtime/backends/ethos_u.h"

namespace carina::execute {

namespace {

std::string file_of_tag(const std::string& folder, size_t tag) {
  const std::string start = fmt::format("output_tag{}_", tag);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(start) && name.ends_with(".tosa")) return entry.path().string();
  }
  return {};
}

Result<npu::CompiledNetwork> network_of_tag(const std::string& folder, size_t tag) {
  const std::string path = fmt::format("{}/output_tag{}_vela.npz", folder, tag);
  CARINA_TRY(const Buffer file, map_file(path));
  return npu::read_vela_raw(file, path);
}

}  // namespace

Result<InterpretedDelegates> InterpretedDelegates::load(const std::string& folder, int threads) {
  InterpretedDelegates delegates;
  delegates.folder_ = folder;
  for (std::string path = file_of_tag(folder, 0); !path.empty(); path = file_of_tag(folder, delegates.parts_.size())) {
    CARINA_TRY(const ir::Module module, files::read_sound_tosa(path));
    CARINA_TRY(InterpretedGraph graph, InterpretedGraph::create(module, threads, path));
    CARINA_TRY(npu::CompiledNetwork network, network_of_tag(folder, delegates.parts_.size()));
    delegates.parts_.push_back({.graph = std::move(graph),
                                .commands = std::move(network.command_payload),
                                .weights = std::move(network.weights)});
  }
  if (delegates.parts_.empty())
    return fail({.where = folder,
                 .what = "no output_tag0_*.tosa in the folder",
                 .hint = "give the folder that `carina compile --dump` wrote; of a program without a delegate it has "
                         "none, and --dump is left out"});
  return delegates;
}

std::string_view InterpretedDelegates::id() const {
  return kEthosUBackendId;
}

runtime::Error InterpretedDelegates::init(std::span<const std::byte> blob,
                                          std::span<const runtime::CompileSpec> /*specs*/, runtime::Arena& /*arena*/,
                                          void** handle) {
  runtime::NpuStream stream;
  CARINA_RT_TRY(runtime::read_npu_stream(blob, stream));
  const auto found = std::ranges::find_if(parts_, [&](const Part& part) {
    return std::ranges::equal(part.commands, stream.commands) && std::ranges::equal(part.weights, stream.weights);
  });
  if (found == parts_.end()) {
    failure_ = Diagnostics{{.where = folder_,
                            .what = "the dump is not of this program: no output_tag*_vela.npz has the commands and "
                                    "weights of its delegate",
                            .hint = "compile the program again with --dump into an empty folder"}};
    return runtime::Error::kInvalidArgument;
  }
  *handle = &*found;
  return runtime::Error::kOk;
}

runtime::Error InterpretedDelegates::execute(void* handle, runtime::Arguments arguments, runtime::Arena& /*scratch*/) {
  const auto done = static_cast<Part*>(handle)->graph.run(arguments);
  if (!done) {
    failure_ = done.error();
    return runtime::Error::kDelegateFailed;
  }
  return runtime::Error::kOk;
}

}  // namespace carina::execute
