// Renders the results of commands. to_text() is for a reader, to_json() for a program, to_html() a page with plots.
#pragma once

#include <string>
#include <string_view>

#include "carina/compile_report.h"
#include "carina/result.h"
#include "report/tables/layers.h"
#include "report/tables/sweep_json.h"
#include "results/accuracy_report.h"
#include "results/board_calibration.h"
#include "results/compare_report.h"
#include "results/firmware_report.h"
#include "results/layer_accuracy_report.h"
#include "results/listing.h"
#include "results/operator_list.h"
#include "results/profile_report.h"
#include "results/run_report.h"
#include "results/sweep_report.h"
#include "results/target_list.h"
#include "results/tosa_report.h"
#include "results/verify_report.h"
#include "results/vulkan_report.h"

namespace carina::report {

// `carina compile` and `carina explain`.
enum class Detail { kSummary, kNodes };
std::string to_text(const results::CompileReport& report, Detail detail);
std::string to_json(const results::CompileReport& report);
// Returns one row about the whole network, with the columns of Vela's <network>_summary_<system>.csv. The delegates'
// layers must be present. Unknown values (the bytes of weights before encoding) are empty cells.
std::string summary_table(const results::CompileReport& report);

// `carina run` and `carina interpret`. The JSON has each operation.
std::string to_text(const results::TestsReport& tests);
std::string to_text(const results::RunReport& report, LayerRows rows = LayerRows::kFolded);
std::string to_json(const results::RunReport& report);
std::string to_text(const results::InterpretReport& report);
std::string to_json(const results::InterpretReport& report);
std::string to_text(const results::VulkanReport& report);  // a run on a Vulkan device
std::string to_json(const results::VulkanReport& report);

// `carina firmware` and `carina qemu`.
std::string to_text(const results::FirmwareReport& report);
std::string to_json(const results::FirmwareReport& report);
std::string to_text(const results::QemuReport& report);
std::string to_json(const results::QemuReport& report);

// `carina sweep`: its table, and the same table as CSV. Its JSON is in report/tables/sweep_json.h.
std::string to_text(const results::SweepReport& report);
std::string to_csv(const results::SweepReport& report);

// `carina accuracy`, with --layers, and `carina compare`.
std::string to_text(const results::AccuracyReport& report);
std::string to_json(const results::AccuracyReport& report);
std::string to_text(const results::LayerAccuracyReport& report);
std::string to_json(const results::LayerAccuracyReport& report);
std::string to_text(const results::CompareReport& report);
std::string to_json(const results::CompareReport& report);

// `carina calibrate-board`: the ini section, and measured and estimated cycles per network.
std::string to_text(const results::BoardCalibration& fitted);
std::string to_json(const results::BoardCalibration& fitted);

// `carina tosa`, also with --verify.
std::string to_text(const results::TosaReport& report);
std::string to_json(const results::TosaReport& report);
std::string to_text(const results::VerifyReport& report);
std::string to_json(const results::VerifyReport& report);

// `carina inspect`: the text of the listing, or else one line per part.
std::string to_text(const results::Listing& listing);
std::string to_json(const results::Listing& listing);

// `carina targets`, also with --boards, and `carina ops`: the text of build/pages/SUPPORTED_OPS.md, of which
// docs/SUPPORTED_OPS.md is a summary.
std::string to_text(const results::TargetList& list);
std::string to_json(const results::TargetList& list);
std::string to_text(const results::BoardList& list);
std::string to_json(const results::BoardList& list);
std::string to_text(const results::OperatorList& list);
std::string to_json(const results::OperatorList& list);

// --profile: a table with a total; the JSON of a report with a member "profile".
std::string to_text(const results::Profile& profile);
std::string with_profile(std::string_view json, const results::Profile& profile);

// Returns the JSON report of a command that failed. The kind of a message is "rule" if it begins with "rule <id> (TOSA
// 1.0, section <n>)" (from the verifier), "require" if it begins with "REQUIRE" (the data violate a condition of the
// specification at run time), else "error". `status` is "unpredictable" if a REQUIRE is violated, "refused" if the file
// or the inputs have another fault, else "failed" (the command line, the disk).
std::string to_json(const std::string& file, const Diagnostics& errors);

// A page is one file, loads nothing, follows the reader's light or dark theme, and contains exactly the data of
// to_json(). docs/adr/0041 gives the design.
enum class CompilePage { kCompile, kExplain };
std::string to_html(const results::CompileReport& report, CompilePage page);
std::string to_html(const results::RunReport& report);
std::string to_html(const results::CompareReport& report);
std::string to_html(const results::AccuracyReport& report);
std::string to_html(const results::LayerAccuracyReport& report);
std::string to_html(const results::SweepReport& report);

}  // namespace carina::report
