#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "runtime/kernel.h"

namespace carina::runtime {

// Checked access to the arguments of a call. A program may pass anything. If an argument has the wrong kind, the
// accessor records an error in error() and returns a harmless value. A kernel reads all its arguments and then tests
// error() once.
class Call {
 public:
  // The element types that a kernel supports. Most kernels support no complex numbers; kernels that move data support
  // all types.
  enum class Elements : uint8_t { kReal, kAny };
  explicit Call(Arguments arguments, Elements elements = Elements::kReal)
      : arguments_(arguments), elements_(elements) {}

  const Tensor& tensor(size_t index);           // must have memory
  const Tensor* optional_tensor(size_t index);  // nullptr: None
  const Tensor& out(size_t index);              // must have writable memory
  int64_t integer(size_t index);
  int64_t integer_or(size_t index, int64_t otherwise);  // None: `otherwise`
  size_t axis(size_t index, size_t rank);               // an axis index; a negative one counts from the end
  double number(size_t index);
  double number_or(size_t index, double otherwise);
  bool flag(size_t index);
  bool is_none(size_t index);
  std::string_view text(size_t index);
  std::span<const int64_t> integers(size_t index);  // None: empty
  std::span<const double> numbers(size_t index);    // None: empty
  std::span<EValue* const> tensors(size_t index);
  std::span<const uint8_t> flags(size_t index);
  // Sets the sizes of a resizable output, and requires any other output to have them.
  void fit(const Tensor& out, std::span<const int64_t> sizes) { require(out.resize(sizes)); }
  void fit(const Tensor& out, std::initializer_list<int64_t> sizes) {
    fit(out, std::span(sizes.begin(), sizes.size()));
  }
  void fit_like(const Tensor& out, const Tensor& other);
  // Sets the sizes of a resizable output to those of `like`, but `size` along `axis`. The kernel checks other outputs.
  void fit_along(const Tensor& out, const Tensor& like, size_t axis, int64_t size);
  // Sets the sizes of a resizable output to those of `like` without `axis`.
  void fit_without(const Tensor& out, const Tensor& like, size_t axis);
  // Requires a condition without which the call is invalid.
  void require(bool condition) {
    if (!condition) note(Error::kInvalidArgument);
  }
  // Requires a condition on types that the kernel supports.
  void support(bool condition) {
    if (!condition) note(Error::kNotSupported);
  }
  [[nodiscard]] Error error() const { return error_; }

 private:
  const EValue& at(size_t index);
  void note(Error error) {
    if (error_ == Error::kOk) error_ = error;
  }

  Arguments arguments_;
  Elements elements_;
  Error error_ = Error::kOk;
};

// Returns whether an element of a tensor list is a tensor that can be read.
bool readable(const EValue* value);
bool is_complex(PteScalarType type);
bool has_complex(Arguments arguments);  // whether any of them is a complex tensor
// Returns whether elements of one type can be converted to the other. Complex numbers convert to their own type only.
bool copies(PteScalarType from, PteScalarType to);
PteScalarType part_of(PteScalarType complex);  // type of the real and the imaginary part

}  // namespace carina::runtime
