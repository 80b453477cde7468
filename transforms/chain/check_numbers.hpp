// Checks the numbers that a user gives to a step, where the step is written.
#pragma once

#include <penstock/transforms/chain/chain.hpp>

namespace penstock {

/// Throws Error: invalid_argument, naming the step, for numbers that make no sense whatever the step is applied to.
void check_numbers(const Step& step);

/// A chain of one step. Throws as check_numbers().
Chain one_step(Step step);

}  // namespace penstock
