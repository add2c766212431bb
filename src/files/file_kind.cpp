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
constexpr std::string_view kOfImages = "it can be an input (-i); a folder of images can be --calibrate and --data";
constexpr std::array kRows{
    Row{FileKind::kUnknown, "a file of no kind that Carina knows, or damaged at its start", "is the file complete?"},
    Row{FileKind::kEmpty, "an empty file", "was it written to the end?"},
    Row{FileKind::kPt2, "a .pt2 of torch.export.save", "carina compile, explain, tosa and inspect take it"},
    Row{FileKind::kOldPt2, "a .pt2 of torch 2.7 or older",
        "save the model again with torch.export.save of torch 2.9 to 2.15"},
    Row{FileKind::kTorchScript, "a TorchScript archive (torch.jit.save)",
        "it lacks the model's Python code; in the program that defines the nn.Module:\n"
        "    program = torch.export.export(model.eval(), (example_input,))\n"
        "    torch.export.save(program, \"model.pt2\")"},
    Row{FileKind::kTorchSave, "a pickle of torch.save: a state_dict or a module",
        "in Python (of a state_dict: make the nn.Module first, and load it with model.load_state_dict):\n"
        "    model = torch.load(\"model.pt\", weights_only=False)\n"
        "    torch.export.save(torch.export.export(model.eval(), (example_input,)), \"model.pt2\")"},
    Row{FileKind::kPte, "an ExecuTorch program (.pte)", "carina run, inspect and disasm take it"},
    Row{FileKind::kBundledProgram, "an ExecuTorch bundled program (.bpte)", "carina run and inspect take it"},
    Row{FileKind::kPtd, "external weights of an ExecuTorch program (.ptd)", "they go with their .pte"},
    Row{FileKind::kEtDump, "an ExecuTorch record of a run (ETDump)",
        "`carina run --etdump` writes such; ExecuTorch's Inspector reads them"},
    Row{FileKind::kTosa, "a TOSA file",
        "carina interpret, compile, tosa and inspect take it under a name that ends in .tosa"},
    Row{FileKind::kVgf, "a VGF file",
        "carina interpret, tosa, inspect and disasm take it under a name that ends in .vgf"},
    Row{FileKind::kTflite, "a LiteRT (TensorFlow Lite) model",
        "carina compile, explain, run, interpret, tosa and inspect take it under a name that ends in .tflite"},
    Row{FileKind::kOnnx, "an ONNX model",
        "Carina takes PyTorch models: convert it to an nn.Module (onnx2torch does), then torch.export.export and "
        "torch.export.save"},
    Row{FileKind::kHdf5, "an HDF5 file, as Keras writes it",
        "Carina takes PyTorch models: load the weights into an nn.Module, then torch.export.export and "
        "torch.export.save"},
    Row{FileKind::kSafetensors, "a file of weights (safetensors), which has no program",
        "load the weights into their nn.Module (safetensors.torch.load_model), then torch.export.export and "
        "torch.export.save"},
    Row{FileKind::kElf, "an ELF file: a firmware image, or a program or library of a machine",
        "`carina firmware` makes an image from a .pte, and `carina qemu` runs it"},
    Row{FileKind::kPython, "a Python file",
        "run it so that it calls torch.export.export(model, inputs) and torch.export.save, and give the .pt2 that it "
        "writes"},
    Row{FileKind::kKeras, "a Keras archive", "Carina takes PyTorch models: torch.export.save, or TOSA"},
    Row{FileKind::kGguf, "a GGUF file of weights", "Carina takes PyTorch models: torch.export.save, or TOSA"},
    Row{FileKind::kTar, "a tar archive", "unpack it first: tar -xf"},
    Row{FileKind::kGzip, "a file compressed with gzip", "unpack it first: gunzip, or tar -xf"},
    Row{FileKind::kLfsPointer, "a pointer of Git LFS, in the place of the file itself",
        "get the file: git lfs install, then git lfs pull"},
    Row{FileKind::kHtml, "an HTML page", "a download may have ended in an error page; open it in a browser"},
    Row{FileKind::kWav, "a sound file (.wav)",
        "`carina run --sequence` takes it for an input of sound samples; for other inputs, compute them in Python, and "
        "save one array: np.savez(\"data.npz\", x=array)"},
    Row{FileKind::kPng, "an image", kOfImages},
    Row{FileKind::kJpeg, "an image", kOfImages},
    Row{FileKind::kText, "a text file",
        "`carina run -i` reads numbers from a .csv; for other data: np.savez(\"data.npz\", x=np.loadtxt(...))"},
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
    Entry{"model.weights.h5", FileKind::kKeras},
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

namespace {

// The first bytes of a file.
struct Magic {
  std::string_view text;
  FileKind kind;
};
constexpr std::array kMagics{
    Magic{"\x93NUMPY", FileKind::kNpy},
    Magic{"\x80\x02", FileKind::kTorchSave},  // a bare pickle, of torch before 1.6
    Magic{"\x89HDF\r\n", FileKind::kHdf5},
    Magic{"\x7f"
          "ELF",
          FileKind::kElf},
    Magic{"GGUF", FileKind::kGguf},
    Magic{"\x1f\x8b", FileKind::kGzip},
    Magic{"\x89PNG\r\n", FileKind::kPng},
    Magic{"\xff\xd8\xff", FileKind::kJpeg},
    Magic{"version https://git-lfs", FileKind::kLfsPointer},
    Magic{"<!DOCTYPE html", FileKind::kHtml},
    Magic{"<!doctype html", FileKind::kHtml},
    Magic{"<html", FileKind::kHtml},
};

// A protobuf message ModelProto: field 1 is the version of ONNX's IR, and one of the fields 2 to 8 follows.
bool is_onnx(std::string_view text) {
  if (text.size() < 4 || text[0] != 0x08 || text[1] < 1 || text[1] > 32) return false;
  return std::string_view("\x12\x1a\x22\x28\x32\x3a\x42").contains(text[2]);
}

bool is_tar(std::string_view text) {
  constexpr size_t kMagicAt = 257;  // in the header of the first file (POSIX.1-1988)
  return text.size() > kMagicAt + 5 && text.substr(kMagicAt, 5) == "ustar";
}

bool is_wav(std::string_view text) {
  return text.starts_with("RIFF") && text.substr(0, 12).ends_with("WAVE");
}

// Whether the first bytes are characters of a text, in UTF-8 or another extension of ASCII.
bool is_text(std::string_view text) {
  constexpr size_t kSeen = 512;
  return std::ranges::all_of(text.substr(0, kSeen), [](unsigned char c) {
    return (c >= ' ' && c != 0x7f) || c == '\t' || c == '\r' || c == '\n';
  });
}

// Eight bytes with the length of a JSON object, and the object.
bool is_safetensors(std::string_view text) {
  if (text.size() < 10 || text[8] != '{') return false;
  uint64_t length = 0;
  for (size_t i = 8; i-- > 0;) length = length << 8 | static_cast<uint8_t>(text[i]);
  return length >= 2 && length <= text.size() - 8;
}

}  // namespace

FileKind kind_of(const Buffer& file, std::string_view name) {
  const FileKind kind = kind_of(file);
  if (kind != FileKind::kUnknown && kind != FileKind::kText) return kind;
  if (name.ends_with(".onnx")) return FileKind::kOnnx;
  return name.ends_with(".py") ? FileKind::kPython : kind;
}

FileKind kind_of(const Buffer& file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.empty()) return FileKind::kEmpty;
  if (text.starts_with("PK\x05\x06")) return FileKind::kEmptyZip;
  if (text.starts_with("PK\x03\x04")) return kind_of_archive(file);
  for (const Magic& magic : kMagics) {
    if (text.starts_with(magic.text)) return magic.kind;
  }
  if (vgf::is_vgf(file)) return FileKind::kVgf;
  const std::string_view identifier = text.substr(std::min<size_t>(4, text.size()), 4);
  const auto* found = std::ranges::find_if(
      kIdentifiers, [&](const Identifier& row) { return identifier.size() == 4 && identifier.starts_with(row.text); });
  if (found != kIdentifiers.end()) return found->kind;
  if (is_onnx(text)) return FileKind::kOnnx;
  if (is_safetensors(text)) return FileKind::kSafetensors;
  if (is_wav(text)) return FileKind::kWav;
  if (is_tar(text)) return FileKind::kTar;
  return is_text(text) ? FileKind::kText : FileKind::kUnknown;
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
  const FileKind kind = kind_of(file, where);
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
