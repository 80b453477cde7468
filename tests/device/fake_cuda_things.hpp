// Defines errors, buffers and gates for tests of CudaDevice on CUDA's stand-in (fake_cuda.hpp).
#pragma once

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <string>

#include <doctest/doctest.h>

#include <device/cuda/cuda.hpp>
#include <device/device.hpp>
#include <device/device_memory.hpp>
#include <device/host/host_device.hpp>
#include <device/passes.hpp>
#include <penstock/error.hpp>

#include "fake_cuda.hpp"

namespace penstock::test::cuda {

/// The error that a call ends in; empty: none.
inline std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

inline bool says(const std::string& error, const std::string& text) {
  return error.find(text) != std::string::npos;
}

/// Work that stands still in a stream until it is let go.
class Gate {
 public:
  Gate(Device& device, StreamHandle stream) {
    const auto wait = [](void* opened) { static_cast<std::atomic<bool>*>(opened)->wait(false); };
    in_context(device,
               [&] { CHECK(cudaLaunchHostFunc(reinterpret_cast<cudaStream_t>(stream), wait, &open_) == cudaSuccess); });
  }
  void open() {
    open_ = true;
    open_.notify_all();
  }

 private:
  std::atomic<bool> open_{false};
};

/// Zeroes in pages of their own: two ranges that share one cannot both be pinned.
template <typename T>
class Pages {
 public:
  explicit Pages(std::size_t count) : count_(count), data_(new (kPage) T[count]()) {}
  T* data() const { return data_.get(); }
  std::size_t bytes() const { return count_ * sizeof(T); }
  std::span<T> values() const { return {data(), count_}; }

 private:
  static constexpr std::align_val_t kPage{4096};
  struct Delete {
    void operator()(T* data) const { ::operator delete[](data, kPage); }
  };
  std::size_t count_;
  std::unique_ptr<T[], Delete> data_;
};

/// A device that closed everything behind it.
struct Opened {
  explicit Opened(const char* name) {
    begin_anew();
    device = open_device(name);
  }
  std::shared_ptr<Device> device;
};

/// One image of four pixels, on the device and as it becomes there.
struct Picture {
  explicit Picture(std::shared_ptr<Device> on) : in(on, 12), out(on, 48) {
    for (std::size_t i = 0; i < 12; ++i) pixels[i] = static_cast<std::uint8_t>(i * 20);
    on->copy_in(in.data(), pixels, 12, kDefaultStream);
    pass.in_height = pass.height = 1, pass.in_width = pass.width = 4, pass.rows = 1;
    pass.in = pixels, pass.out = expected;
    run_on_host(pass);
    pass.in = reinterpret_cast<const std::uint8_t*>(in.data()), pass.out = out.data();
  }
  bool right(Device& device) const {
    float found[12] = {};
    device.copy_out(found, out.data(), 48, kDefaultStream);
    return std::memcmp(found, expected, sizeof found) == 0;
  }
  std::uint8_t pixels[12];
  float expected[12] = {};
  DeviceMemory in, out;
  ImagePass pass;
};

}  // namespace penstock::test::cuda
