// Renders the reports of `carina firmware` and `carina qemu`. to_text() is for a reader, to_json() for a program.
#pragma once

#include <string>
#include <vector>

#include "results/firmware_report.h"

namespace carina::report {

std::string to_text(const results::FirmwareReport& report);
std::string to_json(const results::FirmwareReport& report);
std::string to_text(const results::QemuReport& report);
std::string to_json(const results::QemuReport& report);

}  // namespace carina::report
