#include "report/render.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "carina/check.h"
#include "report/page_parts_internal.h"

namespace carina::report {

namespace {

struct Filling {
  std::string_view name;
  std::string_view text;
};

// Replaces each {{name}} of the template once. Inserted text is not searched again.
template <size_t N>
std::string filled(std::string_view text, const std::array<Filling, N>& fillings) {
  std::string page;
  for (;;) {
    const size_t open = text.find("{{");
    page += text.substr(0, open);
    if (open == std::string_view::npos) return page;
    const size_t close = text.find("}}", open);
    const std::string_view name = text.substr(open + 2, close - open - 2);
    const auto* filling = std::ranges::find(fillings, name, &Filling::name);
    CARINA_CHECK(filling != fillings.end(), "a name of the page's template");
    page += filling->text;
    text.remove_prefix(close + 2);
  }
}

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '<') {
      safe += "&lt;";
    } else if (c == '&') {
      safe += "&amp;";
    } else {
      safe += c;
    }
  }
  return safe;
}

// JSON without blanks. Characters that could end the surrounding script element are escaped.
std::string data_text(const std::string& json) {
  std::string safe;
  for (const char c : nlohmann::ordered_json::parse(json).dump())
    safe += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return safe;
}

std::string page(std::string_view kind, const std::string& about, const std::string& json) {
  const std::string title = escaped(about + " - Carina " + std::string(kind));
  const std::string data = data_text(json);
  return filled(
      page_template(),
      std::array{Filling{.name = "title", .text = title}, Filling{.name = "kind", .text = kind},
                 Filling{.name = "style", .text = page_style()}, Filling{.name = "version", .text = CARINA_VERSION},
                 Filling{.name = "data", .text = data}, Filling{.name = "licenses", .text = page_licenses()},
                 Filling{.name = "vega", .text = vega_script()}, Filling{.name = "scripts", .text = page_scripts()}});
}

}  // namespace

std::string to_html(const results::CompileReport& report, CompilePage kind) {
  return page(kind == CompilePage::kCompile ? "compile" : "explain", report.model, to_json(report));
}
std::string to_html(const results::RunReport& report) {
  return page("run", report.program, to_json(report));
}
std::string to_html(const results::CompareReport& report) {
  return page("compare", report.a.label + " and " + report.b.label, to_json(report));
}
std::string to_html(const results::AccuracyReport& report) {
  return page("accuracy", report.program, to_json(report));
}
std::string to_html(const results::LayerAccuracyReport& report) {
  return page("accuracy by layer", report.model, to_json(report));
}
std::string to_html(const results::SweepReport& report) {
  return page("sweep", report.model, to_json(report));
}

}  // namespace carina::report
