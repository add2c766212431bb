#include "boards/firmware.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "backends/delegate_target.h"
#include "base/io/file.h"
#include "base/system/process.h"
#include "boards/image_needs.h"
#include "facts/executorch.h"
#include "files/file_kind.h"
#include "pte/bundled.h"
#include "pte/reader.h"

namespace carina::boards {

namespace {

namespace fs = std::filesystem;

constexpr size_t kCorstoneSramBytes = size_t{2} << 20;  // used if the program does not give the size

// Returns the folders of images next to the running program, in the build and in the installation.
std::vector<fs::path> image_folders() {
  std::vector<fs::path> folders;
  if (const char* folder = std::getenv("CARINA_FIRMWARE")) folders.emplace_back(folder);
  const fs::path program = own_program();
  if (!program.empty()) folders.push_back(program.parent_path().parent_path() / "share" / "carina" / "firmware");
  return folders;
}

// The target for which the program's delegates were compiled.
struct DelegateNeeds {
  uint32_t fast_bytes = 0;  // size of region 2 by their memory mode
  uint32_t npu_config_word = 0;
};

Result<DelegateNeeds> needs_of(const pte::Program& program, const std::string& where, const Log& log) {
  DelegateNeeds needs;
  for (const pte::Plan& plan : program.plans) {
    for (const pte::Delegate& delegate : plan.delegates) {
      if (!is_ethos_u(delegate.backend)) continue;
      CARINA_TRY(const std::optional<plan::Target> target, backends::target_of_delegate(delegate, {}, where, log));
      if (!target) continue;
      needs.npu_config_word = target->accelerator.config_word;
      const size_t fast_bytes = backends::fast_bytes_of(*target, kCorstoneSramBytes);
      needs.fast_bytes = std::max(needs.fast_bytes, static_cast<uint32_t>(fast_bytes));
    }
  }
  return needs;
}

Result<firmware::ModelHeader> header_for(const FirmwareRequest& request, const pte::Program& program, const Log& log) {
  CARINA_TRY(const DelegateNeeds needs, needs_of(program, request.program, log));
  firmware::ModelHeader header{.method_pool_bytes = request.pools.method_bytes,
                               .temp_pool_bytes = request.pools.temp_bytes,
                               .fast_pool_bytes = request.pools.fast_bytes,
                               .npu_config_word = needs.npu_config_word};
  if (!request.accelerator.empty()) {
    CARINA_TRY(const plan::Target target,
               targets::find_target(targets::TargetNames{
                   .accelerator = request.accelerator, .system_config = {}, .memory_mode = {}, .ini = {}}));
    header.npu_config_word = target.accelerator.config_word;
  }
  if (header.fast_pool_bytes == 0 && needs.fast_bytes > 0) {
    header.fast_pool_bytes = needs.fast_bytes;
    log.note({.where = request.program,
              .what = fmt::format("the NPU's fast memory has {} bytes, the size for which the program was compiled",
                                  needs.fast_bytes),
              .hint = "--fast-pool BYTES",
              .severity = Severity::kNote});
  }
  return header;
}

// Returns the kernels that the program calls and the image lacks. An image contains the names of its kernels.
std::vector<std::string> missing_kernels(const pte::Program& program, const Buffer& image) {
  const std::string_view content(reinterpret_cast<const char*>(image.bytes().data()), image.size());
  std::vector<std::string> missing;
  for (const pte::Plan& plan : program.plans) {
    for (const pte::Operator& op : plan.operators) {
      const std::string name = op.name + (op.overload.empty() ? "" : ".") + op.overload;
      const std::string_view ended(name.c_str(), name.size() + 1);
      if (content.find(ended) == std::string_view::npos && std::ranges::find(missing, name) == missing.end())
        missing.push_back(name);
    }
  }
  return missing;
}

Result<void> check_kernels(const FirmwareRequest& request, const pte::Program& program, const Buffer& image) {
  const std::vector<std::string> missing = missing_kernels(program, image);
  if (missing.empty()) return {};
  return fail({.where = request.program,
               .what = fmt::format("the image has no kernel {}", fmt::join(missing, ", ")),
               .expected = "an image with all kernels of the program",
               .hint = "link with --ops-from PROGRAM or --ops NAMES, or use an image with all kernels (no option)"});
}

// Errors: a delegate of a backend that the images do not have.
Result<void> check_backends(const pte::Program& program, const std::string& where) {
  for (const pte::Plan& plan : program.plans) {
    for (const pte::Delegate& delegate : plan.delegates) {
      if (is_ethos_u(delegate.backend)) continue;
      return fail({.where = where,
                   .what = fmt::format("the image has no backend {}", delegate.backend),
                   .expected = "delegates for an Ethos-U alone, and kernels",
                   .hint = "compile the model with `carina compile --target NPU`, or write the program without "
                           "this delegate"});
    }
  }
  return {};
}

// Opens a program, or the program of a bundled program.
Result<Buffer> open_program(const std::string& path) {
  CARINA_TRY(Buffer file, files::open_file(path, {files::FileKind::kPte, files::FileKind::kBundledProgram}));
  if (!pte::is_bundled_program(file)) return file;
  CARINA_TRY(pte::BundledProgram bundle, pte::read_bundled_program(file, path));
  return std::move(bundle.program);
}

Result<void> check_tensors(const pte::Program& program, const std::string& where) {
  for (const pte::Plan& plan : program.plans) {
    for (const pte::Value& value : plan.values) {
      const auto* tensor = std::get_if<pte::TensorSpec>(&value);
      if (tensor == nullptr || tensor->external_name.empty()) continue;
      return fail({.where = where,
                   .what = "a tensor of the program is in a .ptd file, which firmware images do not support",
                   .expected = "all tensors in the program",
                   .got = tensor->external_name,
                   .hint = "write the program without external constants: ExecutorchBackendConfig("
                           "external_constants=False)"});
    }
  }
  return {};
}

}  // namespace

Result<std::string> image_path(const std::string& image) {
  if (image.ends_with(".elf") || image.find('/') != std::string::npos) return image;
  std::string looked;
  for (const fs::path& folder : image_folders()) {
    const fs::path path = folder / (image + ".elf");
    std::error_code error;
    if (fs::is_regular_file(path, error)) return path.string();
    looked += (looked.empty() ? "" : ", ") + folder.string();
  }
  return fail({.where = image,
               .what = "unknown firmware image",
               .expected = "an image in " + looked,
               .hint =
                   "`make build` makes the images where the cross compiler is installed (scripts/setup.sh --full), and "
                   "`make wheel` packs them; or give the path of an .elf, or the folder of images as CARINA_FIRMWARE",
               .fault = Fault::kEnvironment});
}

Result<Firmware> make_firmware(const FirmwareRequest& request, const Log& log) {
  CARINA_TRY(const Buffer program, open_program(request.program));
  CARINA_TRY(const pte::Program parsed, pte::read_program(program, request.program));
  CARINA_CHECKED(check_tensors(parsed, request.program));
  CARINA_CHECKED(check_backends(parsed, request.program));
  CARINA_TRY(const std::string path, image_path(request.image));
  CARINA_TRY(const std::set<std::string> kernels, chosen_kernels(request.kernels));
  CARINA_TRY(const Buffer image, request.kernels.all() ? map_file(path) : link_image(path, kernels));
  CARINA_CHECKED(check_kernels(request, parsed, image));
  CARINA_TRY(firmware::ModelHeader header, header_for(request, parsed, log));
  CARINA_TRY(const firmware::ImageSlot slot, read_slot(image, path));
  CARINA_CHECKED(check_weights(parsed, request.program, image));
  CARINA_CHECKED(fit_pools(program, request.program, slot, header));
  CARINA_TRY(std::vector<std::byte> elf, put_model(image, path, program, header));
  if (!request.output.empty()) CARINA_CHECKED(write_file(request.output, elf));
  results::FirmwareReport report{.program = request.program,
                                 .image = path,
                                 .output = request.output,
                                 .program_bytes = static_cast<int64_t>(program.size()),
                                 .image_bytes = static_cast<int64_t>(image.size()),
                                 .kernels = static_cast<int64_t>(kernels.size())};
  return Firmware{.elf = std::move(elf), .report = std::move(report)};
}

}  // namespace carina::boards
