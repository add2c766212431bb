#include "datasets/image_input_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "datasets/number_text_internal.h"
#include "files/file_kind.h"

namespace carina::datasets {

namespace {

constexpr double kMaxPixelValue = 255.0;

// The axes of an input that correspond to an image's axes.
struct Layout {
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  bool channels_first = true;
};

std::optional<Layout> layout_of(const Shape& shape) {
  if (shape.rank() != 3 && !(shape.rank() == 4 && shape[0] == 1)) return std::nullopt;
  const auto dims = shape.dims().last(3);
  const auto is_color = [](int64_t size) { return size == 1 || size == 3; };
  if (is_color(dims[0])) return Layout{.channels = dims[0], .height = dims[1], .width = dims[2]};
  if (is_color(dims[2]))
    return Layout{.channels = dims[2], .height = dims[0], .width = dims[1], .channels_first = false};
  return std::nullopt;
}

Result<Layout> check_layout(const InputType& input, const ImageOptions& options, const std::string& where) {
  const std::optional<Layout> layout = layout_of(input.shape);
  if (!layout)
    return fail({.where = where,
                 .what = fmt::format("the input {} cannot be an image", input.name),
                 .expected = "[1,C,H,W] or [1,H,W,C] with 1 or 3 channels",
                 .got = type_text(input.dtype, input.shape)});
  for (const auto& [name, numbers] : {std::pair{"--mean", &options.mean}, std::pair{"--std", &options.std}}) {
    const auto count = static_cast<int64_t>(numbers->size());
    if (count > 1 && count != layout->channels)
      return fail({.where = name,
                   .what = "the number of values differs from the number of channels",
                   .expected = fmt::format("1 or {}", layout->channels),
                   .got = std::to_string(count),
                   .fault = Fault::kUsage});
  }
  return *layout;
}

// The normalization of a channel's values from 0 to 255.
struct Scaling {
  double mean = 0;
  double std = 1;
  double operator()(uint8_t value) const { return (value / kMaxPixelValue - mean) / std; }
};

Scaling scaling_of(const ImageOptions& options, size_t channel) {
  const auto pick = [&](const std::vector<double>& numbers, double none) {
    return numbers.empty() ? none : numbers[numbers.size() == 1 ? 0 : channel];
  };
  return {.mean = pick(options.mean, 0), .std = pick(options.std, 1)};
}

bool is_raw(const ImageOptions& options) {
  return options.mean.empty() && options.std.empty();
}

Result<void> check_meaning(const InputType& input, const ImageOptions& options, const std::string& where) {
  if (is_float(input.dtype) || !is_raw(options) || input.dtype == DType::kUInt8) return {};
  return fail(
      {.where = where,
       .what = fmt::format("the input {} has integers, and the program does not contain their scale", input.name),
       .got = type_text(input.dtype, input.shape),
       .hint = "give --mean and --std so that (v / 255 - mean) / std is the integer, or an .npy of integers"});
}

double element_of(uint8_t pixel, const Scaling& scaling, const InputType& input, bool raw) {
  if (is_float(input.dtype)) return scaling(pixel);
  if (raw) return pixel;
  const IntegerRange range = range_of(input.dtype);
  return std::clamp(std::nearbyint(scaling(pixel)), static_cast<double>(range.min), static_cast<double>(range.max));
}

std::vector<double> elements_of(const Image& image, const Layout& layout, const InputType& input,
                                const ImageOptions& options) {
  std::vector<double> elements(image.pixels.size());
  const auto channels = static_cast<size_t>(layout.channels);
  const size_t plane = image.pixels.size() / channels;
  for (size_t channel = 0; channel < channels; ++channel) {
    const Scaling scaling = scaling_of(options, channel);
    for (size_t i = 0; i < plane; ++i) {
      const size_t index = layout.channels_first ? channel * plane + i : i * channels + channel;
      elements[index] = element_of(image.pixels[i * channels + channel], scaling, input, is_raw(options));
    }
  }
  return elements;
}

}  // namespace

ImageFormat image_format_of(const Buffer& file) {
  const files::FileKind kind = files::kind_of(file);
  if (kind == files::FileKind::kPng) return ImageFormat::kPng;
  return kind == files::FileKind::kJpeg ? ImageFormat::kJpeg : ImageFormat::kNone;
}

Result<Tensor> image_tensor(const Buffer& file, const InputType& input, const ImageOptions& options,
                            const std::string& where) {
  CARINA_TRY(const Layout layout, check_layout(input, options, where));
  CARINA_CHECKED(check_meaning(input, options, where));
  if (options.decoder == nullptr) return fail({.where = where, .what = "images are not supported here"});
  CARINA_TRY(const Image image, options.decoder(file, layout.channels, where));
  if (image.width != layout.width || image.height != layout.height)
    return fail({.where = where,
                 .what = fmt::format("the image does not have the size of the input {}", input.name),
                 .expected = fmt::format("{} x {}", layout.width, layout.height),
                 .got = fmt::format("{} x {}", image.width, image.height),
                 .hint = "resize it as in training, for instance with Pillow: "
                         "image.convert('RGB').resize((width, height)).save(file)"});
  return tensor_of_numbers(elements_of(image, layout, input, options), input, where);
}

}  // namespace carina::datasets
