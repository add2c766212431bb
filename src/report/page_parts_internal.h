#pragma once

#include <string_view>

// Returns the parts of HTML pages: the files of src/report/pages, and Vega. CMake embeds them into the program
// (cmake/CarinaEmbed.cmake).
namespace carina::report {

std::string_view page_template();
std::string_view page_style();
std::string_view page_scripts();
std::string_view page_licenses();
std::string_view vega_script();

}  // namespace carina::report
