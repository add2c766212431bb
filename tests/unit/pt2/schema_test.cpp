#include "frontend/pt2/verify/schema.h"

#include <gtest/gtest.h>

#include <set>

namespace carina::aten {
namespace {

TEST(Schema, types_lists_and_defaults_are_read) {
  const Schema schema = parse_schema(
      "(Tensor(a -> *) self, Tensor? bias=None, SymInt[2] stride=1, int[1]? dim=[0, -1], *, Scalar alpha=0.5, "
      "ScalarType? dtype=None, str mode=\"none\") -> Tensor(a)");
  ASSERT_EQ(schema.arguments.size(), 7);
  EXPECT_EQ(schema.arguments[0].name, "self");
  EXPECT_FALSE(schema.arguments[0].has_default);
  EXPECT_TRUE(schema.arguments[1].optional);
  EXPECT_EQ(std::get<std::vector<int64_t>>(schema.arguments[2].default_value), (std::vector<int64_t>{1, 1}));
  EXPECT_TRUE(schema.arguments[3].optional && schema.arguments[3].is_list);
  EXPECT_EQ(std::get<std::vector<int64_t>>(schema.arguments[3].default_value), (std::vector<int64_t>{0, -1}));
  EXPECT_TRUE(schema.arguments[4].keyword_only);
  EXPECT_EQ(std::get<double>(schema.arguments[4].default_value), 0.5);
  EXPECT_EQ(std::get<std::string>(schema.arguments[6].default_value), "none");
  EXPECT_TRUE(schema.returns_view);
}

TEST(Schema, optional_lists_and_several_results_are_read) {
  const Schema schema = parse_schema(
      "(Tensor?[] indices, Tensor[] list, float eps=1e-05, float p=1) -> (Tensor values, Tensor[], Tensor)");
  EXPECT_TRUE(schema.arguments[0].optional_elements && schema.arguments[0].is_list && !schema.arguments[0].optional);
  EXPECT_TRUE(schema.arguments[1].is_list && !schema.arguments[1].optional_elements);
  EXPECT_EQ(std::get<double>(schema.arguments[2].default_value), 1e-05);
  EXPECT_EQ(std::get<double>(schema.arguments[3].default_value), 1.0);
  EXPECT_EQ(schema.result_is_list, (std::vector<bool>{false, true, false}));
}

TEST(Schema, all_rows_parse) {
  for (const AtenOpRow& row : kAtenOps) {
    const Schema& schema = schema_of(row.op);
    EXPECT_FALSE(schema.result_is_list.empty()) << row.name;
    std::set<std::string> names;
    for (const ArgumentRow& argument : schema.arguments) EXPECT_TRUE(names.insert(argument.name).second) << row.name;
  }
}

}  // namespace
}  // namespace carina::aten
