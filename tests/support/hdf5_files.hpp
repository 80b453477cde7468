// Makes HDF5 files by libhdf5, and indexes them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <hdf5.h>

#include <formats/hdf5/handle.hpp>
#include <formats/hdf5/hdf5.hpp>
#include <formats/index/index.hpp>

#include "support/temporary_folder.hpp"

namespace penstock::test {

inline Index hdf5_index(const std::filesystem::path& shard) {
  return kHdf5.index(shard, shard.parent_path(), {});
}

using Dims = std::vector<hsize_t>;

/// libhdf5 itself, as writer of foreign files; its own reading is the oracle.
class Foreign {
 public:
  explicit Foreign(const std::filesystem::path& path, bool latest = false, hsize_t user_block = 0) {
    const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS));
    if (latest) H5Pset_libver_bounds(access.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    const Hdf5Handle creation(H5Pcreate(H5P_FILE_CREATE));
    H5Pset_userblock(creation.get(), user_block);
    file_ = Hdf5Handle(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()));
    REQUIRE(file_.valid());
  }
  hid_t id() const { return file_.get(); }

  /// A dataset of consecutive numbers, of which only the first `written` rows are written; returns what libhdf5 reads
  /// as numbers of this machine.
  template <typename T>
  std::string dataset(const std::string& name, hid_t type, const Dims& dims, const Hdf5Handle& properties,
                      std::uint64_t written = ~std::uint64_t{0}, const Dims& most = {}) const {
    const Hdf5Handle native(H5Tget_native_type(type, H5T_DIR_ASCEND));
    const Hdf5Handle space(
        H5Screate_simple(static_cast<int>(dims.size()), dims.data(), most.empty() ? nullptr : most.data()));
    const Hdf5Handle dataset(
        H5Dcreate2(id(), name.c_str(), type, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT));
    REQUIRE(dataset.valid());
    std::vector<T> values(std::accumulate(dims.begin(), dims.end(), hsize_t{1}, std::multiplies<>()));
    std::iota(values.begin(), values.end(), T{});
    Dims block = dims;
    block[0] = std::min<hsize_t>(dims[0], written);
    const Hdf5Handle memory(H5Screate_simple(static_cast<int>(block.size()), block.data(), nullptr));
    const Hdf5Handle target(H5Scopy(space.get()));
    const Dims start(dims.size(), 0);
    if (block[0] != 0) {
      REQUIRE(H5Sselect_hyperslab(target.get(), H5S_SELECT_SET, start.data(), nullptr, block.data(), nullptr) >= 0);
      REQUIRE(H5Dwrite(dataset.get(), native.get(), memory.get(), target.get(), H5P_DEFAULT, values.data()) >= 0);
    }
    REQUIRE(H5Dread(dataset.get(), native.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()) >= 0);
    return text_of(std::as_bytes(std::span(values)));
  }

 private:
  Hdf5Handle file_;
};

/// Of a dataset that is to be made.
inline Hdf5Handle properties() {
  return Hdf5Handle(H5Pcreate(H5P_DATASET_CREATE));
}

inline Hdf5Handle chunked(const Dims& chunk) {
  Hdf5Handle made = properties();
  H5Pset_chunk(made.get(), static_cast<int>(chunk.size()), chunk.data());
  return made;
}

}  // namespace penstock::test
