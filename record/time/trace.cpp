#include <penstock/error.hpp>
#include <penstock/trace.hpp>

namespace penstock {

void Schedule::check() const {
  if (active == 0) throw Error::invalid_argument("a schedule needs at least one active step");
}

Schedule::Phase Schedule::of(std::uint64_t step) const {
  if (step < skip_first) return Phase::wait;
  const std::uint64_t cycle = wait + warmup + active, behind = step - skip_first;
  if (repeat != 0 && behind / cycle >= repeat) return Phase::wait;
  const std::uint64_t place = behind % cycle;
  return place < wait ? Phase::wait : place < wait + warmup ? Phase::warmup : Phase::active;
}

std::string_view name(Schedule::Phase phase) {
  switch (phase) {
    case Schedule::Phase::wait:
      return "wait";
    case Schedule::Phase::warmup:
      return "warmup";
    case Schedule::Phase::active:
      return "active";
  }
  return "";
}

}  // namespace penstock
