// The hooks of the core driver for tasks: a mutex around the list of NPUs, a semaphore that counts free NPUs.
#include <gtest/gtest.h>

#include <string>

#include "firmware/board/board.h"
#include "firmware/driver/ethosu_driver.h"
#include "firmware/driver/npu.h"

namespace {

struct Tasks {
  int free_npus = 0;
  int locked = 0;
  int locks = 0;
  uint64_t timeout = 0;
};
Tasks tasks;

}  // namespace

extern "C" {
void* ethosu_mutex_create() {
  return &tasks.locked;
}
int ethosu_mutex_lock(void* mutex) {
  ++tasks.locks;
  return ++*static_cast<int*>(mutex) == 1 ? 0 : -1;
}
int ethosu_mutex_unlock(void* mutex) {
  return --*static_cast<int*>(mutex);
}
void* ethosu_semaphore_create() {
  return &tasks.free_npus;
}
int ethosu_semaphore_take(void* semaphore, uint64_t timeout) {
  tasks.timeout = timeout;
  int& count = *static_cast<int*>(semaphore);
  if (count == 0) return -1;  // a real one waits here
  --count;
  return 0;
}
int ethosu_semaphore_give(void* semaphore) {
  ++*static_cast<int*>(semaphore);
  return 0;
}
}

namespace carina::firmware {

bool identify_npu(NpuWords& words) {
  words = {.config = 1, .id = 2};
  return true;
}
bool run_npu(const NpuJob& /*job*/, NpuFigures& /*figures*/) {
  return true;
}
void board_write_line(std::string_view /*line*/) {}
uint64_t board_cycles() {
  return 0;
}
void board_set_cycles(uint64_t /*cycles*/) {}

namespace {

TEST(Driver, tasks_take_a_semaphore_for_each_npu) {
  ethosu_driver first;
  ethosu_driver second;
  ASSERT_EQ(ethosu_init(&first, nullptr, nullptr, 0, 1, 1), 0);
  ASSERT_EQ(ethosu_init(&second, nullptr, nullptr, 0, 1, 1), 0);
  EXPECT_EQ(tasks.free_npus, 2);
  ethosu_driver* one = ethosu_reserve_driver();
  ethosu_driver* other = ethosu_reserve_driver();
  EXPECT_EQ(tasks.timeout, ETHOSU_SEMAPHORE_WAIT_FOREVER);
  EXPECT_NE(one, nullptr);
  EXPECT_NE(other, nullptr);
  EXPECT_NE(one, other);
  EXPECT_EQ(ethosu_reserve_driver(), nullptr);  // the semaphore of this test does not wait
  ethosu_release_driver(other);
  ethosu_release_driver(other);  // is free already
  EXPECT_EQ(tasks.free_npus, 1);
  EXPECT_EQ(ethosu_reserve_driver(), other);
  ethosu_release_driver(one);
  ethosu_release_driver(other);
  ethosu_deinit(&first);
  ethosu_deinit(&first);  // is not in the list any more
  EXPECT_EQ(tasks.free_npus, 1);
  ethosu_deinit(&second);
  EXPECT_EQ(tasks.free_npus, 0);
  EXPECT_EQ(tasks.locked, 0);
  EXPECT_GT(tasks.locks, 6);
}

}  // namespace
}  // namespace carina::firmware
