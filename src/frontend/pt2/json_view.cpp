#include <fmt/format.h>

#include <limits>

#include "frontend/pt2/json_view_internal.h"

namespace carina::pt2 {

namespace {

// A parsed text takes about twenty times its size in memory. A real graph of 100'000 nodes has about 250 MB of text.
constexpr size_t kMaxJsonBytes = size_t{256} << 20;

std::string kind_of(const nlohmann::json* json) {
  if (json == nullptr) return "nothing";
  if (json->is_string()) return fmt::format("\"{:.40}\"", json->get_ref<const std::string&>());
  if (json->is_number() || json->is_boolean()) return json->dump();
  return json->type_name();
}

// Finds the offset of the first syntax error, without building a document.
struct ErrorFinder : nlohmann::json_sax<nlohmann::json> {
  size_t offset = 0;
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override { return true; }
  bool key(string_t&) override { return true; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    offset = position;
    return false;
  }
};

}  // namespace

void JsonView::complain(std::string_view expected) const {
  if (errors_->first) return;
  const std::string where =
      errors_->context.empty() ? errors_->where : fmt::format("{}: {}", errors_->where, errors_->context);
  errors_->first = Diagnostic{.where = where,
                              .what = "the description of the model is not as torch.export writes it",
                              .expected = std::string(expected),
                              .got = kind_of(json_),
                              .hint = "save the model again with torch.export.save of torch 2.9 to 2.15"};
}

JsonView JsonView::operator[](std::string_view key) const {
  if (json_ != nullptr && json_->is_object()) {
    if (const auto found = json_->find(key); found != json_->end()) return {&*found, errors_};
  }
  complain(fmt::format("an object with \"{}\"", key));
  return {nullptr, errors_};
}

JsonView JsonView::optional(std::string_view key) const {
  if (json_ == nullptr || !json_->is_object()) return {nullptr, errors_};
  const auto found = json_->find(key);
  return {found == json_->end() || found->is_null() ? nullptr : &*found, errors_};
}

int64_t JsonView::integer() const {
  if (json_ != nullptr && json_->is_number_integer()) {
    const bool fits = !json_->is_number_unsigned() ||
                      json_->get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    if (fits) return json_->get<int64_t>();
  }
  complain("a whole number of 64 bits");
  return 0;
}

bool JsonView::boolean() const {
  if (json_ != nullptr && json_->is_boolean()) return json_->get<bool>();
  complain("true or false");
  return false;
}

double JsonView::number() const {
  if (json_ != nullptr && json_->is_number()) return json_->get<double>();
  if (is_text()) {
    const std::string_view name = text();
    if (name == "Infinity") return std::numeric_limits<double>::infinity();
    if (name == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (name == "NaN") return std::numeric_limits<double>::quiet_NaN();
  }
  complain("a number");
  return 0;
}

std::string_view JsonView::text() const {
  if (is_text()) return json_->get_ref<const std::string&>();
  complain("a string");
  return {};
}

size_t JsonView::size() const {
  if (is_list()) return json_->size();
  complain("a list");
  return 0;
}

std::pair<std::string_view, JsonView> JsonView::alternative() const {
  if (json_ != nullptr && json_->is_object() && json_->size() == 1) {
    const auto only = json_->begin();
    return {only.key(), JsonView(&*only, errors_)};
  }
  complain("an object with exactly one key");
  return {{}, JsonView(nullptr, errors_)};
}

Result<nlohmann::json> parse_json(std::string_view text, const std::string& where) {
  if (text.size() > kMaxJsonBytes) {
    return fail({.where = where,
                 .what = "the description of the model is too large",
                 .expected = fmt::format("at most {} bytes", kMaxJsonBytes),
                 .got = fmt::format("{}", text.size())});
  }
  nlohmann::json json = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  if (!json.is_discarded()) return json;
  ErrorFinder finder;
  nlohmann::json::sax_parse(text.begin(), text.end(), &finder);
  return fail({.where = where,
               .what = fmt::format("not JSON: mistake at byte {}", finder.offset),
               .hint = "the file is damaged: save or copy it again"});
}

}  // namespace carina::pt2
