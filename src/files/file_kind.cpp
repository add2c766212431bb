#include "files/file_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/io/file.h"
#include "base/io/zip.h"
#include "carina/check.h"
#include "frontend/vgf/container.h"

namespace carina::files {

namespace {

struct Row {
  FileKind kind;
  std::string_view name;
  std::string_view advice;
};
constexpr std::array kRows{
    Row{FileKind::kUnknown, "a file of no kind that Carina knows, or damaged at its start", "is the file complete?"},
    Row{FileKind::kEmpty, "an empty file", "was it written to the end?"},
    Row{FileKind::kPt2, "a .pt2 of torch.export.save", "carina compile, explain, tosa and inspect take it"},
    Row{FileKind::kOldPt2, "a .pt2 of torch 2.7 or older",
        "save the model again with torch.export.save of torch 2.9 to 2.15"},
    Row{FileKind::kTorchScript, "a TorchScript archive (torch.jit.save)",
        "export the model with torch.export.export and torch.export.save"},
    Row{FileKind::kTorchSave, "a pickle of torch.save: a state_dict or a module",
        "load it in PyTorch, then torch.export.export and torch.export.save"},
    Row{FileKind::kPte, "an ExecuTorch program (.pte)", "carina run, inspect and disasm take it"},
    Row{FileKind::kBundledProgram, "an ExecuTorch bundled program (.bpte)", "carina run and inspect take it"},
    Row{FileKind::kPtd, "external weights of an ExecuTorch program (.ptd)", "they go with their .pte"},
    Row{FileKind::kEtDump, "an ExecuTorch record of a run (ETDump)",
        "`carina run --etdump` writes such; ExecuTorch's Inspector reads them"},
    Row{FileKind::kTosa, "a TOSA file",
        "carina interpret, compile, tosa and inspect take it under a name that ends in .tosa"},
    Row{FileKind::kVgf, "a VGF file",
        "carina interpret, tosa, inspect and disasm take it under a name that ends in .vgf"},
    Row{FileKind::kTflite, "a TensorFlow Lite model", "Carina takes PyTorch models: torch.export.save, or TOSA"},
    Row{FileKind::kVelaRaw, "a command stream (Vela's raw .npz)", "carina npu run, disasm and inspect take it"},
    Row{FileKind::kNpz, "a NumPy archive (.npz)", "it can be calibration data (--calibrate) or labeled data (--data)"},
    Row{FileKind::kNpy, "a NumPy array (.npy)", "it can be an input (-i) or calibration data (--calibrate)"},
    Row{FileKind::kEmptyZip, "an empty archive", "np.savez without arrays writes one"},
    Row{FileKind::kZip, "a zip archive", "Carina takes those of torch.export.save (.pt2) and of NumPy (.npz)"},
};

const Row& row_of(FileKind kind) {
  const auto* found = std::ranges::find(kRows, kind, &Row::kind);
  CARINA_CHECK(found != kRows.end(), "no row for kind {}", static_cast<int>(kind));
  return *found;
}

// A FlatBuffer's identifier is its bytes 4 to 8.
struct Identifier {
  std::string_view text;
  FileKind kind;
};
constexpr std::array kIdentifiers{
    Identifier{"TOSA", FileKind::kTosa},   Identifier{"BP", FileKind::kBundledProgram},  // BP08
    Identifier{"FT01", FileKind::kPtd},    Identifier{"ED", FileKind::kEtDump},          // ED00
    Identifier{"TFL3", FileKind::kTflite}, Identifier{"ET1", FileKind::kPte},            // ET12
    Identifier{"ET0", FileKind::kPte},
};

// The kind of an archive is that of the first entry in this table that it contains, at any depth.
struct Entry {
  std::string_view ending;
  FileKind kind;
};
constexpr std::array kEntries{
    Entry{"archive_format", FileKind::kPt2},
    Entry{"serialized_exported_program.json", FileKind::kOldPt2},
    Entry{"serialized_state_dict.pt", FileKind::kOldPt2},
    Entry{"constants.pkl", FileKind::kTorchScript},
    Entry{"data.pkl", FileKind::kTorchSave},
    Entry{"cmd_data.npy", FileKind::kVelaRaw},
    Entry{".npy", FileKind::kNpz},
};

FileKind kind_of_archive(const Buffer& file) {
  const auto zip = ZipReader::open(file, "");
  if (!zip) return FileKind::kUnknown;
  for (const Entry& entry : kEntries) {
    if (std::ranges::any_of(zip->names(), [&](const std::string& name) { return name.ends_with(entry.ending); }))
      return entry.kind;
  }
  return FileKind::kZip;
}

}  // namespace

FileKind kind_of(const Buffer& file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.empty()) return FileKind::kEmpty;
  if (text.starts_with("PK\x05\x06")) return FileKind::kEmptyZip;
  if (text.starts_with("PK\x03\x04")) return kind_of_archive(file);
  if (text.starts_with("\x93NUMPY")) return FileKind::kNpy;
  if (text.starts_with("\x80\x02")) return FileKind::kTorchSave;  // a bare pickle, of torch before 1.6
  if (vgf::is_vgf(file)) return FileKind::kVgf;
  const std::string_view identifier = text.substr(std::min<size_t>(4, text.size()), 4);
  const auto* found = std::ranges::find_if(
      kIdentifiers, [&](const Identifier& row) { return identifier.size() == 4 && identifier.starts_with(row.text); });
  return found == kIdentifiers.end() ? FileKind::kUnknown : found->kind;
}

std::string_view text_of_kind(FileKind kind) {
  return row_of(kind).name;
}

std::string_view advice(FileKind kind) {
  return row_of(kind).advice;
}

std::unexpected<Diagnostics> wrong_kind(const std::string& where, FileKind got, std::string_view expected) {
  return fail({.where = where,
               .what = fmt::format("this is {}", text_of_kind(got)),
               .expected = std::string(expected),
               .hint = std::string(advice(got))});
}

Result<void> check_kind(const Buffer& file, const std::string& where, std::initializer_list<FileKind> wanted) {
  const FileKind kind = kind_of(file);
  if (kind == FileKind::kUnknown || std::ranges::find(wanted, kind) != wanted.end()) return {};
  std::string expected;
  for (const FileKind one : wanted) expected += fmt::format("{}{}", expected.empty() ? "" : " or ", text_of_kind(one));
  return wrong_kind(where, kind, expected);
}

Result<Buffer> open_file(const std::string& path, std::initializer_list<FileKind> wanted) {
  CARINA_TRY(Buffer file, map_file(path));
  CARINA_CHECKED(check_kind(file, path, wanted));
  return file;
}

}  // namespace carina::files
