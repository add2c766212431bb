#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <set>
#include <string>

#include "base/diagnostic.h"
#include "command.h"
#include "report/sweep_report.h"
#include "sweep_options.h"

namespace carina::cli {

// What a sweep says, a model at a time: table, pages, and text or JSON on stdout. Of several models only what tables
// show is in memory; their JSON waits in a temporary file, and each has a page with its layers.
class SweepOutputs {
 public:
  enum class Models : uint8_t { kOne, kSeveral };
  SweepOutputs(const SweepOptions& options, const Console& console, Models models)
      : options_(options), console_(console), models_(models) {}

  // Errors: a page or the temporary file cannot be written.
  Result<void> add(results::SweepReport report);
  // Writes and prints what is left. Errors: a file or stdout cannot be written.
  Result<void> finish();
  // All rows; of several models without layers.
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
