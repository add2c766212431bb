// Reads sound files as the steps of a sequence.
// A .wav is a RIFF file: "RIFF", a size, "WAVE", then chunks of a name of 4 characters, a size and as many bytes,
// padded to an even number. "fmt " has the coding, "data" the sound samples, little-endian. Source: Multimedia
// Programming Interface and Data Specifications 1.0 (IBM, Microsoft, 1991), and WAVE_FORMAT_EXTENSIBLE of mmreg.h,
// which has the coding in the first two bytes of its sub-format.
#include "datasets/sound_input_internal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace carina::datasets {

namespace {

constexpr uint16_t kPcm = 1, kFloats = 3, kExtensible = 0xfffe;

struct Format {
  uint16_t coding = 0;
  uint16_t channels = 0;
  uint32_t rate = 0;
  uint16_t bits = 0;
};

template <typename T>
T number_at(std::span<const std::byte> bytes, size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// The content of the first chunk of this name, up to the end of the file. No value: there is none.
std::optional<std::span<const std::byte>> chunk(std::span<const std::byte> file, std::string_view name) {
  constexpr size_t kRiffBytes = 12, kHeaderBytes = 8;
  for (size_t at = kRiffBytes; at + kHeaderBytes <= file.size();) {
    const size_t bytes = number_at<uint32_t>(file, at + 4);
    const std::span<const std::byte> rest = file.subspan(at + kHeaderBytes);
    if (std::memcmp(file.data() + at, name.data(), name.size()) == 0) return rest.first(std::min(bytes, rest.size()));
    if (bytes > rest.size()) return std::nullopt;
    at += kHeaderBytes + bytes + bytes % 2;
  }
  return std::nullopt;
}

std::optional<Format> format_of(std::span<const std::byte> file) {
  constexpr size_t kPlainBytes = 16, kExtensibleBytes = 26;
  const auto fmt = chunk(file, "fmt ");
  if (!fmt || fmt->size() < kPlainBytes) return std::nullopt;
  Format format{.coding = number_at<uint16_t>(*fmt, 0),
                .channels = number_at<uint16_t>(*fmt, 2),
                .rate = number_at<uint32_t>(*fmt, 4),
                .bits = number_at<uint16_t>(*fmt, 14)};
  if (format.coding == kExtensible && fmt->size() >= kExtensibleBytes) format.coding = number_at<uint16_t>(*fmt, 24);
  return format;
}

// Sound sample `n`, from -1 to 1. 8 bits are unsigned, more bits are signed.
double sample_of(std::span<const std::byte> data, const Format& format, size_t n) {
  if (format.coding == kFloats)
    return format.bits == 32 ? static_cast<double>(number_at<float>(data, n * 4)) : number_at<double>(data, n * 8);
  const size_t bytes = format.bits / 8;
  if (bytes == 1) return (static_cast<double>(data[n]) - 128.0) / 128.0;
  uint32_t word = 0;
  std::memcpy(reinterpret_cast<std::byte*>(&word) + (4 - bytes), data.data() + n * bytes, bytes);
  return static_cast<double>(static_cast<int32_t>(word)) / 2147483648.0;
}

bool is_known(const Format& format) {
  if (format.coding == kFloats) return format.bits == 32 || format.bits == 64;
  return format.coding == kPcm && (format.bits == 8 || format.bits == 16 || format.bits == 24 || format.bits == 32);
}

Result<void> check(const Format& format, const InputType& input, const SoundOptions& options,
                   const std::string& where) {
  if (format.channels != 1)
    return fail({.where = where,
                 .what = "the sound has several channels",
                 .expected = "1 channel",
                 .got = std::to_string(format.channels),
                 .hint = "mix the channels, or save one of them, first"});
  if (!is_known(format))
    return fail({.where = where,
                 .what = "the coding of the sound is not supported",
                 .expected = "PCM of 8, 16, 24 or 32 bits, or floats",
                 .got = fmt::format("coding {} with {} bits", format.coding, format.bits)});
  if (options.rate > 0 && options.rate != format.rate)
    return fail({.where = where,
                 .what = "the sound has another sample rate than --sample-rate says, and is not resampled",
                 .expected = fmt::format("{} Hz", options.rate),
                 .got = fmt::format("{} Hz", format.rate),
                 .hint = fmt::format("resample it first: sox in.wav -r {} out.wav", options.rate)});
  if (input.dtype == DType::kFp32 || input.dtype == DType::kInt16) return {};
  return fail({.where = where,
               .what = fmt::format("a sound does not fit the input {}", input.name),
               .expected = "an input of type fp32 or int16",
               .got = std::string(name_of(input.dtype)),
               .hint = "give an .npy with the input's own numbers"});
}

int16_t to_int16(double sample) {
  return static_cast<int16_t>(std::clamp(std::nearbyint(sample * 32768.0), -32768.0, 32767.0));
}

}  // namespace

Result<std::vector<Tensor>> sound_steps(const Buffer& file, const InputType& input, const SoundOptions& options,
                                        const std::string& where, const Log& log) {
  const std::optional<Format> format = format_of(file.bytes());
  const auto data = chunk(file.bytes(), "data");
  if (!format || !data)
    return fail({.where = where, .what = "the sound file is damaged: it has no format, or no sound samples"});
  CARINA_CHECKED(check(*format, input, options, where));
  const size_t samples = data->size() / (format->bits / 8);
  const auto step = static_cast<size_t>(input.shape.elements());
  if (step == 0 || samples < step)
    return fail({.where = where,
                 .what = fmt::format("the sound is shorter than the input {}", input.name),
                 .expected = fmt::format("at least {} sound samples", step),
                 .got = std::to_string(samples)});
  std::vector<Tensor> steps;
  for (size_t first = 0; first + step <= samples; first += step) {
    MutableTensor tensor(input.dtype, input.shape);
    for (size_t i = 0; i < step; ++i) {
      const double sample = sample_of(*data, *format, first + i);
      if (input.dtype == DType::kInt16)
        tensor.values<int16_t>()[i] = to_int16(sample);
      else
        tensor.values<float>()[i] = static_cast<float>(sample);
    }
    steps.push_back(std::move(tensor).freeze());
  }
  const size_t unused = samples % step;
  log.note({.where = where,
            .what = fmt::format("{} Hz, {} steps of {} sound samples{}{}", format->rate, steps.size(), step,
                                options.rate > 0 ? "" : "; nothing is resampled",
                                unused == 0 ? "" : fmt::format("; {} after the last step are not used", unused)),
            .hint = options.rate > 0 ? "" : "--sample-rate says which rate the model takes",
            .severity = Severity::kNote});
  return steps;
}

}  // namespace carina::datasets
