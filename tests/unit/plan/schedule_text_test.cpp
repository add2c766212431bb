#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

#include "networks.h"
#include "plan/schedule/fields_internal.h"
#include "plan/schedule/text.h"

namespace carina::plan {
namespace {

using testing::HasSubstr;

// ---- Goldens: the planner's decisions on ten small networks. CARINA_REBASE=1 rewrites them. ----

std::string golden_path(const std::string& name) {
  return std::string(CARINA_SOURCE_DIR) + "/tests/unit/plan/goldens/" + name + ".txt";
}

TEST(ScheduleText, schedules_equal_goldens) {
  for (const NamedNetwork& network : small_networks()) {
    const std::string text = print(schedule_of(network.build(), *find_target(network.npu, "", "")));
    if (std::getenv("CARINA_REBASE") != nullptr) std::ofstream(golden_path(network.name)) << text;
    std::ifstream file(golden_path(network.name));
    std::stringstream golden;
    golden << file.rdbuf();
    EXPECT_EQ(text, golden.str()) << network.name << ": CARINA_REBASE=1 plan_test rebases";
  }
}

// ---- The text form is total ----

TEST(ScheduleText, whole_schedules_round_trip) {
  for (const NamedNetwork& network : small_networks()) {
    for (const char* after : {"selection", "formats", "blocks", "slices", "order", "depth", "finished"}) {
      const Schedule schedule = schedule_of(network.build(), *find_target(network.npu, "", ""), {}, after);
      EXPECT_FALSE(schedule.steps.empty()) << after;
      const auto again = parse(print(schedule), "text");
      ASSERT_TRUE(again.has_value()) << to_string(again.error());
      EXPECT_EQ(*again, schedule) << network.name << " after " << after;
    }
  }
}

// Fills every field with random values, using the same rows as the printer. Most of these schedules are not valid.
class Randomizer {
 public:
  explicit Randomizer(uint32_t seed) : random_(seed) {}

  template <HasRow T>
  void fill(T& to) {
    std::apply([&](const auto&... field) { (maybe(to.*field.member), ...); }, Row<T>::kFields);
  }
  template <typename T>
  void fill(std::vector<T>& to) {
    to.resize(random_() % 4);
    for (T& value : to) fill(value);
  }

 private:
  void maybe(auto& value) {
    if (random_() % 3 != 0) fill(value);
  }
  template <typename Tag>
  void fill(Id<Tag>& id) {
    id = random_() % 5 == 0 ? Id<Tag>() : Id<Tag>(random_() % 100'000);
  }
  template <typename E>
    requires std::is_enum_v<E>
  void fill(E& to) {
    std::vector<uint32_t> numbers;
    for_each_value<E>([&](std::string_view, uint32_t number) { numbers.push_back(number); });
    to = static_cast<E>(numbers[random_() % numbers.size()]);
  }
  void fill(bool& to) { to = random_() % 2 == 0; }
  template <std::integral T>
  void fill(T& to) {
    to = static_cast<T>((uint64_t{random_()} << 32 | random_()) >> random_() % 64);
  }
  void fill(Shape& to) {
    std::vector<int64_t> dims(random_() % 5);
    for (int64_t& size : dims) fill(size);
    to = Shape(std::span<const int64_t>(dims));
  }
  void fill(SharedName& name) {
    std::string text;
    fill(text);
    name = std::move(text);
  }
  void fill(std::string& to) {
    constexpr std::string_view kSome = "ab_9 \"\\\n\t{}[]=#\x7f\xc3\xa4";
    to.clear();
    for (size_t i = random_() % 12; i > 0; --i) to += kSome[random_() % kSome.size()];
  }
  std::mt19937 random_;
};

TEST(ScheduleText, any_schedule_prints) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    Randomizer random(seed);
    Schedule schedule;
    random.fill(schedule.tensors);
    random.fill(schedule.inputs);
    random.fill(schedule.outputs);
    random.fill(schedule.steps.own());
    random.fill(schedule.stripes);
    random.fill(schedule.slices);
    random.fill(schedule.storages);
    random.fill(schedule.cascades);
    random.fill(schedule.order);
    const std::string text = print(schedule);
    const auto again = parse(text, "text");
    ASSERT_TRUE(again.has_value()) << to_string(again.error()) << "\n" << text;
    ASSERT_EQ(*again, schedule) << text;
    EXPECT_EQ(print(*again), text);
  }
}

TEST(ScheduleText, wrong_line_is_named) {
  const auto message = [](const std::string& text) {
    const auto parsed = parse(text, "s.txt");
    return parsed.has_value() ? std::string("nothing") : to_string(parsed.error());
  };
  EXPECT_EQ(message(""), "nothing");
  EXPECT_THAT(message("inputs []\nstorage m1 bytes=3\n"), HasSubstr("s.txt:2"));
  EXPECT_THAT(message("storage m1 bytes=3\n"), HasSubstr("ids in their order"));
  EXPECT_THAT(message("storage m0 space=flash\n"), HasSubstr("expected constants, arena, fast_scratch"));
  EXPECT_THAT(message("storage m0 bytes=99999999999999999999\n"), HasSubstr("a number that fits its field"));
  EXPECT_THAT(message("storage m0 color=3\n"), HasSubstr("a field"));
  EXPECT_THAT(message("stripe p0 step=t0\n"), HasSubstr("'s' and a number"));
  EXPECT_THAT(message("tensor t0 name=\"a\\q\"\n"), HasSubstr("an escape"));
  EXPECT_THAT(message("tensor t0 name=\"a\n"), HasSubstr("'\"'"));
  EXPECT_THAT(message("stripe p0 ofm={y=1\n"), HasSubstr("a field"));
  EXPECT_THAT(message("what is this\n"), HasSubstr("tensor, inputs, outputs"));
}

}  // namespace
}  // namespace carina::plan
