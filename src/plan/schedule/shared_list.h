#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

// SharedList: a copy-on-write list.
namespace carina::plan {

// A list whose copies share its elements until one of them changes.
template <typename T>
class SharedList {
 public:
  SharedList() : SharedList(std::vector<T>()) {}
  explicit SharedList(std::vector<T> elements) : elements_(std::make_shared<std::vector<T>>(std::move(elements))) {}

  [[nodiscard]] const std::vector<T>& all() const { return *elements_; }
  [[nodiscard]] size_t size() const { return all().size(); }
  [[nodiscard]] bool empty() const { return all().empty(); }
  [[nodiscard]] auto begin() const { return all().begin(); }
  [[nodiscard]] auto end() const { return all().end(); }
  const T& operator[](size_t i) const { return all()[i]; }

  // Mutable access to the elements. Copies them first if other lists share them. Do not call it while another thread
  // copies this list.
  [[nodiscard]] std::vector<T>& own() {
    if (elements_.use_count() != 1) elements_ = std::make_shared<std::vector<T>>(*elements_);
    return *elements_;
  }

  bool operator==(const SharedList& other) const { return elements_ == other.elements_ || all() == other.all(); }

 private:
  std::shared_ptr<std::vector<T>> elements_;
};

}  // namespace carina::plan
