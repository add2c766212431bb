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
