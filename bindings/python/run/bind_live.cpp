// Binds the page of shared memory in which `penstock run` shows a training to `penstock top`.
#include <algorithm>
#include <chrono>

#include <unistd.h>

#include <penstock/stats.hpp>
#include <record/watch/live_page.hpp>

#include "../bind.hpp"
#include "../door.hpp"

namespace penstock::python {
namespace {

LivePage::Time live_time(std::int64_t nanoseconds) {
  return LivePage::Time{std::chrono::nanoseconds{nanoseconds}};
}

std::uint64_t binds_named(std::string_view wanted) {
  constexpr auto kLast = static_cast<std::uint64_t>(Binds::sharing);
  for (std::uint64_t kind = 0; kind <= kLast; ++kind)
    if (name(static_cast<Binds>(kind)) == wanted) return kind;
  return static_cast<std::uint64_t>(Binds::unknown);
}

Figures figures_from(const nb::dict& counts, const nb::dict& step, const std::string& binds) {
  Figures figures;
  for (const Counter& counter : counters())
    if (const nb::str key = text(counter.name); counter.group.empty() && counts.contains(key))
      counter.set(figures, nb::cast<std::uint64_t>(counts[key]));
  for (const StepPart& part : kStepParts)
    if (const nb::str key = text(part.name); step.contains(key))
      figures.step.*part.time = nb::cast<std::uint64_t>(step[key]);
  figures.binds = binds_named(binds);
  return figures;
}

}  // namespace

void bind_live(nb::module_& module) {
  nb::class_<LivePage>(module, "LivePage", "A page of shared memory that `penstock top` shows.")
      .def("__init__",
           [](LivePage* self) { through_door({}, [&] { return new (self) LivePage(live_folder(::geteuid())); }); })
      .def(
          "show",
          [](LivePage& page, const nb::dict& counts, const nb::dict& step, const std::string& binds, std::int64_t now,
             std::int64_t next) { page.show(figures_from(counts, step, binds), live_time(now), live_time(next)); },
          nb::arg("counts"), nb::arg("step"), nb::arg("binds"), nb::arg("now"), nb::arg("next"),
          nb::sig("def show(self, counts: dict[str, int], step: dict[str, int], binds: str, now: int, next: int) -> "
                  "None"),
          "Shows counters of Loader.stats(), and the time by category of a step. All times are in nanoseconds. now, "
          "next: the time of this update and of the next one, of time.perf_counter_ns().")
      .def(
          "waits_since", [](LivePage& page, std::int64_t since) { page.waits_since(live_time(since)); },
          nb::arg("since"), "The program has waited for a batch since this time.")
      .def(
          "got", [](LivePage& page) { page.waits_since({}); }, "The program has its batch.");
}

}  // namespace penstock::python
