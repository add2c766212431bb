// Target limits that several operators share.

#include <fmt/format.h>

#include "lower/legality_internal.h"

namespace carina::lower {

namespace {

std::string axis_name(size_t axis) {
  return axis == 0 ? "y" : "x";
}

}  // namespace

Rejected check_axes(const Candidate& c, const ir::Value& value) {
  for (size_t axis = 0; axis < value.shape.rank(); ++axis) {
    if (value.shape[axis] <= c.target.limits.axis_elems) continue;
    return rejected("axis.size",
                    fmt::format("axis {} of {} has {} elements, {} supports at most {}", axis, value.name,
                                value.shape[axis], c.target.name, c.target.limits.axis_elems),
                    "split the axis and join the results; --legalize does it for convolutions");
  }
  return std::nullopt;
}

// If an unsupported stride occurs with few window positions, each position becomes one operation.
Rejected check_stride(const Candidate& c, const std::vector<int64_t>& stride) {
  const Shape& result = c.output().shape;
  const int64_t max = c.target.limits.stride;
  int64_t windows = 1;
  for (size_t axis = 0; axis < 2; ++axis) {
    if (stride[axis] > max) windows *= result[2 + axis];
  }
  for (size_t axis = 0; axis < 2; ++axis) {
    if (stride[axis] <= max || windows <= c.target.limits.unrolled_windows) continue;
    return rejected(
        "window.stride",
        fmt::format("stride_{} is {}, {} supports at most {}", axis_name(axis), stride[axis], c.target.name, max),
        fmt::format("use a stride of at most {}, or --legalize, which says the same in other operators", max));
  }
  return std::nullopt;
}

Rejected check_kernel(const Candidate& c, const std::vector<int64_t>& kernel, const std::vector<int64_t>& dilation,
                      const WindowLimit& limit) {
  const int64_t height = dilation[0] * (kernel[0] - 1) + 1, width = dilation[1] * (kernel[1] - 1) + 1;
  if (height > limit.rows) {
    return rejected(
        "window.height",
        fmt::format("the kernel reaches over {} rows, {} supports at most {}", height, c.target.name, limit.rows),
        "use a smaller kernel or dilation");
  }
  if (height * width > limit.elems) {
    return rejected("window.elements",
                    fmt::format("the kernel covers {}x{} elements, {} supports at most {}", height, width,
                                c.target.name, limit.elems),
                    "use a smaller kernel or dilation");
  }
  return std::nullopt;
}

Rejected check_convolution_kernel(const Candidate& c, const std::vector<int64_t>& kernel,
                                  const std::vector<int64_t>& dilation) {
  if (Candidate::type_of(c.input(0)) == DType::kInt8) return std::nullopt;
  const Rejected rejection = check_kernel(c, kernel, dilation, c.target.limits.kernel);
  const bool fits_turned =
      !check_kernel(c, {kernel[1], kernel[0]}, {dilation[1], dilation[0]}, c.target.limits.kernel).has_value();
  return fits_turned ? std::nullopt : rejection;
}

}  // namespace carina::lower
