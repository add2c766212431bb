// Tests HTML pages: names with any text stay text, and the page's data are the JSON.
#include "report/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace carina::report {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kHostile = "</script><!--{{vega}}&<b>";

std::string data_of(const std::string& page) {
  const std::string open = R"(<script type="application/json" id="data">)";
  const size_t begin = page.find(open) + open.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

results::AccuracyReport hostile_report() {
  return {.program = std::string(kHostile), .samples = 3, .float_right = 2, .npu_right = 1};
}

TEST(Page, data_equal_the_json) {
  const results::AccuracyReport report = hostile_report();
  EXPECT_EQ(nlohmann::json::parse(data_of(to_html(report))), nlohmann::json::parse(to_json(report)));
}

TEST(Page, names_cannot_end_their_element) {
  const std::string page = to_html(hostile_report());
  EXPECT_THAT(page, Not(HasSubstr(kHostile)));
  EXPECT_THAT(page, HasSubstr("<title>&lt;/script>&lt;!--{{vega}}&amp;&lt;b>"));
}

TEST(Page, template_placeholders_are_all_filled) {
  const std::string page = to_html(results::SweepReport{.model = "model.pt2", .rows = {}});
  EXPECT_THAT(page, Not(HasSubstr("{{title}}")));
  EXPECT_THAT(page, HasSubstr(R"(<body data-kind="sweep">)"));
  EXPECT_THAT(page, HasSubstr("expressionInterpreter"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
}

}  // namespace
}  // namespace carina::report
