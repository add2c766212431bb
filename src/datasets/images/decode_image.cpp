#include "datasets/images/decode_image.h"

#include <fmt/format.h>
#include <png.h>

#include <jpeglib.h>
#include <array>
#include <csetjmp>
#include <cstdio>  // jpeglib.h wants it
#include <cstring>
#include <string_view>

namespace carina::datasets {

namespace {

constexpr int64_t kMaxPixels = int64_t{64} << 20;

std::unexpected<Diagnostics> broken(const std::string& where, std::string_view format, std::string_view reason) {
  return fail({.where = where, .what = fmt::format("the {} cannot be decoded: {}", format, reason)});
}

Result<void> check_size(int64_t width, int64_t height, const std::string& where) {
  if (width > 0 && height > 0 && width <= kMaxPixels / height) return {};
  return fail({.where = where,
               .what = "the image is too large, or empty",
               .expected = fmt::format("at most {} pixels", kMaxPixels),
               .got = fmt::format("{} x {}", width, height)});
}

// The state of libpng. The destructor frees it.
struct PngImage {
  png_image image{};
  PngImage() { image.version = PNG_IMAGE_VERSION; }
  PngImage(const PngImage&) = delete;
  PngImage& operator=(const PngImage&) = delete;
  ~PngImage() { png_image_free(&image); }
};

Result<Image> read_png(const Buffer& file, int64_t channels, const std::string& where) {
  PngImage png;
  if (png_image_begin_read_from_memory(&png.image, file.data(), file.size()) == 0)
    return broken(where, "PNG", png.image.message);
  CARINA_CHECKED(check_size(png.image.width, png.image.height, where));
  png.image.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  Image decoded{.width = png.image.width, .height = png.image.height, .channels = channels, .pixels = {}};
  decoded.pixels.resize(static_cast<size_t>(decoded.width * decoded.height * channels));
  const png_color black{};
  if (png_image_finish_read(&png.image, &black, decoded.pixels.data(), 0, nullptr) == 0)
    return broken(where, "PNG", png.image.message);
  return decoded;
}

// The error handler for libjpeg, which leaves a failed call by longjmp(). No objects with destructors are skipped.
struct JpegErrors {
  jpeg_error_mgr manager{};
  std::jmp_buf after_error{};
  std::array<char, JMSG_LENGTH_MAX> message{};
};

[[noreturn]] void report_error(j_common_ptr decoder) {
  auto* errors = reinterpret_cast<JpegErrors*>(decoder->err);
  decoder->err->format_message(decoder, errors->message.data());
  std::longjmp(errors->after_error, 1);
}

void stay_silent(j_common_ptr /*decoder*/, int /*level*/) {}

class JpegDecoder {
 public:
  JpegDecoder() {
    decoder_.err = jpeg_std_error(&errors_.manager);
    errors_.manager.error_exit = report_error;
    errors_.manager.emit_message = stay_silent;
  }
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;
  ~JpegDecoder() { jpeg_destroy_decompress(&decoder_); }

  bool begin(std::span<const std::byte> file, int64_t channels) {
    if (setjmp(errors_.after_error) != 0) return false;
    jpeg_create_decompress(&decoder_);
    jpeg_mem_src(&decoder_, reinterpret_cast<const unsigned char*>(file.data()),
                 static_cast<unsigned long>(file.size()));
    jpeg_read_header(&decoder_, TRUE);
    decoder_.out_color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    return true;
  }
  bool read(uint8_t* pixels, size_t row_bytes) {
    if (setjmp(errors_.after_error) != 0) return false;
    jpeg_start_decompress(&decoder_);
    while (decoder_.output_scanline < decoder_.output_height) {
      JSAMPROW row = pixels + decoder_.output_scanline * row_bytes;
      jpeg_read_scanlines(&decoder_, &row, 1);
    }
    jpeg_finish_decompress(&decoder_);
    return true;
  }
  [[nodiscard]] int64_t width() const { return decoder_.image_width; }
  [[nodiscard]] int64_t height() const { return decoder_.image_height; }
  [[nodiscard]] std::string_view message() const { return errors_.message.data(); }

 private:
  jpeg_decompress_struct decoder_{};
  JpegErrors errors_;
};

Result<Image> read_jpeg(const Buffer& file, int64_t channels, const std::string& where) {
  JpegDecoder decoder;
  if (!decoder.begin(file.bytes(), channels)) return broken(where, "JPEG", decoder.message());
  CARINA_CHECKED(check_size(decoder.width(), decoder.height(), where));
  Image decoded{.width = decoder.width(), .height = decoder.height(), .channels = channels, .pixels = {}};
  decoded.pixels.resize(static_cast<size_t>(decoded.width * decoded.height * channels));
  if (!decoder.read(decoded.pixels.data(), static_cast<size_t>(decoded.width * channels)))
    return broken(where, "JPEG", decoder.message());
  return decoded;
}

}  // namespace

Result<Image> decode_image(const Buffer& file, int64_t channels, const std::string& where) {
  if (image_format_of(file) == ImageFormat::kPng) return read_png(file, channels, where);
  if (image_format_of(file) == ImageFormat::kJpeg) return read_jpeg(file, channels, where);
  return fail({.where = where, .what = "neither a PNG nor a JPEG"});
}

}  // namespace carina::datasets
