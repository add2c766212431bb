#include "driver/interpreted_delegate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "driver/tosa_file.h"
#include "facts/executorch.h"

namespace carina::driver {

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

}  // namespace

Result<InterpretedDelegates> InterpretedDelegates::load(const std::string& folder, int threads) {
  InterpretedDelegates delegates;
  for (std::string path = file_of_tag(folder, 0); !path.empty(); path = file_of_tag(folder, delegates.parts_.size())) {
    CARINA_TRY(const ir::Module module, read_sound_tosa(path));
    CARINA_TRY(interpret::Interpreter interpreter,
               interpret::Interpreter::create(module, {.threads = threads, .where = path}));
    Part part{.inputs = {}, .shapes = {}, .interpreter = std::move(interpreter)};
    for (const ir::ValueId input : module.main().inputs) {
      part.inputs.push_back(module.main()[input].dtype);
      part.shapes.push_back(module.main()[input].shape);
    }
    delegates.parts_.push_back(std::move(part));
  }
  if (delegates.parts_.empty())
    return fail({.where = folder,
                 .what = "no output_tag0_*.tosa in the folder",
                 .hint = "give the folder that `carina compile --dump` wrote"});
  return delegates;
}

std::string_view InterpretedDelegates::id() const {
  return kEthosUBackendId;
}

runtime::Error InterpretedDelegates::init(std::span<const std::byte> /*blob*/,
                                          std::span<const runtime::CompileSpec> /*specs*/, runtime::Arena& /*arena*/,
                                          void** handle) {
  if (next_ >= parts_.size()) return runtime::Error::kInvalidProgram;
  *handle = &parts_[next_++];
  return runtime::Error::kOk;
}

runtime::Error InterpretedDelegates::execute(void* handle, runtime::Arguments arguments, runtime::Arena& /*scratch*/) {
  Part& part = *static_cast<Part*>(handle);
  if (arguments.size() < part.inputs.size()) return runtime::Error::kInvalidProgram;
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < part.inputs.size(); ++i) {
    if (!arguments[i]->is_tensor()) return runtime::Error::kInvalidArgument;
    const runtime::Tensor& argument = arguments[i]->tensor;
    if (argument.bytes() != tensor_bytes(part.inputs[i], part.shapes[i])) return runtime::Error::kInvalidArgument;
    inputs.push_back({.dtype = part.inputs[i],
                      .shape = part.shapes[i],
                      .data = Buffer::copy_of({static_cast<const std::byte*>(argument.data), argument.bytes()})});
  }
  auto outputs = part.interpreter.run(inputs);
  if (!outputs) {
    failure_ = std::move(outputs).error();
    return runtime::Error::kDelegateFailed;
  }
  if (arguments.size() != part.inputs.size() + outputs->size()) return runtime::Error::kInvalidProgram;
  for (size_t i = 0; i < outputs->size(); ++i) {
    if (!arguments[part.inputs.size() + i]->is_tensor()) return runtime::Error::kInvalidArgument;
    const runtime::Tensor& argument = arguments[part.inputs.size() + i]->tensor;
    const std::span<const std::byte> bytes = (*outputs)[i].data.bytes();
    if (argument.bytes() != bytes.size()) return runtime::Error::kInvalidArgument;
    std::memcpy(argument.data, bytes.data(), bytes.size());
  }
  return runtime::Error::kOk;
}

}  // namespace carina::driver
