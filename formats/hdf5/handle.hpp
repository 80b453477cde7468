// Owns identifiers of libhdf5, and keeps libhdf5's error stack off stderr.
#pragma once

#include <string>
#include <utility>

#include <hdf5.h>

namespace penstock {

/// Owns one identifier of any kind: file, dataset, type, property list, ...
class Hdf5Handle {
 public:
  Hdf5Handle() = default;
  explicit Hdf5Handle(hid_t id) : id_(id) {}
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Hdf5Handle& operator=(Hdf5Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Hdf5Handle() { close(); }

  hid_t get() const { return id_; }
  bool valid() const { return id_ >= 0; }
  /// Returns false if libhdf5 could not write the rest of its caches.
  bool close() { return id_ < 0 || H5Idec_ref(std::exchange(id_, H5I_INVALID_HID)) >= 0; }

 private:
  hid_t id_ = H5I_INVALID_HID;
};

/// During the lifetime of an instance, libhdf5 does not print this thread's errors. The destructor restores the
/// program's settings.
class Hdf5Silence {
 public:
  Hdf5Silence() {
    H5Eget_auto2(H5E_DEFAULT, &print_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  Hdf5Silence(Hdf5Silence&&) = delete;
  ~Hdf5Silence() { H5Eset_auto2(H5E_DEFAULT, print_, data_); }

 private:
  H5E_auto2_t print_ = nullptr;
  void* data_ = nullptr;
};

/// Returns the innermost message of this thread's error stack. Empty if there is none.
inline std::string hdf5_message() {
  std::string message;
  auto first = [](unsigned, const H5E_error2_t* error, void* text) -> herr_t {
    auto& kept = *static_cast<std::string*>(text);
    if (kept.empty() && error->desc != nullptr) kept = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, first, &message);
  return message;
}

}  // namespace penstock
