// Steps for resized images of floats: nearest neighbors and bilinear interpolation, with the bits of the runtime's
// kernels. What an output element reads depends on its row and its column alone, so tables of both are made once.
//   Example: width 2 becomes 4, bilinear: columns 0 0 0 1 with the weights 0, 0.25, 0.75, 0.25 of the next column.
// An interpolated row is a mean of two rows of the input, each interpolated along the columns. Neighboring rows share
// them: two interpolated rows are kept.
#include <cstring>
#include <vector>

#include "accelerate/elementwise_internal.h"
#include "runtime/kernels/resize.h"

namespace carina::accelerate {

namespace {

using Kind = EValue::Kind;
using Interpolation = runtime::Interpolation<float>;

// Images whose pixels are `channels` floats side by side; a plane has one.
struct Images {
  int64_t count, channels;
  int64_t in_height, in_width, out_height, out_width;

  [[nodiscard]] int64_t in_row() const { return in_width * channels; }
  [[nodiscard]] int64_t out_row() const { return out_width * channels; }
};

// No value if the sizes or layouts do not agree. `size` and `factors` are arguments of the call, one of them None.
std::optional<Images> images_of(const EValue& in, const EValue& size, const EValue& factors, const EValue& out) {
  const auto from = image_of(in), to = image_of(out);
  if (!from || !to || from->layout != to->layout || in.tensor.rank() != 4 || out.tensor.rank() != 4 ||
      out.tensor.read_only || from->batch != to->batch || from->channels != to->channels)
    return std::nullopt;
  if (size.is_none() ? factors.kind != Kind::kDoubleList || factors.numbers.size() != 2
                     : !factors.is_none() || size.kind != Kind::kIntList || size.integers.size() != 2 ||
                           size.integers[0] != to->sizes[1] || size.integers[1] != to->sizes[2])
    return std::nullopt;
  const bool is_planes = from->layout == ImageLayout::kPlanes;
  return Images{.count = is_planes ? from->batch * from->channels : from->batch,
                .channels = is_planes ? 1 : from->channels,
                .in_height = from->sizes[1],
                .in_width = from->sizes[2],
                .out_height = to->sizes[1],
                .out_width = to->sizes[2]};
}

double scale_of(const EValue& factors, size_t axis, int64_t in, int64_t out) {
  return runtime::scale_of(factors.is_none() ? std::span<const double>() : factors.numbers, axis, in, out);
}

// Calls rows(image, first row, end) for ranges of the output's rows.
template <typename Function>
void for_rows_of(Workers& workers, const Images& images, const Function& rows) {
  kernels::split(workers, images.count * images.out_height, 1 + kGrain / images.out_row(),
                 [&](int64_t begin, int64_t end) {
                   while (begin < end) {
                     const int64_t image = begin / images.out_height, first = begin % images.out_height;
                     const int64_t last = std::min(images.out_height, first + end - begin);
                     rows(image, first, last);
                     begin += last - first;
                   }
                 });
}

class Nearest final : public Step {
 public:
  Nearest(const EValue* in, const Images& images, double row_scale, double column_scale, EValue* out)
      : in_(in), out_(out), images_(images) {
    for (int64_t y = 0; y < images.out_height; ++y)
      rows_.push_back(runtime::nearest<float>(row_scale, y, images.in_height));
    for (int64_t x = 0; x < images.out_width; ++x)
      columns_.push_back(runtime::nearest<float>(column_scale, x, images.in_width));
  }

  Error run(Workers& workers, std::byte* /*scratch*/) override {
    for_rows_of(workers, images_, [&](int64_t image, int64_t begin, int64_t end) {
      float* out = out_->tensor.as<float>() + (image * images_.out_height + begin) * images_.out_row();
      for (int64_t y = begin; y < end; ++y, out += images_.out_row()) {
        const int64_t row = rows_[static_cast<size_t>(y)];
        if (y > begin && row == rows_[static_cast<size_t>(y - 1)]) {
          std::copy_n(out - images_.out_row(), images_.out_row(), out);
        } else {
          copy_columns(in_->tensor.as<const float>() + (image * images_.in_height + row) * images_.in_row(), out);
        }
      }
    });
    return Error::kOk;
  }

 private:
  void copy_columns(const float* in, float* out) const {
    const int64_t channels = images_.channels;
    if (channels == 1) {
      for (const int64_t column : columns_) *out++ = in[column];
    } else {
      for (const int64_t column : columns_) out = std::copy_n(in + column * channels, channels, out);
    }
  }

  const EValue* in_;
  EValue* out_;
  Images images_;
  std::vector<int64_t> rows_, columns_;
};

class Bilinear final : public Step {
 public:
  Bilinear(const EValue* in, const Images& images, std::vector<Interpolation> rows, std::vector<Interpolation> columns,
           EValue* out)
      : in_(in), out_(out), images_(images), rows_(std::move(rows)), columns_(std::move(columns)) {}

  Error run(Workers& workers, std::byte* /*scratch*/) override {
    for_rows_of(workers, images_, [&](int64_t image, int64_t begin, int64_t end) {
      // Rows of the input, interpolated along the columns, and their numbers.
      std::vector<float> kept[2] = {std::vector<float>(static_cast<size_t>(images_.out_row())),
                                    std::vector<float>(static_cast<size_t>(images_.out_row()))};
      int64_t number[2] = {-1, -1};
      // The place of row `row`, which is not the place of row `other`.
      const auto place_of = [&](int64_t row, int64_t other) -> size_t {
        for (const size_t place : {0, 1}) {
          if (number[place] == row) return place;
        }
        const size_t place = number[0] == other ? 1 : 0;
        interpolate_columns(in_->tensor.as<const float>() + (image * images_.in_height + row) * images_.in_row(),
                            kept[place].data());
        number[place] = row;
        return place;
      };
      float* out = out_->tensor.as<float>() + (image * images_.out_height + begin) * images_.out_row();
      for (int64_t y = begin; y < end; ++y, out += images_.out_row()) {
        const Interpolation& rows = rows_[static_cast<size_t>(y)];
        const float* first = kept[place_of(rows.first, rows.second)].data();
        const float* second = kept[place_of(rows.second, rows.first)].data();
        kernels::weighted_sum({.a = first,
                               .b = second,
                               .a_weight = 1 - rows.weight,
                               .b_weight = rows.weight,
                               .out = out,
                               .count = images_.out_row()});
      }
    });
    return Error::kOk;
  }

 private:
  void interpolate_columns(const float* in, float* out) const {
    const int64_t channels = images_.channels;
    for (const Interpolation& column : columns_) {
      const float *first = in + column.first * channels, *second = in + column.second * channels;
      const float before = 1 - column.weight;
      for (int64_t c = 0; c < channels; ++c) *out++ = before * first[c] + column.weight * second[c];
    }
  }

  const EValue* in_;
  EValue* out_;
  Images images_;
  std::vector<Interpolation> rows_, columns_;
};

}  // namespace

std::unique_ptr<Step> make_nearest(Arguments arguments) {
  if (arguments.size() < 4) return nullptr;
  const EValue &in = *arguments[0], &factors = *arguments[2];
  const auto images = images_of(in, *arguments[1], factors, *arguments[3]);
  if (!images) return nullptr;
  const auto scale = [&](size_t axis, int64_t from, int64_t to) {
    return runtime::nearest_scale(scale_of(factors, axis, from, to), from, to);
  };
  return std::make_unique<Nearest>(&in, *images, scale(0, images->in_height, images->out_height),
                                   scale(1, images->in_width, images->out_width), arguments[3]);
}

std::unique_ptr<Step> make_bilinear(Arguments arguments) {
  if (arguments.size() < 5 || arguments[2]->kind != Kind::kBool) return nullptr;
  const EValue &in = *arguments[0], &factors = *arguments[3];
  const auto images = images_of(in, *arguments[1], factors, *arguments[4]);
  if (!images) return nullptr;
  const bool aligns = arguments[2]->boolean;
  const auto table = [&](size_t axis, int64_t from, int64_t to) {
    const double scale = aligns ? runtime::corner_scale(from, to) : scale_of(factors, axis, from, to);
    std::vector<Interpolation> entries;
    for (int64_t i = 0; i < to; ++i) entries.push_back(runtime::interpolation_of<float>(scale, aligns, i, from));
    return entries;
  };
  return std::make_unique<Bilinear>(&in, *images, table(0, images->in_height, images->out_height),
                                    table(1, images->in_width, images->out_width), arguments[4]);
}

}  // namespace carina::accelerate
