#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "frontend/pt2/archive_internal.h"

namespace carina::pt2 {

namespace {

constexpr std::string_view kSaveAgain = "save the model again with torch.export.save of torch 2.9 to 2.15";
constexpr ZipReader::Limits kLimits{.max_entries = size_t{1} << 18, .max_inflated_bytes = size_t{1} << 30};

std::string_view text_of(const Buffer& buffer) {
  return {reinterpret_cast<const char*>(buffer.data()), buffer.size()};
}

// Other formats that use zip archives: an entry that identifies the format (at any depth), and the message.
struct Lookalike {
  std::string_view suffix;
  std::string_view what;
};
constexpr std::array kLookalikes = {
    Lookalike{"serialized_exported_program.json",
              "the archive was saved by torch 2.7 or older, whose format is not supported"},
    Lookalike{"serialized_state_dict.pt", "the archive was saved by torch 2.7 or older, whose format is not supported"},
    Lookalike{"constants.pkl", "this is a TorchScript archive, not an exported program"},
    Lookalike{"data.pkl", "this is a pickle of torch.save (a state_dict or a module), not an exported program"},
    Lookalike{".npy", "this is a NumPy archive, not an exported program"},
};

std::string_view folder_of(Store store) {
  return store == Store::kWeights ? "data/weights/" : "data/constants/";
}
std::string_view name_of(Store store) {
  return store == Store::kWeights ? "weights" : "constants";
}

}  // namespace

size_t Archive::budget_of(size_t file_bytes) {
  return 4 * file_bytes + (size_t{1} << 30);
}

std::string Archive::model_where() const {
  return fmt::format("{}: models/{}.json", where_, model_);
}

Result<Archive> Archive::open(const Buffer& file, const std::string& where) {
  CARINA_TRY(ZipReader zip, ZipReader::open(file, where, kLimits));
  Archive archive(std::move(zip), where, file.size());
  CARINA_CHECKED(archive.check_container());
  CARINA_CHECKED(archive.choose_model());
  return archive;
}

Result<void> Archive::check_container() {
  const std::vector<std::string>& names = zip_.names();
  if (names.empty()) return fail({.where = where_, .what = "the archive is empty", .hint = std::string(kSaveAgain)});
  const size_t slash = names.front().find('/');
  root_ = slash == std::string::npos ? "" : names.front().substr(0, slash + 1);
  if (!zip_.contains(entry("archive_format"))) {
    for (const Lookalike& row : kLookalikes) {
      const bool seen = std::ranges::any_of(names, [&](const std::string& name) { return name.ends_with(row.suffix); });
      if (seen) return fail({.where = where_, .what = std::string(row.what), .hint = std::string(kSaveAgain)});
    }
    return fail({.where = where_,
                 .what = "not an archive of torch.export.save",
                 .expected = "an entry archive_format",
                 .hint = std::string(kSaveAgain)});
  }
  CARINA_CHECKED(check_text("archive_format", "pt2", "the archive is of another kind"));
  CARINA_CHECKED(check_text("archive_version", "0", "the archive is of a version that this program does not know"));
  if (zip_.contains(entry("byteorder")))
    CARINA_CHECKED(check_text("byteorder", "little", "the tensors are stored in another byte order"));
  return {};
}

Result<void> Archive::check_text(std::string_view entry_name, std::string_view wanted, std::string_view what) const {
  CARINA_TRY(const Buffer content, zip_.read(entry(entry_name)));
  std::string_view text = text_of(content);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  if (text == wanted) return {};
  return fail({.where = fmt::format("{}: {}", where_, entry_name),
               .what = std::string(what),
               .expected = fmt::format("\"{}\"", wanted),
               .got = fmt::format("\"{:.20}\"", text),
               .hint = std::string(kSaveAgain)});
}

Result<void> Archive::choose_model() {
  const std::string folder = entry("models/");
  std::vector<std::string> models;
  for (const std::string& name : zip_.names()) {
    if (name.starts_with(folder) && name.ends_with(".json"))
      models.push_back(name.substr(folder.size(), name.size() - folder.size() - 5));
  }
  if (models.empty()) {
    return fail({.where = where_,
                 .what = "the archive holds no model",
                 .expected = "an entry models/model.json",
                 .hint = std::string(kSaveAgain)});
  }
  model_ = std::ranges::find(models, "model") != models.end() ? "model" : models.front();
  if (models.size() > 1 && model_ != "model") {
    return fail({.where = where_,
                 .what = "the archive holds several models",
                 .expected = "one, or one that is called model",
                 .got = fmt::format("{}", fmt::join(models, ", "))});
  }
  if (zip_.contains(entry(fmt::format("data/weights/{}.pt", model_)))) {
    return fail({.where = where_,
                 .what = "the archive was saved by torch 2.8, whose pickled weights are not supported",
                 .hint = std::string(kSaveAgain)});
  }
  return {};
}

Result<nlohmann::json> Archive::read_model() const {
  CARINA_TRY(const Buffer content, zip_.read(entry(fmt::format("models/{}.json", model_))));
  return parse_json(text_of(content), model_where());
}

Result<nlohmann::json> Archive::read_config(Store store) const {
  const std::string path = fmt::format("{}{}_{}_config.json", folder_of(store), model_, name_of(store));
  if (!zip_.contains(entry(path))) return nlohmann::json{{"config", nlohmann::json::object()}};
  CARINA_TRY(const Buffer content, zip_.read(entry(path)));
  return parse_json(text_of(content), fmt::format("{}: {}", where_, path));
}

bool Archive::check_ahead(const std::function<void(Archive& unchecked)>& beside) {
  return zip_.check_ahead(entry("data/"), [&](const ZipReader& unchecked) {
    Archive archive = *this;
    archive.zip_ = unchecked;
    beside(archive);
  });
}

Result<Buffer> Archive::read_storage(Store store, std::string_view path_name) {
  const std::string path = fmt::format("{}{}", folder_of(store), path_name);
  if (const auto known = storages_.find(path); known != storages_.end()) return known->second;
  CARINA_TRY(Buffer content, zip_.read(entry(path)));
  if (content.size() > budget_bytes_) {
    return fail({.where = fmt::format("{}: {}", where_, path),
                 .what = "the tensors take more bytes than such a file can hold: a damaged archive or a zip bomb"});
  }
  budget_bytes_ -= content.size();
  storages_.emplace(path, content);
  return content;
}

}  // namespace carina::pt2
