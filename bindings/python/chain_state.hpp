// Chains as plain tuples, so that Python can pickle them: for worker processes and launchers that spawn.
#pragma once

#include <nanobind/nanobind.h>

#include <penstock/transforms/chain.hpp>

namespace penstock::python {

/// (sources, followed, misuse, ((position in Step, members of the step...), ...))
nanobind::tuple chain_state(const Chain& chain);
/// Throws nanobind's cast_error, for what chain_state() of this version did not make.
Chain chain_from_state(const nanobind::tuple& state);

}  // namespace penstock::python
