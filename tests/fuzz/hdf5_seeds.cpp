#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include <hdf5.h>

#include <formats/hdf5/handle.hpp>

#include "fuzz/seeds.hpp"

namespace penstock::fuzz {
namespace {

namespace fs = std::filesystem;
using Dims = std::vector<hsize_t>;
using Handle = Hdf5Handle;

constexpr hsize_t kRows = 6;

Handle required(hid_t id) {
  if (id < 0) throw std::runtime_error("libhdf5 refuses");
  return Handle(id);
}

Handle new_file(const fs::path& path, bool latest) {
  const Handle access = required(H5Pcreate(H5P_FILE_ACCESS));
  if (latest) H5Pset_libver_bounds(access.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  return required(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get()));
}

Handle space(const Dims& dims, const Dims& most = {}) {
  return required(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), most.empty() ? nullptr : most.data()));
}

Handle properties(const Dims& chunk = {}, bool filters = false) {
  Handle made = required(H5Pcreate(H5P_DATASET_CREATE));
  if (!chunk.empty()) H5Pset_chunk(made.get(), static_cast<int>(chunk.size()), chunk.data());
  if (filters) {
    H5Pset_shuffle(made.get());
    H5Pset_deflate(made.get(), 6);
    H5Pset_fletcher32(made.get());
  }
  return made;
}

Handle packed(const Dims& chunk) {
  Handle made = properties(chunk);
  H5Pset_scaleoffset(made.get(), H5Z_SO_INT, H5Z_SO_INT_MINBITS_DEFAULT);
  H5Pset_deflate(made.get(), 6);
  return made;
}

void add_numbers(const Handle& file, const char* name, hid_t type, const Dims& dims, const Handle& how,
                 const Dims& most = {}) {
  const Handle dataset =
      required(H5Dcreate2(file.get(), name, type, space(dims, most).get(), H5P_DEFAULT, how.get(), H5P_DEFAULT));
  std::vector<std::int32_t> values(std::accumulate(dims.begin(), dims.end(), hsize_t{1}, std::multiplies<>()));
  std::iota(values.begin(), values.end(), 0);
  H5Dwrite(dataset.get(), H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
}

void add_texts(const Handle& file, const char* name, std::size_t size) {
  const Handle type = required(H5Tcopy(H5T_C_S1));
  H5Tset_size(type.get(), size);
  const Handle dataset =
      required(H5Dcreate2(file.get(), name, type.get(), space({kRows}).get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  const std::vector<const char*> texts(kRows, "some text");
  const std::string fixed(kRows * 16, 'x');
  const void* values = size == H5T_VARIABLE ? static_cast<const void*>(texts.data()) : fixed.data();
  H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
}

void add_lists(const Handle& file, const char* name) {
  const Handle type = required(H5Tvlen_create(H5T_STD_I32LE));
  const Handle dataset =
      required(H5Dcreate2(file.get(), name, type.get(), space({kRows}).get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  std::int32_t numbers[] = {1, 2, 3};
  std::vector<hvl_t> values(kRows, hvl_t{3, numbers});
  H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
}

// Two members, written as the numbers they are.
void add_records(const Handle& file, const char* name) {
  const Handle type = required(H5Tcreate(H5T_COMPOUND, 12));
  H5Tinsert(type.get(), "x", 0, H5T_IEEE_F64LE);
  H5Tinsert(type.get(), "i", 8, H5T_STD_I32LE);
  const Handle dataset =
      required(H5Dcreate2(file.get(), name, type.get(), space({kRows}).get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  const std::vector<char> values(kRows * 12, 7);
  H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
}

void add_attribute(hid_t object, const char* name) {
  constexpr char kValue[8] = "cat";
  const Handle type = required(H5Tcopy(H5T_C_S1));
  H5Tset_size(type.get(), sizeof(kValue));
  const Handle scalar = required(H5Screate(H5S_SCALAR));
  const Handle attribute = required(H5Acreate2(object, name, type.get(), scalar.get(), H5P_DEFAULT, H5P_DEFAULT));
  H5Awrite(attribute.get(), type.get(), kValue);
}

// A group per sample, as robotics and medical datasets have them.
void add_groups(const Handle& file, int count) {
  for (int i = 0; i < count; ++i) {
    const std::string name = "sample_" + std::to_string(i);
    const Handle group = required(H5Gcreate2(file.get(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    add_attribute(group.get(), "label");
    add_numbers(group, "x", H5T_STD_I32LE, {static_cast<hsize_t>(i + 1), 2}, properties());
    add_numbers(group, "y", H5T_STD_U8LE, {2}, properties());
  }
}

enum class Kind { numbers, chunks, big, texts, groups, wide };

void fill(const Handle& file, Kind kind) {
  switch (kind) {
    case Kind::numbers: {
      const Handle compact = properties();
      H5Pset_layout(compact.get(), H5D_COMPACT);
      add_numbers(file, "compact", H5T_STD_U16LE, {kRows, 3}, compact);
      add_numbers(file, "contiguous", H5T_IEEE_F32LE, {kRows}, properties());
      add_numbers(file, "filtered", H5T_STD_I32BE, {kRows, 3}, properties({4, 2}, true));
      break;
    }
    case Kind::chunks:
      add_numbers(file, "single", H5T_STD_I32LE, {kRows, 2}, properties({kRows, 2}, true));
      add_numbers(file, "array", H5T_STD_I32LE, {kRows, 2}, properties({2, 2}), {H5S_UNLIMITED, 2});
      add_numbers(file, "packed", H5T_STD_I16BE, {kRows, 2}, packed({2, 2}));
      add_numbers(file, "tree", H5T_STD_I16LE, {kRows, 2}, properties({2, 1}, true), {H5S_UNLIMITED, H5S_UNLIMITED});
      break;
    case Kind::big:
      add_numbers(file, "fixed", H5T_IEEE_F64LE, {100, 2}, properties({1, 1}));
      add_numbers(file, "array", H5T_STD_U8LE, {100, 2}, properties({1, 2}, true), {H5S_UNLIMITED, 2});
      break;
    case Kind::texts:
      add_texts(file, "text", H5T_VARIABLE);
      add_texts(file, "fixed", 16);
      add_lists(file, "lists");
      add_records(file, "records");
      break;
    case Kind::groups:
      add_groups(file, 4);
      break;
    case Kind::wide:
      add_groups(file, 20);
      break;
  }
}

}  // namespace

void add_hdf5(const Seeds& seeds) {
  for (const bool latest : {false, true}) {
    for (int kind = 0; kind <= static_cast<int>(Kind::wide); ++kind) {
      const fs::path path = seeds.scratch("seed.h5");
      fill(new_file(path, latest), static_cast<Kind>(kind));
      seeds.add_file("hdf5", (latest ? "new" : "old") + std::to_string(kind), path);
    }
  }
}

}  // namespace penstock::fuzz
