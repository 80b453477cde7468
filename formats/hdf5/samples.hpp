// Opens HDF5 files that have a dataset, or a group of datasets, for each sample, as hdf5.hpp describes them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <formats/format.hpp>
#include <formats/hdf5/file.hpp>
#include <formats/index/index.hpp>

namespace penstock {

/// Adds all samples to the index, and names and classes of groups that are classes to `classes`; what is left out goes
/// to `left_out`, by path. Adds nothing where the file has no such dataset.
/// Throws Error: corrupt; unsupported; io.
void index_hdf5_samples(const Hdf5File& file, IndexBuilder& builder, std::vector<std::string>& classes,
                        std::map<std::string, std::string>& left_out, const OpenProgress& progress);

/// More top-level datasets than columns are likely: each of them is a sample.
constexpr std::size_t kMostHdf5Columns = 256;

}  // namespace penstock
