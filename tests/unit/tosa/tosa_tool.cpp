// What the judges' tests drive: the reader, the writer, the text form and the verifier, one step at a time.
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "ir/text.h"
#include "tosa/flatbuffer.h"
#include "tosa/verify.h"

namespace {

using carina::Result;

constexpr std::string_view kUsage =
    "usage: tosa_tool COMMAND FILE [OUT]\n"
    "  rewrite IN.tosa OUT.tosa   read and write\n"
    "  retext  IN.tosa OUT.tosa   read, print, parse, write; the parsed graphs must be identical\n"
    "  print   IN.tosa            the text form on the standard output\n"
    "  verify  IN.tosa...         the verifier; prints a line per refused file, exit code 1 when there is one\n";

Result<carina::ir::Module> read(const std::string& path) {
  CARINA_TRY(const carina::Buffer file, carina::map_file(path));
  return carina::tosa::read_tosa(file, path);
}

Result<void> write(const carina::ir::Module& module, const std::string& path) {
  CARINA_TRY(const std::vector<std::byte> bytes, carina::tosa::write_tosa(module));
  return carina::write_file(path, bytes);
}

Result<void> rewrite(const std::string& in, const std::string& out) {
  CARINA_TRY(const carina::ir::Module module, read(in));
  return write(module, out);
}

Result<void> retext(const std::string& in, const std::string& out) {
  CARINA_TRY(const carina::ir::Module module, read(in));
  const std::string text = carina::ir::print(module);
  CARINA_TRY(const carina::ir::Module back, carina::ir::parse(text, "text of " + in));
  if (!identical(module, back)) return carina::fail({.where = in, .what = "the text form loses something"});
  return write(back, out);
}

Result<void> print(const std::string& in) {
  CARINA_TRY(const carina::ir::Module module, read(in));
  std::fputs(carina::ir::print(module).c_str(), stdout);
  return {};
}

Result<void> verify(const std::string& in) {
  CARINA_TRY(const carina::ir::Module module, read(in));
  return carina::tosa::verify(module, {.where = in});
}

Result<void> verify_all(std::span<const std::string> files) {
  carina::Diagnostics all;
  for (const std::string& file : files) {
    const auto sound = verify(file);
    if (!sound) all.push_back(sound.error().front());
  }
  if (all.empty()) return {};
  return carina::fail(all);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  Result<void> done;
  if (arguments.size() == 3 && arguments[0] == "rewrite") done = rewrite(arguments[1], arguments[2]);
  else if (arguments.size() == 3 && arguments[0] == "retext") done = retext(arguments[1], arguments[2]);
  else if (arguments.size() == 2 && arguments[0] == "print") done = print(arguments[1]);
  else if (arguments.size() >= 2 && arguments[0] == "verify") done = verify_all(std::span(arguments).subspan(1));
  else return std::fputs(kUsage.data(), stderr), 2;
  if (done) return 0;
  std::fprintf(stderr, "%s\n", carina::to_string(done.error()).c_str());
  return 1;
}
