// An HDF5 file opened read-only: the door to libhdf5 for everything that reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <penstock/formats/error.hpp>
#include <penstock/formats/hdf5_handle.hpp>

namespace penstock {

/// Where the superblock begins: 0, 512, 1024, 2048, ... (a user block lies before it); nothing in other files.
/// Throws Error: io.
std::optional<std::uint64_t> hdf5_signature(const std::filesystem::path& file);

/// Hash of the first and last 64 KiB and of the size: the superblock, and metadata that writers touch.
std::uint64_t hdf5_stamp(const std::filesystem::path& file);

/// Opened through a driver of our own: plain pread, no lock is taken (network file systems refuse them), and the place
/// of a chunk can be learned without reading it. For one thread at a time; libhdf5 serialises all calls anyway.
class Hdf5File {
 public:
  /// Throws Error: io; corrupt; unsupported, when another process has the file open for writing, or left it so.
  explicit Hdf5File(const std::filesystem::path& path);
  ~Hdf5File();

  hid_t id() const { return file_.get(); }
  std::uint64_t size() const;

  struct Raw {
    std::uint64_t offset;  ///< from the start of the file
    std::uint64_t length;
  };
  /// What of the dataset's own data libhdf5 reads during `action`; it is told zero or more bytes that mean nothing.
  /// libhdf5 1.10 has no call that lists chunks in less than quadratic time, whereas looking one up by its coordinates
  /// is logarithmic, whatever kind of chunk index the file has.
  std::optional<Raw> read_by(const std::function<void()>& action) const;

  /// The error that a failed call stands for: io, when the driver's pread failed; unsupported, when libhdf5 names a
  /// version that it does not know; else corrupt, with libhdf5's message.
  Error failure(std::string what) const;
  /// `id` as an owned handle; throws failure(what) when negative.
  Hdf5Handle handle(hid_t id, const std::string& what) const;
  /// Throws failure(what) when `status` is negative.
  void check(int status, const std::string& what) const;

 private:
  struct Driver;  // of H5FD_t, made and freed by libhdf5's calls
  static const void* driver_class();

  std::filesystem::path path_;
  Hdf5Silence silence_;
  Hdf5Handle driver_id_;
  Hdf5Handle file_;
  Driver* driver_ = nullptr;  // lives as long as file_
};

}  // namespace penstock
