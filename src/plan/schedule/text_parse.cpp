#include <fmt/format.h>

#include <charconv>
#include <optional>

#include "plan/schedule/fields_internal.h"
#include "plan/schedule/text.h"

// Reads the text form of schedules: parse(print(schedule)) == schedule. One line is one tensor, step or command.
namespace carina::plan {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

// Reads values off one line. Every read is false once something was wrong; `error` says what was expected first.
class Line {
 public:
  explicit Line(std::string_view text) : text_(text) {}

  [[nodiscard]] const std::string& error() const { return error_; }
  [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }
  bool expect(char c) { return eat(c) || wanted(fmt::format("'{}'", c)); }
  bool at_end() {
    skip_spaces();
    return at_ == text_.size();
  }
  std::string_view word() {
    skip_spaces();
    const size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  // Fields of a record, up to `end` (which is taken) or the line's end.
  template <HasRow T>
  bool fields(T& to, std::optional<char> end) {
    for (;;) {
      if (end ? eat(*end) : at_end()) return true;
      const std::string_view name = word();
      bool known = false, good = false;
      const auto read = [&](const auto& field) {
        if (known || field.name != name) return;
        known = true;
        good = expect('=') && value(to.*field.member);
      };
      std::apply([&](const auto&... field) { (read(field), ...); }, Row<T>::kFields);
      if (!known) return wanted("a field");
      if (!good) return false;
    }
  }

  template <HasRow T>
  bool value(T& to) {
    return expect('{') && fields(to, '}');
  }
  template <typename T>
  bool value(std::vector<T>& to) {
    if (!expect('[')) return false;
    while (!eat(']')) {
      if (!value(to.emplace_back())) return false;
    }
    return true;
  }
  template <typename Tag>
  bool value(Id<Tag>& to) {
    const std::string_view text = word();
    if (text.size() < 2 || text.front() != kIdLetter<Id<Tag>>) return wanted(id_text<Id<Tag>>());
    if (text.substr(1) == "-") {
      to = {};
      return true;
    }
    uint32_t index = 0;
    if (!number_of(text.substr(1), index) || !Id<Tag>(index).valid()) return wanted(id_text<Id<Tag>>());
    to = Id<Tag>(index);
    return true;
  }
  template <typename E>
    requires std::is_enum_v<E>
  bool value(E& to) {
    const std::string_view text = word();
    bool found = false;
    std::string names;
    for_each_value<E>([&](std::string_view name, uint32_t number) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
      if (name != text) return;
      to = static_cast<E>(number);
      found = true;
    });
    return found || wanted(names);
  }
  bool value(bool& to) {
    uint8_t number = 0;
    if (!value(number) || number > 1) return wanted("0 or 1");
    to = number == 1;
    return true;
  }
  template <std::integral T>
  bool value(T& to) {
    return number_of(word(), to) || wanted("a number that fits its field");
  }
  bool value(Shape& to) {
    if (!expect('[')) return false;
    std::vector<int64_t> dims;
    while (!eat(']')) {
      if (!dims.empty() && !expect(',')) return false;
      if (dims.size() == Shape::kMaxRank) return wanted(fmt::format("at most {} axes", Shape::kMaxRank));
      if (!value(dims.emplace_back())) return false;
    }
    to = Shape(std::span<const int64_t>(dims));
    return true;
  }
  bool value(std::string& to) {
    to.clear();
    if (!expect('"')) return false;
    while (at_ < text_.size() && text_[at_] != '"') {
      const char c = text_[at_++];
      if (c != '\\') {
        to += c;
      } else if (!escape(to)) {
        return wanted("an escape: \\\", \\\\ or two hexadecimal digits");
      }
    }
    return expect('"');
  }
  bool value(SharedName& to) {
    std::string text;
    if (!value(text)) return false;
    to = std::move(text);
    return true;
  }

 private:
  template <typename IdType>
  static std::string id_text() {
    return fmt::format("'{}' and a number", kIdLetter<IdType>);
  }
  template <typename T>
  static bool number_of(std::string_view text, T& to, int base = 10) {
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), to, base);
    return problem == std::errc() && end == text.data() + text.size() && !text.empty();
  }
  bool escape(std::string& to) {
    if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\\')) {
      to += text_[at_++];
      return true;
    }
    uint8_t code = 0;
    if (at_ + 2 > text_.size() || !number_of(text_.substr(at_, 2), code, 16)) return false;
    to += static_cast<char>(code);
    at_ += 2;
    return true;
  }
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool eat(char c) {
    skip_spaces();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool wanted(std::string what) {
    if (error_.empty()) error_ = std::move(what);
    return false;
  }

  std::string_view text_;
  size_t at_ = 0;
  std::string error_;
};

// "t3 name=..." as the next element of a list.
template <typename IdType, typename T>
bool numbered(Line& line, std::vector<T>& to) {
  IdType id;
  return line.value(id) && id == IdType(to.size()) && line.fields(to.emplace_back(), std::nullopt);
}

bool read_line(Line& line, Schedule& schedule) {
  const std::string_view keyword = line.word();
  if (keyword == "tensor") return numbered<TensorId>(line, schedule.tensors);
  if (keyword == "inputs") return line.value(schedule.inputs) && line.at_end();
  if (keyword == "outputs") return line.value(schedule.outputs) && line.at_end();
  if (keyword == "step") return numbered<StepId>(line, schedule.steps.own());
  if (keyword == "stripe") return numbered<StripeId>(line, schedule.stripes);
  if (keyword == "slice") return numbered<SliceId>(line, schedule.slices);
  if (keyword == "storage") return numbered<StorageId>(line, schedule.storages);
  if (keyword == "cascade") return line.fields(schedule.cascades.emplace_back(), std::nullopt);
  if (keyword == "command") return line.fields(schedule.order.emplace_back(), std::nullopt);
  return false;
}

}  // namespace

Result<Schedule> parse(std::string_view text, const std::string& where) {
  Schedule schedule;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    Line line(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (line.at_end() || read_line(line, schedule)) continue;
    return fail({.where = fmt::format("{}:{}", where, number),
                 .what = "this is not a line of a schedule",
                 .expected = line.error().empty() ? "tensor, inputs, outputs, step, stripe, slice, storage, cascade or "
                                                    "command, ids in their order"
                                                  : line.error(),
                 .got = fmt::format("\"{}\"", line.rest().substr(0, 40))});
  }
  return schedule;
}

}  // namespace carina::plan
