#include "boards/selected_image.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "base/io/child_program.h"
#include "base/io/file.h"
#include "base/io/temporary_folder.h"
#include "files/file_kind.h"
#include "pte/reader.h"

namespace carina::boards {

namespace {

namespace fs = std::filesystem;

struct KnownKernel {
  std::string_view name;
  std::string_view function;  // of carina::runtime
};
constexpr auto kKnown = std::to_array<KnownKernel>({
#define CARINA_PORTABLE_KERNEL(name, function) {name, #function},
#include "runtime/kernels/portable_kernels.def"
#undef CARINA_PORTABLE_KERNEL
});

constexpr const char* kCompiler = "arm-none-eabi-g++";
constexpr std::string_view kFolderMark =
    "@LINK@";  // firmware/CMakeLists.txt writes it instead of the folder of the files to link

const KnownKernel* known(std::string_view name) {
  const auto found = std::ranges::lower_bound(kKnown, name, {}, &KnownKernel::name);
  return found == kKnown.end() || found->name != name ? nullptr : &*found;
}

Result<void> check_known(const std::set<std::string>& names) {
  std::vector<std::string> unknown;
  std::ranges::copy_if(names, std::back_inserter(unknown), [](const auto& name) { return known(name) == nullptr; });
  if (unknown.empty()) return {};
  return fail({.where = "--ops",
               .what = fmt::format("the runtime has no kernel {}", fmt::join(unknown, ", ")),
               .expected = "names as a .pte calls them: aten::add.out",
               .hint = "carina inspect MODEL.pte lists those of a program",
               .fault = Fault::kUsage});
}

// Returns the source of a kernel table. It includes no headers of the runtime, and declares only the types of kernel.h
// that it needs.
std::string table_of(const std::set<std::string>& names) {
  std::set<std::string_view> functions;
  std::string rows;
  for (const std::string& name : names) {
    const KnownKernel& kernel = *known(name);
    functions.insert(kernel.function);
    rows += fmt::format("{{\"{}\", {}}},\n", name, kernel.function);
  }
  std::string source =
      "#include <span>\n#include <string_view>\nnamespace carina::runtime {\nclass Arena;\nstruct EValue;\n"
      "enum class Error : unsigned char;\nusing Arguments = std::span<EValue* const>;\n"
      "using Kernel = Error (*)(Arguments, Arena&);\nstruct KernelEntry {\n  std::string_view name;\n  Kernel "
      "kernel;\n};\n";
  for (const std::string_view function : functions) source += fmt::format("Error {}(Arguments, Arena&);\n", function);
  source += "namespace {\n";
  source += rows.empty() ? "constexpr std::span<const KernelEntry> kKernels;\n"
                         : fmt::format("constexpr KernelEntry kKernels[] = {{\n{}}};\n", rows);
  return source + "}\nstd::span<const KernelEntry> portable_kernels() { return kKernels; }\n}\n";
}

// The linker's arguments, one per line.
Result<std::vector<std::string>> link_arguments(const fs::path& image) {
  const fs::path folder = image.parent_path() / "link";
  const fs::path list = folder / image.stem().concat(".txt");
  std::error_code error;
  if (!fs::is_regular_file(list, error))
    return fail({.where = image.string(),
                 .what = "this image cannot be linked with other kernels",
                 .expected = "an image that is installed with Carina",
                 .hint = "docs/porting.md says how an image of your own has fewer kernels",
                 .fault = Fault::kUsage});
  std::vector<std::string> arguments;
  std::istringstream lines(text_of(list.string()));
  for (std::string line; std::getline(lines, line);) {
    const size_t at = line.find(kFolderMark);
    if (at != std::string::npos) line.replace(at, kFolderMark.size(), folder.string());
    if (!line.empty()) arguments.push_back(line);
  }
  return arguments;
}

}  // namespace

Result<std::set<std::string>> chosen_kernels(const KernelChoice& choice) {
  std::set<std::string> names(choice.names.begin(), choice.names.end());
  for (const std::string& path : choice.programs) {
    CARINA_TRY(const Buffer file, files::open_file(path, {files::FileKind::kPte}));
    CARINA_TRY(const pte::Program program, pte::read_program(file, path));
    for (const pte::Plan& plan : program.plans) {
      for (const pte::Operator& op : plan.operators)
        names.insert(op.name + (op.overload.empty() ? "" : ".") + op.overload);
    }
  }
  CARINA_CHECKED(check_known(names));
  return names;
}

Result<Buffer> link_image(const std::string& path, const std::set<std::string>& kernels) {
  CARINA_TRY(const std::vector<std::string> arguments, link_arguments(path));
  CARINA_TRY(const auto folder, TemporaryFolder::make("carina-link"));
  const std::string table = folder->file("kernels.cpp"), output = folder->file("image.elf");
  const std::string source = table_of(kernels);
  CARINA_CHECKED(write_file(table, std::as_bytes(std::span(source))));
  std::vector<std::string> command{kCompiler, "-o", output, table};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const std::optional<int> status = run_command(std::move(command), folder->file("messages.txt"));
  if (!status)
    return fail({.where = kCompiler,
                 .what = "the cross compiler arm-none-eabi-g++ is not installed",
                 .hint = "scripts/setup.sh --full; or leave out --ops and --ops-from for an image with all kernels",
                 .fault = Fault::kEnvironment});
  if (*status != 0)
    return fail({.where = path,
                 .what = fmt::format("linking failed with status {}", *status),
                 .got = end_of(text_of(folder->file("messages.txt"))),
                 .fault = Fault::kEnvironment});
  CARINA_TRY(const Buffer linked, map_file(output));
  return Buffer::copy_of(linked.bytes());
}

}  // namespace carina::boards
