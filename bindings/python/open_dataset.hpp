// Opens what Python gives where a dataset is wanted: a Dataset or a path.
#pragma once

#include <functional>

#include <nanobind/nanobind.h>

#include <penstock/dataset.hpp>
#include <penstock/open_options.hpp>

namespace penstock::python {

/// A Dataset, or the path of one (str or os.PathLike), which is opened with `options` and without
/// holding the interpreter. `progress`,
/// when not None, is called with (done, total) while an index is built. Throws what opening throws.
Dataset open_dataset(nanobind::handle path_or_dataset, const nanobind::object& progress = nanobind::none(),
                     const OpenOptions& options = {});
/// What `opening` opens, without holding the interpreter; `progress` is told in the same way, and so are signals.
Dataset open_telling(const std::function<Dataset(const OpenProgress&)>& opening,
                     const nanobind::object& progress = nanobind::none());

}  // namespace penstock::python
