#include "guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <string>

#include "carina/check.h"

namespace carina::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

Outcome outcome_of(const std::function<int()>& action, const Console& console) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = run_guarded(action, console);
  return {.code = code, .out = testing::internal::GetCapturedStdout(), .err = testing::internal::GetCapturedStderr()};
}

int break_an_invariant() {
  CARINA_CHECK(false, "of a test");
  return 0;
}

TEST(RunGuarded, internal_error_is_exit_code_3) {
  const Outcome outcome = outcome_of(break_an_invariant, {});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.err,
              AllOf(HasSubstr("carina: error: internal error"), HasSubstr("of a test"), HasSubstr("report")));
  EXPECT_THAT(outcome.out, IsEmpty());
}

TEST(RunGuarded, json_option_prints_an_object) {
  const Outcome outcome = outcome_of(break_an_invariant, {.json = true});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_THAT(outcome.out, AllOf(testing::StartsWith("{"), HasSubstr("\"errors\""), HasSubstr("internal error")));
}

TEST(RunGuarded, out_of_memory_is_exit_code_1) {
  const Outcome outcome = outcome_of([]() -> int { throw std::bad_alloc(); }, {});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("out of memory"));
}

TEST(RunGuarded, exit_code_of_action_is_kept) {
  EXPECT_EQ(outcome_of([] { return 2; }, {}).code, 2);
}

}  // namespace
}  // namespace carina::cli
