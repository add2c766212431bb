// Runs a program with one input in the official ExecuTorch runtime, linked with Carina's delegate. Usage: MODEL.pte
// IN.bin OUT.bin (raw bytes of the tensors).
#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include "interop/executorch/delegate.h"

int main(int, char** arguments) {
  using namespace executorch::extension;
  Module module(arguments[1]);
  const auto meta = module.method_meta("forward");
  if (!meta.ok()) return 1;
  const auto input = meta->input_tensor_meta(0);
  std::ifstream file(arguments[2], std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  if (!input.ok() || bytes.size() != input->nbytes()) return 2;
  std::vector<int> sizes(input->sizes().begin(), input->sizes().end());
  const auto tensor = from_blob(bytes.data(), sizes, input->scalar_type());
  const auto outputs = module.forward(tensor);
  if (!outputs.ok()) {
    std::fprintf(stderr, "%s\n", carina_executorch_last_error());
    return 3;
  }
  const auto& output = outputs->at(0).toTensor();
  std::ofstream(arguments[3], std::ios::binary)
      .write(static_cast<const char*>(output.const_data_ptr()), static_cast<long>(output.nbytes()));
  std::printf("%zu\n", carina_executorch_report_count());
  return 0;
}
