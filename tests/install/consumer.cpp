// Compiles a TOSA graph to a blob, as the preprocess() of a plug-in does. Here the bytes are not a graph, so the result
// is an error with a diagnostic.

#include <algorithm>
#include <cstdio>
#include <vector>

#include <carina/api.h>

int main() {
  const std::vector<std::string_view> targets = carina::api::targets();
  if (std::ranges::find(targets, "ethos-u55-128") == targets.end()) return 1;
  const std::vector<std::byte> junk(64);
  const auto blob = carina::api::compile_delegate(junk, {.accelerator = "ethos-u55-128"});
  if (blob || blob.error().front().fault != carina::Fault::kInput) return 1;
  std::puts(carina::to_string(blob.error()).c_str());
  return 0;
}
