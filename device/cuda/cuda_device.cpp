#include <cstdio>
#include <string>
#include <utility>

#include <cuda_runtime_api.h>

#include <device/cuda/cuda_entry.hpp>
#include <device/cuda/cufile.hpp>
#include <device/cuda/kernels.hpp>
#include <device/device.hpp>
#include <device/file_reads.hpp>
#include <device/passes.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

std::string version_text(int version) {  // 13000 is 13.0
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string describe(cudaError_t error) {
  return std::string(cudaGetErrorString(error)) + " (" + cudaGetErrorName(error) + ")";
}

std::string description_of(int number) {
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, number) != cudaSuccess) {
    cudaGetLastError();  // see require()
    return "cuda:" + std::to_string(number);
  }
  char text[400];
  std::snprintf(text, sizeof text, "%s, %.1f GiB, compute capability %d.%d", properties.name,
                static_cast<double>(properties.totalGlobalMem) / (1U << 30), properties.major, properties.minor);
  return text;
}

cudaStream_t native(StreamHandle stream) {
  return reinterpret_cast<cudaStream_t>(stream);
}

// The driver calls that set the context of a thread. The runtime's cudaSetDevice() would create a context on the device
// that it restores: on device 0, in every thread that had none.
struct ContextCalls {
  using Context = struct CUctx_st*;
  using Get = int (*)(Context*);
  using Set = int (*)(Context);
  Get get = nullptr;
  Set set = nullptr;
};

template <typename Call>
Call driver_call(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  constexpr unsigned kSince = 4000;  // CUDA 4.0 has both
  const cudaError_t error = cudaGetDriverEntryPointByVersion(name, &found, kSince, cudaEnableDefault, &result);
  cudaGetLastError();
  if (error != cudaSuccess)
    throw Error::unsupported(std::string("the CUDA driver has no function ") + name + ": " + describe(error));
  if (found == nullptr) throw Error::unsupported(std::string("the CUDA driver has no function ") + name);
  return reinterpret_cast<Call>(found);
}

// Sets the context of a thread during a call, and restores the previous one.
class Current {
 public:
  explicit Current(const ContextCalls& calls) : calls_(calls) { calls_.get(&before_); }
  Current(const ContextCalls& calls, ContextCalls::Context wanted, int device) : Current(calls) {
    if (before_ == wanted) return;
    const int error = calls_.set(wanted);
    if (error == 0) return;
    throw Error::resource("cuda:" + std::to_string(device) + ": cuCtxSetCurrent: error " + std::to_string(error));
  }
  ~Current() {
    ContextCalls::Context now = nullptr;
    calls_.get(&now);
    if (now != before_) calls_.set(before_);
  }
  Current(Current&&) = delete;

 private:
  const ContextCalls& calls_;
  ContextCalls::Context before_ = nullptr;
};

class CudaDevice;

class CudaStream final : public Stream {
 public:
  explicit CudaStream(const CudaDevice& device);
  ~CudaStream() override;
  StreamHandle handle() const override { return reinterpret_cast<StreamHandle>(stream_); }

 private:
  const CudaDevice& device_;
  cudaStream_t stream_ = nullptr;
};

class CudaEvent final : public Event {
 public:
  explicit CudaEvent(const CudaDevice& device);
  ~CudaEvent() override;
  void record(StreamHandle stream) override;
  bool done() const override;
  void wait() const override;
  cudaEvent_t native() const { return event_; }

 private:
  const CudaDevice& device_;
  cudaEvent_t event_ = nullptr;
};

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int number)
      : number_(number),
        description_(description_of(number)),
        calls_{driver_call<ContextCalls::Get>("cuCtxGetCurrent"), driver_call<ContextCalls::Set>("cuCtxSetCurrent")} {
    const Current before(calls_);
    require(cudaSetDevice(number_), "cudaSetDevice");
    require(cudaFree(nullptr), "begin");  // before CUDA 12, cudaSetDevice did not create a context
    calls_.get(&context_);
  }

  DeviceId id() const override { return {DeviceId::Kind::cuda, number_}; }
  std::string description() const override { return description_; }

  void pin(void* data, std::uint64_t bytes) override {
    const Current here = current();
    require(cudaHostRegister(data, bytes, cudaHostRegisterPortable), "cudaHostRegister");
  }
  void unpin(void* data) noexcept override {
    end([&] { return cudaHostUnregister(data); });
  }
  void* allocate(std::uint64_t bytes) override {
    const Current here = current();
    void* data = nullptr;
    // made first: if this throws, no memory is lost
    const std::string call = "cudaMalloc of " + std::to_string(bytes) + " bytes";
    require(cudaMalloc(&data, bytes), call);
    return data;
  }
  void deallocate(void* data) noexcept override {
    end([&] { return cudaFree(data); });
  }

  std::unique_ptr<Stream> make_stream() override { return std::make_unique<CudaStream>(*this); }
  std::unique_ptr<Event> make_event() override { return std::make_unique<CudaEvent>(*this); }

  void wait(StreamHandle stream, const Event& event) override {
    const Current here = current();
    require(cudaStreamWaitEvent(native(stream), static_cast<const CudaEvent&>(event).native(), 0),
            "cudaStreamWaitEvent");
  }
  void drain(StreamHandle stream) noexcept override {
    end([&] { return cudaStreamSynchronize(native(stream)); });
  }
  std::chrono::nanoseconds between(const Event& from, const Event& to) const override {
    const Current here = current();
    float milliseconds = 0;
    require(cudaEventElapsedTime(&milliseconds, static_cast<const CudaEvent&>(from).native(),
                                 static_cast<const CudaEvent&>(to).native()),
            "cudaEventElapsedTime");
    return std::chrono::nanoseconds(static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6));
  }

  void copy_in(void* to, const void* from, std::uint64_t bytes, StreamHandle stream) override {
    const Current here = current();
    require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, native(stream)), "cudaMemcpyAsync to the device");
  }
  void copy_out(void* to, const void* from, std::uint64_t bytes, StreamHandle stream) override {
    const Current here = current();
    require(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, native(stream)), "cudaMemcpyAsync to the host");
  }
  std::shared_ptr<FileReads> file_reads() override {
    return open_cufile([this](const std::function<void()>& work) {
      const Current here = current();
      work();
    });
  }
  void run(const ImagePass& pass, StreamHandle stream) override { launch_checked(pass, stream); }
  void run(const PointPass& pass, StreamHandle stream) override { launch_checked(pass, stream); }
  void run(const ResamplePass& pass, StreamHandle stream) override { launch_checked(pass, stream); }

  Current current() const { return Current(calls_, context_, number_); }
  void require(cudaError_t error, const std::string& call) const {
    if (error == cudaSuccess) return;
    cudaGetLastError();  // otherwise a later launch in this thread would report it again
    throw Error::resource("cuda:" + std::to_string(number_) + ": " + call + ": " + describe(error));
  }
  /// For calls whose failure does not matter: the device has failed, or the process is ending.
  template <typename Call>
  void end(Call call) const noexcept {
    try {
      const Current here = current();
      if (call() != cudaSuccess) cudaGetLastError();
    } catch (const Error&) {
    }
  }

 private:
  template <typename Pass>
  void launch_checked(const Pass& pass, StreamHandle stream) {
    check(pass);
    const Current here = current();
    launch(pass, native(stream));
    require(cudaGetLastError(), "kernel");
  }

  const int number_;
  const std::string description_;
  const ContextCalls calls_;
  ContextCalls::Context context_ = nullptr;
};

CudaStream::CudaStream(const CudaDevice& device) : device_(device) {
  const Current here = device_.current();
  int lowest = 0, highest = 0;
  device_.require(cudaDeviceGetStreamPriorityRange(&lowest, &highest), "cudaDeviceGetStreamPriorityRange");
  device_.require(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, highest),
                  "cudaStreamCreateWithPriority");
}

CudaStream::~CudaStream() {
  device_.end([this] { return cudaStreamDestroy(stream_); });
}

CudaEvent::CudaEvent(const CudaDevice& device) : device_(device) {
  const Current here = device_.current();
  device_.require(cudaEventCreateWithFlags(&event_, cudaEventBlockingSync), "cudaEventCreateWithFlags");
}

CudaEvent::~CudaEvent() {
  device_.end([this] { return cudaEventDestroy(event_); });
}

void CudaEvent::record(StreamHandle stream) {
  const Current here = device_.current();
  device_.require(cudaEventRecord(event_, penstock::native(stream)), "cudaEventRecord");
}

bool CudaEvent::done() const {
  const Current here = device_.current();
  const cudaError_t answer = cudaEventQuery(event_);
  if (answer == cudaErrorNotReady) {
    cudaGetLastError();
    return false;
  }
  device_.require(answer, "cudaEventQuery");
  return true;
}

void CudaEvent::wait() const {
  const Current here = device_.current();
  device_.require(cudaEventSynchronize(event_), "cudaEventSynchronize");
}

CudaFacts facts() {
  CudaFacts facts{.toolkit = version_text(CUDART_VERSION), .driver = {}, .problem = {}, .devices = {}};
  int driver = 0;
  if (cudaDriverGetVersion(&driver) == cudaSuccess && driver != 0) facts.driver = version_text(driver);
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  cudaGetLastError();
  if (error != cudaSuccess) {
    facts.problem =
        facts.driver.empty() ? "no NVIDIA driver" : "driver for CUDA " + facts.driver + ": " + describe(error);
    return facts;
  }
  for (int number = 0; number < count; ++number) facts.devices.push_back(description_of(number));
  if (count == 0) facts.problem = "no NVIDIA GPU";
  return facts;
}

std::shared_ptr<Device> open(int number) {
  const CudaFacts found = facts();
  const std::string wanted = "no device cuda:" + std::to_string(number) + ": ";
  if (!found.problem.empty()) throw Error::unsupported(wanted + found.problem);
  if (static_cast<std::size_t>(number) >= found.devices.size()) {
    throw Error::unsupported(wanted + "the number of GPUs is " + std::to_string(found.devices.size()));
  }
  return std::make_shared<CudaDevice>(number);
}

bool run_in_context(Device& device, const std::function<void()>& work) {
  const auto* cuda = dynamic_cast<const CudaDevice*>(&device);
  if (cuda == nullptr) return false;
  const Current here = cuda->current();
  work();
  return true;
}

}  // namespace
}  // namespace penstock

extern "C" const penstock::CudaEntry penstock_cuda_entry{penstock::facts, penstock::open, penstock::run_in_context};
