#include "sweep_outputs.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/io/file.h"
#include "page_option.h"
#include "report/render.h"
#include "sweep_models.h"

namespace carina::cli {

namespace sweep_outputs {
namespace {

std::unexpected<Diagnostics> no_temporary_file() {
  return fail({.where = "a temporary file",
               .what = fmt::format("cannot be written: {}", std::strerror(errno)),
               .fault = Fault::kEnvironment});
}

std::string table_of(const results::SweepReport& report, report::TableForm form) {
  switch (form) {
    case report::TableForm::kCsv:
      return report::to_csv(report);
    case report::TableForm::kJson:
      return report::to_json(report);
    case report::TableForm::kText:
      break;
  }
  return report::to_text(report);
}

}  // namespace
}  // namespace sweep_outputs

using namespace sweep_outputs;

void SweepOutputs::show_notes(const results::SweepReport& report) {
  for (const results::SweepRow& row : report.rows) {
    for (const std::string& note : row.notes) {
      if (notes_.insert(note).second)
        console_.log().note({.where = "sweep", .what = note, .severity = Severity::kNote});
    }
  }
}

bool SweepOutputs::wants_json() const {
  return console_.json || (!options_.table.empty() && report::form_of(options_.table) == report::TableForm::kJson);
}

Result<void> SweepOutputs::add(results::SweepReport report) {
  if (options_.fitting)
    std::erase_if(report.rows, [](const results::SweepRow& row) { return row.fits != results::Fits::kYes; });
  show_notes(report);
  if (models_ == Models::kOne) {
    rows_ = std::move(report);
    return {};
  }
  if (!options_.page.empty()) CARINA_CHECKED(write_page(page_of_model(options_.page, report.model), report));
  for (results::SweepRow& row : report.rows) row.model = report.model;
  if (wants_json()) CARINA_CHECKED(keep_json(report));
  for (results::SweepRow& row : report.rows) {
    row.layers.clear();
    rows_.rows.push_back(std::move(row));
  }
  return {};
}

Result<void> SweepOutputs::keep_json(const results::SweepReport& report) {
  const bool first = json_ == nullptr;
  if (first) json_.reset(std::tmpfile());
  if (json_ == nullptr) return no_temporary_file();
  if (first) CARINA_CHECKED(keep(std::string(report::kJsonBegin)));
  for (const results::SweepRow& row : report.rows)
    CARINA_CHECKED(keep((first && &row == &report.rows.front() ? "" : ",\n") + report::json_row(row)));
  return {};
}

Result<void> SweepOutputs::keep(const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), json_.get()) == text.size() ? Result<void>{} : no_temporary_file();
}

Result<void> SweepOutputs::print_kept() {
  constexpr size_t kBlockBytes = size_t{1} << 20;
  std::rewind(json_.get());
  for (std::string block(kBlockBytes, '\0'); !block.empty();) {
    block.resize(kBlockBytes);
    block.resize(std::fread(block.data(), 1, block.size(), json_.get()));
    if (!block.empty()) CARINA_CHECKED(print(block));
  }
  return {};
}

Result<void> SweepOutputs::write_table() {
  if (options_.table.empty()) return {};
  const report::TableForm form = report::form_of(options_.table);
  if (form != report::TableForm::kJson || models_ == Models::kOne)
    return write_file(options_.table, table_of(rows_, form));
  CARINA_TRY(const Buffer kept, map_file(path_of_open_file(json_.get())));
  return write_file(options_.table, kept.bytes());
}

Result<void> SweepOutputs::finish() {
  if (json_ != nullptr) {
    CARINA_CHECKED(keep(std::string(report::kJsonEnd)));
    if (std::fflush(json_.get()) != 0) return no_temporary_file();
  }
  CARINA_CHECKED(write_table());
  CARINA_CHECKED(write_page(options_.page, rows_));
  if (console_.json && json_ != nullptr) return print_kept();
  return print_report(console_.json ? report::to_json(rows_) : report::to_text(rows_), console_);
}

}  // namespace carina::cli
