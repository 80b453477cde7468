// Opens the argument of a function that expects a dataset: a Dataset or a path.
#pragma once

#include <functional>

#include <nanobind/nanobind.h>

#include <penstock/dataset.hpp>
#include <penstock/open_options.hpp>

namespace penstock::python {

/// Opens a Dataset, or the path of one (str or os.PathLike), with `options`. Releases the interpreter. If `progress` is
/// not None, it is called with (done, total) while an index is built. Throws what opening throws.
Dataset open_dataset(nanobind::handle path_or_dataset, const nanobind::object& progress = nanobind::none(),
                     const OpenOptions& options = {});
/// Calls `opening` without the interpreter, with the same `progress`. Also runs signal handlers.
Dataset open_telling(const std::function<Dataset(const OpenProgress&)>& opening,
                     const nanobind::object& progress = nanobind::none());

}  // namespace penstock::python
