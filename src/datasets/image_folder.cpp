#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <string_view>

#include "base/memory/mapped_pages.h"
#include "base/text/number.h"
#include "datasets/image_folder_internal.h"
#include "files/file_kind.h"

namespace carina::datasets {

namespace {

namespace fs = std::filesystem;

bool is_image(const fs::path& path) {
  constexpr std::array<std::string_view, 3> kExtensions{".png", ".jpg", ".jpeg"};
  std::string extension = path.extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::find(kExtensions, extension) != kExtensions.end();
}

std::vector<std::string> image_files_in(const fs::path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file() && is_image(entry.path())) files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

// The subfolders that have images, with their labels.
std::vector<std::pair<std::string, int64_t>> labels_in(const fs::path& folder) {
  std::vector<std::pair<std::string, int64_t>> labels;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory() && !image_files_in(entry.path()).empty())
      labels.emplace_back(entry.path().filename().string(), -1);
  }
  std::ranges::sort(labels);
  const auto number_of = [](const auto& label) { return number_in<int64_t>(label.first); };
  const bool are_numbers = std::ranges::all_of(labels, [&](const auto& label) { return number_of(label).has_value(); });
  for (size_t i = 0; i < labels.size(); ++i)
    labels[i].second = are_numbers ? *number_of(labels[i]) : static_cast<int64_t>(i);
  std::ranges::sort(labels, {}, &std::pair<std::string, int64_t>::second);
  return labels;
}

std::unexpected<Diagnostics> no_samples(const std::string& folder) {
  Diagnostic error{.where = folder,
                   .what = "the folder has no samples",
                   .expected = ".npz or .npy files, or images (.png, .jpg), or folders of images, one for each class"};
  std::vector<fs::path> others;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_regular_file()) others.push_back(entry.path());
  }
  if (others.empty()) return fail(std::move(error));
  const fs::path first = *std::ranges::min_element(others);
  const auto file = map_large_file(first.string());
  const files::FileKind kind = file ? files::kind_of(*file, first.string()) : files::FileKind::kUnknown;
  error.got = first.filename().string();
  if (kind == files::FileKind::kUnknown) return fail(std::move(error));
  error.got += fmt::format(", {}", files::text_of_kind(kind));
  error.hint = files::advice(kind);
  return fail(std::move(error));
}

}  // namespace

Result<ImageFolder> images_in(const std::string& folder, std::span<const InputType> inputs) {
  ImageFolder found{.files = {}, .labels = labels_in(folder)};
  const std::vector<std::string> unlabeled = image_files_in(folder);
  if (!found.labels.empty() && !unlabeled.empty())
    return fail({.where = folder,
                 .what = "the folder has both images and folders of images",
                 .hint = "put every image into the folder of its class, or none"});
  for (const std::string& path : unlabeled) found.files.push_back({.path = path});
  for (const auto& [name, label] : found.labels) {
    for (const std::string& path : image_files_in(fs::path(folder) / name))
      found.files.push_back({.path = path, .label = label});
  }
  if (found.files.empty()) return no_samples(folder);
  if (inputs.size() == 1) return found;
  return fail({.where = folder,
               .what = "images are the samples of a network with one input",
               .expected = "an .npz with an array for each input",
               .got = fmt::format("{} inputs", inputs.size())});
}

std::string labels_text(const ImageFolder& folder) {
  constexpr size_t kShown = 20;
  std::string text;
  for (size_t i = 0; i < std::min(kShown, folder.labels.size()); ++i)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", folder.labels[i].first, folder.labels[i].second);
  return folder.labels.size() > kShown ? text + fmt::format(" and {} more", folder.labels.size() - kShown) : text;
}

}  // namespace carina::datasets
