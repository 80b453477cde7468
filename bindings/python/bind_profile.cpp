// Binds the internals of penstock.profile(): durations, steps, and their texts.
#include <array>

#include <base/amounts.hpp>
#include <base/cores.hpp>
#include <base/names/hints.hpp>
#include <penstock/stats.hpp>
#include <record/time/histogram.hpp>
#include <record/time/step_log.hpp>

#include "bind.hpp"
#include "stats.hpp"

namespace penstock::python {
namespace {

Clock::time_point point(std::int64_t nanoseconds) {
  return Clock::time_point{std::chrono::nanoseconds{nanoseconds}};
}

// Logs a failed next() as a wait that ends the epoch.
void log_next(StepLog& log, std::int64_t asked, std::int64_t got, bool batch) {
  log.asks(point(asked));
  log.gets(point(got), {.deliver = point(got) - point(asked)}, batch);
  if (!batch) log.epoch_ends(point(got));
}

nb::dict by_width(const Distribution& durations) {
  const std::array<std::uint64_t, 65> sums = durations.sums_by_width();
  nb::dict all;
  for (std::size_t width = 0; width < sums.size(); ++width)
    if (sums[width] != 0) all[nb::int_(width)] = sums[width];
  return all;
}

}  // namespace

void bind_profile(nb::module_& module) {
  nb::class_<Distribution>(module, "Durations", "A snapshot of a DurationCounter, in nanoseconds.")
      .def(nb::init<>())
      .def_ro("count", &Distribution::count)
      .def_ro("sum", &Distribution::sum)
      .def_ro("max", &Distribution::max)
      .def_prop_ro("mean", &Distribution::mean, "The arithmetic mean; 0 without durations.")
      .def("quantile", &Distribution::quantile, nb::arg("share"),
           "The duration that a share (0 to 1) of all durations does not exceed, accurate to a sixteenth.")
      .def("sums_by_width", by_width, nb::sig("def sums_by_width(self) -> dict[int, int]"),
           "The sum of the durations of each bit length, accurate to a sixteenth.")
      .def(
          "seconds", [](const Distribution& durations) { return to_python(durations, 1e-9); },
          nb::sig("def seconds(self) -> dict[str, float]"), "Count, mean, p50, p90, p99 and max.");
  nb::class_<Histogram>(module, "DurationCounter",
                        "Counts durations in buckets that are as wide as a sixteenth of the value.")
      .def(nb::init<>())
      .def("add", &Histogram::add, nb::arg("nanoseconds"))
      .def("get", &Histogram::get, nb::sig("def get(self) -> Durations"));
  nb::class_<StepLog>(module, "StepLog",
                      "Records the times of the steps of a loop. All times are nanoseconds of time.perf_counter_ns().")
      .def(nb::init<>())
      .def("next", log_next, nb::arg("asked"), nb::arg("got"), nb::arg("batch"),
           "Adds a call of next() between two times. batch: whether it returned a batch instead of raising.")
      .def(
          "mark", [](StepLog& log, std::int64_t now) { log.mark(point(now)); }, nb::arg("now"), "Ends a step.")
      .def(
          "steps", [](const StepLog& log, const nb::object& schedule) { return to_python(log.steps(), schedule); },
          nb::arg("schedule").none(),
          nb::sig("def steps(self, schedule: Schedule | None) -> penstock._profile.steps.Steps"))
      .def("reset", &StepLog::reset);
  module.def(
      "too_short",
      [](std::uint64_t batches, std::int64_t first_batch, std::int64_t longest, std::int64_t wall) {
        using std::chrono::nanoseconds;
        return too_short({batches, nanoseconds{first_batch}, nanoseconds{longest}, nanoseconds{wall}});
      },
      nb::arg("batches"), nb::arg("first_batch"), nb::arg("longest"), nb::arg("wall"),
      "The reason why a loop ran too short for a diagnosis, or None. Times are in nanoseconds. longest: the longest "
      "wait for a batch.");
  module.def("percent_text", percent_text, nb::arg("share"), "\"31 %\" of 0.31");
  module.def("time_text", time_text, nb::arg("seconds"), "\"490 us\", \"2.2 ms\", \"1.20 s\"");
  module.def("hint_for", hint_for, nb::arg("where"), nb::arg("theirs"),
             "\": use OURS (NOTE)\" for a name that penstock does not have; \"\" if it is not in the table.");
  module.def(
      "hints",
      [](const std::string& where) {
        nb::dict found;
        for (const Hint& hint : hints())
          if (hint.where == where) found[text(hint.theirs)] = nb::make_tuple(text(hint.ours), text(hint.note));
        return found;
      },
      nb::arg("where"), nb::sig("def hints(where: str) -> dict[str, tuple[str, str]]"),
      "For each name of another library: the name to use instead (empty if none is needed), and a note.");
  module.def("usable_cores", usable_cores, "The cores in the process's affinity mask and CPU quota, at least 1.");
}

}  // namespace penstock::python
