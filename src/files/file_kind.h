#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "carina/buffer.h"
#include "carina/result.h"

namespace carina::files {

// The kind of a file by its content, not by its name. This is the only list of kinds.
enum class FileKind : uint8_t {
  kUnknown,  // also what is damaged: its reader says where
  kEmpty,
  kPt2,             // torch.export.save
  kOldPt2,          // torch.export.save of torch 2.2 to 2.4
  kTorchScript,     // torch.jit.save
  kTorchSave,       // torch.save: a state_dict, a module
  kPte,             // an ExecuTorch program
  kBundledProgram,  // an ExecuTorch program with test cases
  kPtd,             // an ExecuTorch program's external weights
  kEtDump,          // ExecuTorch's record of a run
  kTosa,
  kVgf,  // SPIR-V for a GPU with neural accelerators
  kTflite,
  kVelaRaw,  // a command stream in Vela's raw .npz
  kNpz,
  kNpy,
  kEmptyZip,
  kZip,  // an archive of none of these
};

// The kind of a file with these bytes.
FileKind kind_of(const Buffer& file);

// "an ExecuTorch program (.pte)"
std::string_view text_of_kind(FileKind kind);
// What to do with it: "carina run, inspect and disasm take it"; never empty.
std::string_view advice(FileKind kind);

// The error of a command that was given a file of another kind than it takes: says what the file is, what was expected,
// and which command takes it.
std::unexpected<Diagnostics> wrong_kind(const std::string& where, FileKind got, std::string_view expected);

// Errors: these bytes are known to be of another kind than these. Of unknown kind they pass: their reader can say more.
Result<void> check_kind(const Buffer& file, const std::string& where, std::initializer_list<FileKind> wanted);

// The bytes of a file for a command that takes these kinds. Errors: of map_file(); a file that is known to be of
// another kind. One of unknown kind passes: its reader can say more.
Result<Buffer> open_file(const std::string& path, std::initializer_list<FileKind> wanted);

}  // namespace carina::files
