#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "report/render.h"

namespace carina::interop {

// The reports of delegate calls in this process, and the last failure. May be called from any thread.
class Journal {
 public:
  static Journal& get();

  void set_timed(bool timed);
  [[nodiscard]] bool timed() const;

  void add(results::NpuReport call);
  void add_vgf(int64_t nanoseconds);
  void fail(std::string why);
  void clear();

  [[nodiscard]] size_t calls() const;
  // The report as JSON text; nothing if there is no such call.
  [[nodiscard]] std::optional<std::string> call(size_t index) const;
  [[nodiscard]] std::string last_error() const;

 private:
  void add(results::RunReport call);

  mutable std::mutex mutex_;
  bool timed_ = true;
  std::deque<results::RunReport> calls_;
  std::string last_error_;
};

}  // namespace carina::interop
