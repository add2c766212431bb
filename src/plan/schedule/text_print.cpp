#include <fmt/format.h>

#include <iterator>

#include "plan/schedule/fields_internal.h"
#include "plan/schedule/text.h"

// Writes the text form of schedules, one line for each tensor, step and command. text_parse.cpp reads it.
namespace carina::plan {
namespace {

class Printer {
 public:
  template <HasRow T>
  void line(std::string_view keyword, const T& value) {
    text_ += keyword;
    fields(value);
    text_ += '\n';
  }
  template <HasRow T>
  void lines(std::string_view keyword, char letter, const std::vector<T>& values) {
    for (size_t i = 0; i < values.size(); ++i) line(fmt::format("{} {}{}", keyword, letter, i), values[i]);
  }
  template <typename T>
  void list(std::string_view keyword, const std::vector<T>& values) {
    text_ += keyword;
    text_ += ' ';
    value(values);
    text_ += '\n';
  }
  [[nodiscard]] std::string take() && { return std::move(text_); }

 private:
  template <HasRow T>
  void fields(const T& of) {
    const T plain{};
    std::apply([&](const auto&... field) { (this->field(of, plain, field), ...); }, Row<T>::kFields);
  }
  template <typename T, typename M>
  void field(const T& of, const T& plain, const Field<T, M>& field) {
    if (of.*field.member == plain.*field.member) return;
    fmt::format_to(std::back_inserter(text_), " {}=", field.name);
    value(of.*field.member);
  }

  template <HasRow T>
  void value(const T& v) {
    const size_t begin = text_.size();
    fields(v);
    text_[begin] = '{';  // instead of the first field's space: what is printed has fields that are not plain
    text_ += '}';
  }
  template <typename T>
  void value(const std::vector<T>& values) {
    text_ += '[';
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0) text_ += ' ';
      element(values[i]);
    }
    text_ += ']';
  }
  template <typename T>
  void element(const T& v) {
    if constexpr (HasRow<T>) {
      if (v == T{}) {
        text_ += "{}";
        return;
      }
    }
    value(v);
  }
  template <typename Tag>
  void value(Id<Tag> id) {
    fmt::format_to(std::back_inserter(text_), "{}{}", kIdLetter<Id<Tag>>,
                   id.valid() ? std::to_string(id.index()) : "-");
  }
  template <typename E>
    requires std::is_enum_v<E>
  void value(E e) {
    for_each_value<E>([&](std::string_view name, uint32_t number) {
      if (number == static_cast<uint32_t>(e)) text_ += name;
    });
  }
  template <std::integral T>
  void value(T number) {
    fmt::format_to(std::back_inserter(text_), "{}", static_cast<int64_t>(number));
  }
  void value(const Shape& shape) { text_ += to_string(shape); }
  void value(const SharedName& name) { value(name.text()); }
  void value(const std::string& string) {
    text_ += '"';
    for (const char c : string) {
      if (c == '"' || c == '\\')
        fmt::format_to(std::back_inserter(text_), "\\{}", c);
      else if (static_cast<unsigned char>(c) < 0x20)
        fmt::format_to(std::back_inserter(text_), "\\{:02x}", static_cast<unsigned char>(c));
      else
        text_ += c;
    }
    text_ += '"';
  }

  std::string text_;
};

}  // namespace

std::string print(const Schedule& schedule) {
  Printer printer;
  printer.lines("tensor", kIdLetter<TensorId>, schedule.tensors);
  printer.list("inputs", schedule.inputs);
  printer.list("outputs", schedule.outputs);
  printer.lines("step", kIdLetter<StepId>, schedule.steps.all());
  printer.lines("stripe", kIdLetter<StripeId>, schedule.stripes);
  printer.lines("slice", kIdLetter<SliceId>, schedule.slices);
  printer.lines("storage", kIdLetter<StorageId>, schedule.storages);
  for (const Cascade& cascade : schedule.cascades) printer.line("cascade", cascade);
  for (const Command& command : schedule.order) printer.line("command", command);
  return std::move(printer).take();
}

}  // namespace carina::plan
