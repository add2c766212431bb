#include "datasets/outputs.h"

#include <fmt/format.h>

#include "base/io/file.h"
#include "datasets/samples.h"
#include "tensor/float_formats.h"
#include "tensor/npy.h"

namespace carina::datasets {

namespace {

constexpr int64_t kPreviewElements = 12;

template <typename T>
std::string number(const Tensor& tensor, int64_t i) {
  return fmt::format("{}", tensor.values<T>()[static_cast<size_t>(i)]);
}

std::string element_text(const Tensor& tensor, int64_t i) {
  const auto at = static_cast<size_t>(i);
  switch (tensor.dtype) {
    case DType::kBool:
      return tensor.values<uint8_t>()[at] != 0 ? "true" : "false";
    case DType::kInt4:
    case DType::kInt8:
      return std::to_string(tensor.values<int8_t>()[at]);
    case DType::kUInt8:
      return std::to_string(tensor.values<uint8_t>()[at]);
    case DType::kInt16:
      return number<int16_t>(tensor, i);
    case DType::kUInt16:
      return number<uint16_t>(tensor, i);
    case DType::kInt32:
      return number<int32_t>(tensor, i);
    case DType::kUInt32:
      return number<uint32_t>(tensor, i);
    case DType::kInt48:
    case DType::kInt64:
    case DType::kShape:
      return number<int64_t>(tensor, i);
    case DType::kFp16:
      return fmt::format("{}", fp16_to_fp32(tensor.values<uint16_t>()[at]));
    case DType::kBf16:
      return fmt::format("{}", bf16_to_fp32(tensor.values<uint16_t>()[at]));
    case DType::kFp32:
      return fmt::format("{:.6g}", tensor.values<float>()[at]);
    case DType::kFp64:
      return fmt::format("{:.6g}", tensor.values<double>()[at]);
    case DType::kFp8E4M3:
      return fmt::format("{}", fp8e4m3_to_fp32(tensor.values<uint8_t>()[at]));
    case DType::kFp8E5M2:
      return fmt::format("{}", fp8e5m2_to_fp32(tensor.values<uint8_t>()[at]));
    case DType::kFp6E2M3:
      return fmt::format("{}", fp6e2m3_to_fp32(tensor.values<uint8_t>()[at]));
    case DType::kFp6E3M2:
      return fmt::format("{}", fp6e3m2_to_fp32(tensor.values<uint8_t>()[at]));
    case DType::kFp4E2M1:
      return fmt::format("{}", fp4e2m1_to_fp32(tensor.values<uint8_t>()[at]));
    case DType::kFp8UE8M0:
      return fmt::format("{}", fp8ue8m0_to_fp32(tensor.values<uint8_t>()[at]));
    case DType::kUnknown:
      break;
  }
  return "?";
}

}  // namespace

std::string preview(const Tensor& tensor) {
  std::string text = "[";
  const int64_t elements = tensor.elements();
  for (int64_t i = 0; i < std::min(elements, kPreviewElements); ++i)
    text += (i == 0 ? "" : ", ") + element_text(tensor, i);
  return text + (elements > kPreviewElements ? ", ...]" : "]");
}

Result<std::vector<results::TensorReport>> report_tensors(const std::vector<NamedTensor>& tensors,
                                                          const std::string& folder) {
  if (!folder.empty()) CARINA_CHECKED(make_folder(folder));
  std::vector<results::TensorReport> reports;
  for (size_t n = 0; n < tensors.size(); ++n) {
    const Tensor& tensor = tensors[n].tensor;
    const std::string file = folder.empty() ? "" : fmt::format("{}/output_{}.npy", folder, n);
    if (!file.empty()) CARINA_CHECKED(write_file(file, npy_bytes(tensor)));
    reports.push_back({.name = tensors[n].name,
                       .type = type_text(tensor.dtype, tensor.shape),
                       .file = file,
                       .preview = preview(tensor)});
  }
  return reports;
}

}  // namespace carina::datasets
