#include "driver/split_cache.h"

namespace carina::driver {

struct SplitCache::Entry {
  std::once_flag once;
  Diagnostics notes;
  Result<Split> split;
};

Result<Split> SplitCache::split(const ir::Graph& normalized, const backends::Backend& backend,
                                const SplitOptions& options, const Log& log) {
  const std::shared_ptr<Entry> entry = [&] {
    const std::scoped_lock lock(mutex_);
    std::shared_ptr<Entry>& known = entries_[Key(backend.target, options)];
    if (!known) known = std::make_shared<Entry>();
    return known;
  }();
  std::call_once(entry->once, [&] {
    const Log collector{.note = [&](const Diagnostic& note) { entry->notes.push_back(note); },
                        .progress = log.progress};
    entry->split = split_graph(normalized, backend, options, {}, collector);
  });
  for (const Diagnostic& note : entry->notes) log.note(note);
  return entry->split;
}

}  // namespace carina::driver
