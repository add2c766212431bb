#pragma once

#include <string>

namespace carina::inspect {

// The operators of LiteRT files and where they may run, as a Markdown page: the answer to Vela's
// --supported-ops-report.
std::string litert_operators_page();

}  // namespace carina::inspect
