#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/io/zip.h"
#include "carina/buffer.h"
#include "carina/result.h"
#include "frontend/pt2/json_view_internal.h"

namespace carina::pt2 {

// The two folders of tensors.
enum class Store { kWeights, kConstants };

// The archive of torch.export.save(). Its container is checked, and entries are found below the single root folder.
class Archive {
 public:
  // Errors: not a zip archive; not a .pt2; from an unsupported version of torch (named); big-endian; no model or
  // several.
  static Result<Archive> open(const Buffer& file, const std::string& where);

  [[nodiscard]] const std::string& where() const { return where_; }
  // The name of the model's description in messages: "model.pt2: models/model.json".
  [[nodiscard]] std::string model_where() const;
  [[nodiscard]] Result<nlohmann::json> read_model() const;
  // The store's table of tensors by name, {"config": {...}}. Empty if the archive has none.
  [[nodiscard]] Result<nlohmann::json> read_config(Store store) const;
  // Checks the bytes of all storages on all threads and meanwhile calls `beside` with an archive that does not check
  // them. Returns whether all are right. If not, the results of `beside` are invalid, and reading a storage reports its
  // error. `beside` may not be called at all.
  bool check_ahead(const std::function<void(Archive& unchecked)>& beside);
  // The bytes of a tensor's storage. A storage that several tensors share is read and checked once.
  Result<Buffer> read_storage(Store store, std::string_view path_name);

 private:
  Archive(ZipReader zip, std::string where, size_t file_bytes)
      : zip_(std::move(zip)), where_(std::move(where)), budget_bytes_(budget_of(file_bytes)) {}
  static size_t budget_of(size_t file_bytes);
  [[nodiscard]] std::string entry(std::string_view path) const { return root_ + std::string(path); }
  Result<void> check_container();
  Result<void> check_text(std::string_view entry_name, std::string_view wanted, std::string_view what) const;
  Result<void> choose_model();

  ZipReader zip_;
  std::string where_;
  std::string root_;     // "model/"
  std::string model_;    // "model"
  size_t budget_bytes_;  // bytes that may still be read; it bounds the time for overlapping entries
  std::map<std::string, Buffer, std::less<>> storages_;
};

}  // namespace carina::pt2
