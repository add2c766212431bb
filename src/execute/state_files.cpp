#include "execute/state_files.h"

#include <fmt/format.h>

#include "base/io/file.h"
#include "files/file_kind.h"
#include "tensor/npy.h"

namespace carina::execute {

Result<std::vector<Tensor>> read_state(const std::string& folder, std::span<const datasets::InputType> states) {
  if (states.empty())
    return fail({.where = "--state-in", .what = "the program keeps no state", .got = folder, .fault = Fault::kUsage});
  std::vector<Tensor> tensors;
  for (const datasets::InputType& state : states) {
    const std::string path = fmt::format("{}/{}.npy", folder, state.name);
    CARINA_TRY(const Buffer file, files::open_file(path, {files::FileKind::kNpy}));
    CARINA_TRY(Tensor tensor, read_npy(file, path));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

Result<void> write_state(const std::string& folder, const std::string& program,
                         std::span<const datasets::NamedTensor> state) {
  if (folder.empty()) return {};
  if (state.empty())
    return fail({.where = "--state-out", .what = "the program keeps no state", .got = program, .fault = Fault::kUsage});
  CARINA_CHECKED(make_folder(folder));
  for (const datasets::NamedTensor& tensor : state)
    CARINA_CHECKED(write_file(fmt::format("{}/{}.npy", folder, tensor.name), npy_bytes(tensor.tensor)));
  return {};
}

}  // namespace carina::execute
