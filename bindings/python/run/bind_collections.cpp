// Binds the callback with which `penstock run` times Python's garbage collector.
//
// A callback in Python would run signal handlers, and the collector drops what they raise: Ctrl-C would have no effect.
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>

#include "../bind.hpp"

namespace penstock::python {
namespace {

void add(const nb::object& totals, const char* name, std::int64_t value) {
  totals.attr(name) = nb::cast<std::int64_t>(totals.attr(name)) + value;
}

nb::object collection_callback(const nb::object& totals) {
  using Clock = std::chrono::steady_clock;
  const auto began = std::make_shared<Clock::time_point>();
  return nb::cpp_function([totals, began](const char* phase, nb::handle) {
    const Clock::time_point now = Clock::now();
    if (std::strcmp(phase, "start") == 0) {
      *began = now;
    } else if (*began != Clock::time_point()) {
      add(totals, "collections", std::chrono::nanoseconds(now - *began).count());
      add(totals, "collection_count", 1);
      *began = {};
    }
  });
}

}  // namespace

void bind_collections(nb::module_& module) {
  module.def(
      "collection_callback", collection_callback, nb::arg("totals"),
      nb::sig("def collection_callback(totals: object) -> collections.abc.Callable[[str, dict[str, int]], None]"),
      "Returns a function for gc.callbacks that adds the nanoseconds of each collection to totals.collections, and 1 "
      "to totals.collection_count.");
}

}  // namespace penstock::python
