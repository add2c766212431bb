#include "simulate/driver_abi_internal.h"

#include <gtest/gtest.h>

#include <string>

#include "carina/check.h"
#include "facts/npu_pmu.h"
#include "tiny_stream.h"

namespace carina::simulate {
namespace {

struct Bases {
  alignas(16) std::array<std::byte, 1024> constants{};
  alignas(16) std::array<std::byte, 4096> arena{};
  std::array<uint64_t, 2> base{reinterpret_cast<uintptr_t>(constants.data()),
                               reinterpret_cast<uintptr_t>(arena.data())};
  std::array<size_t, 2> size{constants.size(), arena.size()};
};

std::vector<std::byte> copy_stream() {
  TinyStream s;
  s.ifm({.base = 0}).ofm({.base = 0x400}).copy_pool();
  return s.payload();
}

TEST(DriverAbi, inference_invokes_and_counts) {
  carina_ethosu_driver* driver = carina_ethosu_init("ethos-u55-128", nullptr, 0);
  ASSERT_NE(driver, nullptr);
  carina_ethosu_pmu_enable(driver);
  EXPECT_EQ(carina_ethosu_pmu_get_num_event_counters(driver), 4u);
  EXPECT_TRUE(carina_ethosu_pmu_set_event_type(driver, 0, static_cast<uint16_t>(npu::PmuEvent::NPU_ACTIVE)));
  EXPECT_FALSE(carina_ethosu_pmu_set_event_type(driver, 9, 0));
  Bases bases;
  bases.arena[3] = std::byte{42};
  const auto payload = copy_stream();
  EXPECT_EQ(carina_ethosu_invoke_v3(driver, payload.data(), static_cast<int>(payload.size()), bases.base.data(),
                                    bases.size.data(), 2, nullptr),
            0);
  EXPECT_EQ(bases.arena[0x403], std::byte{42});
  EXPECT_EQ(carina_ethosu_irq_history(driver), 0xFFFF);
  EXPECT_GT(carina_ethosu_pmu_get_cycle_counter(driver), 0u);
  EXPECT_EQ(carina_ethosu_pmu_get_event_counter(driver, 0), carina_ethosu_pmu_get_cycle_counter(driver));
  carina_ethosu_deinit(driver);
}

TEST(DriverAbi, started_inference_is_waited_for) {
  carina_ethosu_driver* driver = carina_ethosu_init("ethos-u55-128", nullptr, 0);
  Bases bases;
  const auto payload = copy_stream();
  EXPECT_EQ(carina_ethosu_wait(driver, true), -2);
  EXPECT_EQ(carina_ethosu_invoke_async(driver, payload.data(), static_cast<int>(payload.size()), bases.base.data(),
                                       bases.size.data(), 2, nullptr),
            0);
  EXPECT_EQ(carina_ethosu_invoke_async(driver, payload.data(), static_cast<int>(payload.size()), bases.base.data(),
                                       bases.size.data(), 2, nullptr),
            -1);
  EXPECT_EQ(carina_ethosu_wait(driver, true), 0);
  EXPECT_EQ(carina_ethosu_wait(driver, false), -2);
  carina_ethosu_deinit(driver);
}

TEST(DriverAbi, faults_are_reported) {
  EXPECT_EQ(carina_ethosu_init("ethos-u99", nullptr, 0), nullptr);
  carina_ethosu_driver* driver = carina_ethosu_init("ethos-u55-128", nullptr, 0);
  Bases bases;
  bases.size[1] = 8;
  const auto payload = copy_stream();
  EXPECT_EQ(carina_ethosu_invoke_v3(driver, payload.data(), static_cast<int>(payload.size()), bases.base.data(),
                                    bases.size.data(), 2, nullptr),
            -1);
  EXPECT_NE(std::string(carina_ethosu_last_error(driver)).find("outside region 1"), std::string::npos);
  EXPECT_EQ(carina_ethosu_invoke_v3(driver, payload.data(), 3, bases.base.data(), bases.size.data(), 2, nullptr), -1);
  carina_ethosu_deinit(driver);
}

// The inference runs in its own thread. An exception must not leave that thread: it would end the caller's process.
TEST(DriverAbi, internal_error_fails_only_its_inference) {
  carina_ethosu_driver* driver = carina_ethosu_init("ethos-u55-128", nullptr, 0);
  Bases bases;
  const auto payload = copy_stream();
  const auto invoke = [&] {
    return carina_ethosu_invoke_v3(driver, payload.data(), static_cast<int>(payload.size()), bases.base.data(),
                                   bases.size.data(), 2, nullptr);
  };
  const carina_ethosu_hooks hooks{
      .inference_begin = [](carina_ethosu_driver*, void*) { CARINA_CHECK(false, "of a test"); },
      .inference_end = nullptr};
  carina_ethosu_set_hooks(&hooks);
  EXPECT_EQ(invoke(), -1);
  EXPECT_NE(std::string(carina_ethosu_last_error(driver)).find("internal error"), std::string::npos);
  carina_ethosu_set_hooks(nullptr);
  EXPECT_EQ(invoke(), 0);
  carina_ethosu_deinit(driver);
}

TEST(DriverAbi, drivers_are_reserved_in_turn) {
  EXPECT_EQ(carina_ethosu_reserve_driver(), nullptr);
  carina_ethosu_driver* driver = carina_ethosu_init("ethos-u85-256", nullptr, 0);
  EXPECT_EQ(carina_ethosu_reserve_driver(), driver);
  carina_ethosu_release_driver(driver);
  carina_ethosu_hw_info info;
  carina_ethosu_get_hw_info(driver, &info);
  EXPECT_STREQ(info.name, "ethos-u85-256");
  carina_ethosu_deinit(driver);
}

}  // namespace
}  // namespace carina::simulate
