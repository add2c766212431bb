#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <set>
#include <string>

#include "carina/result.h"
#include "command.h"
#include "report/render.h"
#include "sweep_options.h"

namespace carina::cli {

// Writes the results of a sweep: the table, the pages, and text or JSON on stdout. Models are added one after the
// other. With several models, only the rows without layers stay in memory. The JSON is collected in a temporary file,
// and each model has a page of its own with its layers.
class SweepOutputs {
 public:
  enum class Models : uint8_t { kOne, kSeveral };
  SweepOutputs(const SweepOptions& options, const Console& console, Models models)
      : options_(options), console_(console), models_(models) {}

  // Errors: a page or the temporary file cannot be written.
  Result<void> add(results::SweepReport report);
  // Writes the table and the page of all rows, and prints the result. Errors: a file or stdout cannot be written.
  Result<void> finish();
  // All rows. With several models they have no layers.
  [[nodiscard]] const results::SweepReport& rows() const { return rows_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { static_cast<void>(std::fclose(file)); }
  };

  void show_notes(const results::SweepReport& report);
  [[nodiscard]] bool wants_json() const;
  Result<void> keep_json(const results::SweepReport& report);
  Result<void> keep(const std::string& text);
  Result<void> print_kept();
  Result<void> write_table();

  const SweepOptions& options_;
  const Console& console_;
  Models models_;
  results::SweepReport rows_;
  std::set<std::string> notes_;
  std::unique_ptr<std::FILE, Close> json_;
};

}  // namespace carina::cli
