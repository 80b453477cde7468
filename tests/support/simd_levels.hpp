// Runs a check with each SIMD level that this machine has, and with the portable one.
#pragma once

#include <cstdint>

#include <doctest/doctest.h>
#include <hwy/targets.h>

namespace penstock::test {

template <class Check>
void at_each_level(Check check) {
  hwy::SetSupportedTargetsForTest(0);
  const std::int64_t supported = hwy::SupportedTargets() | HWY_EMU128;
  for (std::int64_t rest = supported; rest != 0; rest &= rest - 1) {
    hwy::SetSupportedTargetsForTest(rest & -rest);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    CAPTURE(hwy::TargetName(rest & -rest));
    check();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace penstock::test
