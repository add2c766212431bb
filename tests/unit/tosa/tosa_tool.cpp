// What the judges' tests drive until they drive the command line: tosa_tool rewrite IN OUT.
#include <cstdio>
#include <string>

#include "base/file.h"
#include "tosa/flatbuffer.h"

namespace {

int report(const carina::Diagnostics& diagnostics) {
  std::fprintf(stderr, "%s\n", carina::to_string(diagnostics).c_str());
  return 1;
}

int rewrite(const std::string& from, const std::string& to) {
  const auto file = carina::map_file(from);
  if (!file) return report(file.error());
  const auto module = carina::tosa::read_tosa(*file, from);
  if (!module) return report(module.error());
  const auto bytes = carina::tosa::write_tosa(*module);
  if (!bytes) return report(bytes.error());
  const auto written = carina::write_file(to, *bytes);
  return written ? 0 : report(written.error());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "rewrite") return rewrite(argv[2], argv[3]);
  std::fprintf(stderr, "usage: tosa_tool rewrite IN.tosa OUT.tosa\n");
  return 2;
}
