#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "carina/buffer.h"
#include "carina/result.h"

namespace carina::files {

// The kind of a file, by its content and not by its name. This is the only list of kinds.
enum class FileKind : uint8_t {
  kUnknown,  // includes damaged files: their reader reports the position
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
  kOnnx,
  kHdf5,         // weights of Keras and others
  kSafetensors,  // weights without a program
  kElf,          // a program or library of the machine, a firmware image
  kPython,
  kKeras,  // a Keras 3 archive
  kGguf,   // weights of llama.cpp
  kTar,
  kGzip,
  kLfsPointer,  // what Git has in the place of a file that Git LFS keeps
  kHtml,        // often the error page of a download
  kWav,
  kPng,
  kJpeg,
  kText,     // any other text
  kVelaRaw,  // a command stream in Vela's raw .npz
  kNpz,
  kNpy,
  kEmptyZip,
  kZip,  // an archive of any other kind
};

// Returns the kind of a file with these bytes.
FileKind kind_of(const Buffer& file);
// As kind_of(), also by the ending of the name where the bytes do not tell.
FileKind kind_of(const Buffer& file, std::string_view name);

// "an ExecuTorch program (.pte)"
std::string_view text_of_kind(FileKind kind);
// Returns what to do with such a file: "carina run, inspect and disasm take it"; never empty.
std::string_view advice(FileKind kind);

// Returns the error of a command that was given a file of the wrong kind. It names the file's kind, the expected kind
// and the command that takes the file.
std::unexpected<Diagnostics> wrong_kind(const std::string& where, FileKind got, std::string_view expected);

// Checks that the bytes are of a wanted kind. Bytes of unknown kind pass, because their reader reports more. Errors:
// the bytes are known to be of another kind.
Result<void> check_kind(const Buffer& file, const std::string& where, std::initializer_list<FileKind> wanted);

// Reads a file for a command that takes these kinds. A file of unknown kind passes, because its reader reports more.
// Errors: those of map_file(); the file is known to be of another kind.
Result<Buffer> open_file(const std::string& path, std::initializer_list<FileKind> wanted);

}  // namespace carina::files
