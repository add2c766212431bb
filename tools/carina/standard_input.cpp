#include "standard_input.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "base/io/file.h"
#include "base/io/output_file.h"
#include "base/io/standard_input.h"
#include "base/io/temporary_folder.h"
#include "base/system/terminal.h"
#include "carina/buffer.h"
#include "files/file_kind.h"

namespace carina::cli {

namespace {

using files::FileKind;

constexpr std::array<std::pair<FileKind, std::string_view>, 11> kEndings{{{FileKind::kPt2, ".pt2"},
                                                                          {FileKind::kTosa, ".tosa"},
                                                                          {FileKind::kVgf, ".vgf"},
                                                                          {FileKind::kTflite, ".tflite"},
                                                                          {FileKind::kPte, ".pte"},
                                                                          {FileKind::kBundledProgram, ".bpte"},
                                                                          {FileKind::kVelaRaw, ".npz"},
                                                                          {FileKind::kNpz, ".npz"},
                                                                          {FileKind::kNpy, ".npy"},
                                                                          {FileKind::kPng, ".png"},
                                                                          {FileKind::kJpeg, ".jpg"}}};

bool is_text(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) {
    const auto c = static_cast<unsigned char>(byte);
    return (c >= ' ' && c < 0x7f) || c == '\n' || c == '\r' || c == '\t';
  });
}

// Text is a table of numbers, and other bytes of no known kind are raw tensors, as for `carina run -i`.
std::string_view ending_of(const Buffer& file) {
  const auto* found = std::ranges::find(kEndings, files::kind_of(file), &std::pair<FileKind, std::string_view>::first);
  if (found != kEndings.end()) return found->second;
  return is_text(file.bytes()) ? ".csv" : ".bin";
}

Result<std::string> made_file() {
  if (stdin_is_terminal())
    return fail({.where = "standard input",
                 .what = "- reads standard input, which is a terminal",
                 .hint = "give the name of a file, or redirect one: < FILE",
                 .fault = Fault::kUsage});
  static std::unique_ptr<TemporaryFolder> folder;  // removed when the process ends
  CARINA_TRY(const std::vector<std::byte> bytes, read_standard_input());
  CARINA_TRY(folder, TemporaryFolder::make("carina"));
  note_new_file(folder->path());
  const std::string path = folder->file("standard-input" + std::string(ending_of(Buffer::copy_of(bytes))));
  CARINA_CHECKED(write_file(path, bytes));
  return path;
}

}  // namespace

Result<std::string> standard_input_file() {
  static const Result<std::string> made = made_file();
  return made;
}

}  // namespace carina::cli
