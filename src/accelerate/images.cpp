// Which images of a method are stored channels last. Operators of convolutions read and write all channels of a pixel
// side by side, and PyTorch's programs have planes. Only calls of the method read a planned image between two
// convolutions, so it is stored as the operators have it. The first and the last convolution of a chain convert.
//   Example: conv -> relu -> add -> conv -> mean: all values between the first convolution and the mean are
//   channels-last; the input of the method is converted once.
// A value stays in planes if it is an input or output of the method, or if one of its calls has another operand in
// planes. That may concern the other values of that call, so the search repeats until nothing changes.
#include <set>
#include <string_view>

#include "accelerate/step_internal.h"

namespace carina::accelerate {

namespace {

using runtime::MethodCalls;

constexpr std::array<uint8_t, 3> kLastOf3{0, 2, 1};
constexpr std::array<uint8_t, 4> kLastOf4{0, 2, 3, 1};
constexpr std::array<uint8_t, 5> kLastOf5{0, 2, 3, 4, 1};

// What a call does with the layout of its images.
enum class Use : uint8_t {
  kPlanes,  // needs planes
  kAny,     // takes each image as it is
  kEqual,   // all its images must have one layout
};

bool is_whole_mean(const EValue& in, const EValue& dims) {
  const size_t axes = in.is_tensor() ? in.tensor.rank() : 0;
  if (dims.kind != EValue::Kind::kIntList || axes < 3 || dims.integers.size() != axes - 2) return false;
  return std::ranges::all_of(dims.integers,
                             [&](int64_t dim) { return (dim < 0 ? dim + static_cast<int64_t>(axes) : dim) >= 2; });
}

Use use_of(std::string_view name, Arguments arguments) {
  if (name == "aten::convolution.out") return Use::kAny;
  if (name == "aten::mean.out")
    return arguments.size() >= 5 && is_whole_mean(*arguments[0], *arguments[1]) ? Use::kAny : Use::kPlanes;
  // The kernels for these go along the elements in memory. (A batch norm may also be fused into a convolution.)
  static constexpr std::string_view kEqual[] = {
      "aten::_native_batch_norm_legit_no_training.out",
      "aten::add.Scalar_out",
      "aten::add.out",
      "aten::cat.out",
      "aten::clamp.out",
      "aten::div.Scalar_out",
      "aten::div.out",
      "aten::gelu.out",
      "aten::hardtanh.out",
      "aten::leaky_relu.out",
      "aten::mul.Scalar_out",
      "aten::mul.out",
      "aten::relu.out",
      "aten::sigmoid.out",
      "aten::sub.Scalar_out",
      "aten::sub.out",
      "aten::tanh.out",
      "aten::upsample_bilinear2d.vec_out",
      "aten::upsample_nearest2d.vec_out",
  };
  return std::ranges::find(kEqual, name) == std::end(kEqual) ? Use::kPlanes : Use::kEqual;
}

// Calls function(value) for all tensors among the arguments, those of lists included.
template <typename Function>
void for_each_tensor(Arguments arguments, const Function& function) {
  for (EValue* argument : arguments) {
    if (argument->is_tensor()) function(argument);
    if (argument->kind != EValue::Kind::kTensorList) continue;
    for (EValue* entry : argument->tensors) {
      if (entry != nullptr && entry->is_tensor()) function(entry);
    }
  }
}

// Returns whether a tensor is the same in both layouts, or has fewer axes than an image.
bool has_one_layout(const EValue& value) {
  const std::optional<Image> image = image_of(value);
  return value.tensor.rank() < 3 || (image && image->layout == ImageLayout::kPixels && value.tensor.contiguous());
}

class Chooser {
 public:
  explicit Chooser(MethodCalls& calls) : calls_(calls) {
    for (size_t i = 0; i < calls.size(); ++i) {
      const Arguments arguments = calls.arguments(i);
      if (calls.name(i).empty() || arguments.empty()) continue;
      for_each_tensor(arguments.last(1), [&](const EValue* out) {
        const std::optional<Image> image = image_of(*out);
        if (image && image->layout == ImageLayout::kPlanes && !out->tensor.read_only && !out->tensor.of_caller)
          images_.insert(out);
      });
    }
    for (size_t i = 0; i < calls.outputs(); ++i) images_.erase(calls.output(i));
  }

  void run() {
    for (bool changed = true; changed;) {
      const size_t before = images_.size();
      for (size_t i = 0; i < calls_.size(); ++i) drop_images(calls_.name(i), calls_.arguments(i));
      changed = images_.size() != before;
    }
    for (const EValue* image : images_) {
      auto& tensor = const_cast<EValue*>(image)->tensor;
      Tensor turned(tensor.type, tensor.sizes(), channels_last(tensor.rank()), tensor.data);
      turned.read_only = tensor.read_only;
      tensor = turned;
    }
  }

 private:
  // Keeps images in planes that this call cannot take channels last.
  void drop_images(std::string_view name, Arguments arguments) {
    const Use use = use_of(name, arguments);
    if (use == Use::kAny) {
      for (const EValue* value : arguments.subspan(1, 1)) images_.erase(value);  // weights that are computed
      return;
    }
    bool keeps_planes = use == Use::kPlanes;
    for_each_tensor(arguments, [&](const EValue* value) {
      keeps_planes = keeps_planes || (!images_.contains(value) && !has_one_layout(*value));
    });
    if (keeps_planes) for_each_tensor(arguments, [&](const EValue* value) { images_.erase(value); });
  }

  MethodCalls& calls_;
  std::set<const EValue*> images_;
};

}  // namespace

std::optional<Image> image_of(const EValue& value) {
  if (!is_fixed(value) || value.tensor.rank() < 3 || value.tensor.rank() > 5) return std::nullopt;
  const Tensor& tensor = value.tensor;
  const auto sizes = tensor.sizes();
  Image image{.batch = sizes[0], .channels = sizes[1], .pixels = 1, .layout = ImageLayout::kPixels, .sizes = {1, 1, 1}};
  for (size_t axis = 2; axis < sizes.size(); ++axis) {
    image.sizes[3 - sizes.size() + axis] = sizes[axis];
    image.pixels *= sizes[axis];
  }
  if (tensor.elements() == 0) return std::nullopt;
  if (std::ranges::equal(tensor.dim_order(), channels_last(tensor.rank()))) return image;
  if (!tensor.contiguous()) return std::nullopt;
  if (image.channels > 1 && image.pixels > 1) image.layout = ImageLayout::kPlanes;
  return image;
}

std::span<const uint8_t> channels_last(size_t rank) {
  if (rank == 3) return kLastOf3;
  return rank == 4 ? std::span<const uint8_t>(kLastOf4) : std::span<const uint8_t>(kLastOf5);
}

void choose_image_layouts(MethodCalls& calls) {
  Chooser(calls).run();
}

}  // namespace carina::accelerate
