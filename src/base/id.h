#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

namespace carina {

// A typed index into one vector. Ids of different tags cannot be mixed. A default-constructed id refers to no element.
template <typename Tag>
class Id {
 public:
  constexpr Id() = default;
  constexpr explicit Id(size_t index) : index_(static_cast<uint32_t>(index)) {}
  [[nodiscard]] constexpr size_t index() const { return index_; }
  [[nodiscard]] constexpr bool valid() const { return index_ != kNone; }
  constexpr auto operator<=>(const Id&) const = default;

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  uint32_t index_ = kNone;
};

}  // namespace carina

template <typename Tag>
struct std::hash<carina::Id<Tag>> {
  size_t operator()(carina::Id<Tag> id) const noexcept { return std::hash<size_t>()(id.index()); }
};
