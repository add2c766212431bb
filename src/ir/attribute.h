// Declares the attributes of IR nodes and their values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "carina/check.h"
#include "carina/dtype.h"

namespace carina::ir {

// Raw bytes (CUSTOM's implementation_attrs).
struct Bytes {
  std::vector<uint8_t> bytes;
  bool operator==(const Bytes&) const = default;
};

// The value of an attribute. None (monostate) is PyTorch's None. Enumerations are int64_t with the numbers of the TOSA
// schema or of c10; scalars of a tensor's type (CLAMP's min_val) are int64_t for integer types and double for floats.
using Attribute = std::variant<std::monostate, bool, int64_t, double, std::string, std::vector<int64_t>,
                               std::vector<double>, std::vector<bool>, DType, Bytes>;

// The attributes of a node by name, in the order of the op's row. Copying and destruction are defined in attribute.cpp:
// inline, the variant would need about a hundred template instantiations in every file that holds a node.
class Attributes {
 public:
  Attributes();
  Attributes(std::initializer_list<std::pair<std::string, Attribute>> list);
  Attributes(const Attributes&);
  Attributes(Attributes&&) noexcept;
  Attributes& operator=(const Attributes&);
  Attributes& operator=(Attributes&&) noexcept;
  ~Attributes();

  void set(std::string_view name, Attribute value);
  [[nodiscard]] const Attribute* find(std::string_view name) const;
  // Returns the attribute, which must exist and have type T. Readers and builders set every attribute of the row.
  template <typename T>
  [[nodiscard]] const T& get(std::string_view name) const {
    const Attribute* attribute = find(name);
    CARINA_CHECK(attribute != nullptr, "attribute {} is missing", name);
    const T* value = std::get_if<T>(attribute);
    CARINA_CHECK(value != nullptr, "attribute {} has another type", name);
    return *value;
  }
  [[nodiscard]] bool is_none(std::string_view name) const;
  // Returns an int or float attribute as a double. PyTorch writes whole floats as ints.
  [[nodiscard]] double number(std::string_view name) const;
  [[nodiscard]] int64_t integer(std::string_view name) const;
  [[nodiscard]] const std::vector<int64_t>& integers(std::string_view name) const;
  [[nodiscard]] const std::vector<std::pair<std::string, Attribute>>& list() const { return list_; }
  bool operator==(const Attributes&) const;

 private:
  std::vector<std::pair<std::string, Attribute>> list_;
};

}  // namespace carina::ir
