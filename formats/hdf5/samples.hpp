// Opens HDF5 files that have a dataset, or a group of datasets, for each sample, as hdf5.hpp describes them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <formats/format.hpp>
#include <formats/hdf5/file.hpp>
#include <formats/index/index.hpp>

namespace penstock {

/// Adds all samples to the index. If groups are classes, adds their names to `classes`. Adds left-out paths to
/// `left_out`. Adds nothing if the file has no such dataset. Throws Error: corrupt; unsupported; io.
void index_hdf5_samples(const Hdf5File& file, IndexBuilder& builder, std::vector<std::string>& classes,
                        std::map<std::string, std::string>& left_out, const OpenProgress& progress);

/// More top-level datasets than this are unlikely to be columns: each of them is a sample.
constexpr std::size_t kMostHdf5Columns = 256;

}  // namespace penstock
