#include <mutex>
#include <utility>
#include <vector>

#include <device/cuda/cuda.hpp>
#include <device/cuda/nvjpeg.hpp>
#include <device/cuda/nvjpeg_calls.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

using nvjpeg::Backend;
using nvjpeg::Status;

constexpr int kThreads = 1;  // host threads per batch: other batches decode in parallel

const unsigned char* bytes_of(std::span<const std::byte> jpeg) {
  return reinterpret_cast<const unsigned char*>(jpeg.data());
}

const nvjpeg::Calls& calls() {
  const nvjpeg::Library& library = nvjpeg::library();
  if (!library.facts.problem.empty()) throw Error::unsupported("JPEG on the GPU: " + library.facts.problem);
  return library.calls;
}

void require(Status status, const char* call) {
  if (status == Status::success) return;
  const std::string cause = std::string("nvJPEG: ") + call + ": status " + std::to_string(static_cast<int>(status));
  if (status == Status::bad_jpeg) throw Error::corrupt(cause);
  if (status == Status::not_supported) throw Error::unsupported(cause);
  throw Error::resource(cause);
}

}  // namespace

LibraryFacts nvjpeg_facts() {
  return nvjpeg::library().facts;
}

struct NvJpegDecoder::State {
  State(std::shared_ptr<Device> of, JpegEngine wanted)
      : call(calls()), device(std::move(of)), reached(device->make_event()) {
    in_context(*device, [&] { begin(wanted); });
  }
  ~State() {
    in_context(*device, [this] { end(); });
  }
  State(State&&) = delete;

  void begin(JpegEngine wanted) {
    try {
      if (wanted != JpegEngine::cuda && create(Backend::hardware)) {
        engine = JpegEngine::hardware;
      } else if (wanted == JpegEngine::hardware) {
        throw Error::unsupported(to_string(device->id()) + " has no hardware engine for JPEGs");
      } else if (!create(Backend::cuda)) {
        throw Error::unsupported("nvJPEG cannot decode on " + to_string(device->id()));
      }
      require(call.create_state(handle, &state), "nvjpegJpegStateCreate");
    } catch (...) {
      end();
      throw;
    }
  }
  bool create(Backend backend) {
    const Status status = call.create(backend, nullptr, nullptr, 0, &handle);
    if (status == Status::arch_mismatch || status == Status::no_implementation || status == Status::not_supported) {
      handle = nullptr;
      return false;
    }
    require(status, "nvjpegCreateEx");
    return true;
  }
  void end() noexcept {
    for (const nvjpeg::JpegStream header : std::exchange(headers, {})) call.destroy_stream(header);
    if (state != nullptr) call.destroy_state(std::exchange(state, nullptr));
    if (handle != nullptr) call.destroy(std::exchange(handle, nullptr));
  }

  std::optional<JpegSize> size(std::span<const std::byte> jpeg) {
    const nvjpeg::JpegStream header = take_header();
    unsigned width = 0, height = 0, components = 0;
    int not_supported = 1;
    const bool told = call.parse_header(handle, bytes_of(jpeg), jpeg.size(), header) == Status::success &&
                      call.frame_size(header, &width, &height) == Status::success &&
                      call.components(header, &components) == Status::success &&
                      call.supported(handle, header, &not_supported) == Status::success;
    {
      const std::scoped_lock lock(mutex);
      headers.push_back(header);
    }
    if (!told || not_supported != 0 || (components != 1 && components != 3) || width == 0 || height == 0) return {};
    return JpegSize{static_cast<std::int32_t>(width), static_cast<std::int32_t>(height)};
  }
  nvjpeg::JpegStream take_header() {
    {
      const std::scoped_lock lock(mutex);
      if (!headers.empty()) {
        const nvjpeg::JpegStream header = headers.back();
        headers.pop_back();
        return header;
      }
    }
    nvjpeg::JpegStream header = nullptr;
    require(call.create_stream(handle, &header), "nvjpegJpegStreamCreate");
    return header;
  }

  void decode(std::span<const JpegOnDevice> images, StreamHandle stream) {
    std::vector<const unsigned char*> data;
    std::vector<std::size_t> lengths;
    std::vector<nvjpeg::Image> targets;
    for (const JpegOnDevice& image : images) {
      const auto pixels = size(image.jpeg);
      if (!pixels || image.pixels == nullptr || image.pitch < 3 * static_cast<std::size_t>(pixels->width)) {
        throw Error::invalid_argument("nvJPEG does not support the image, or the output is too small for its rows");
      }
      data.push_back(bytes_of(image.jpeg));
      lengths.push_back(image.jpeg.size());
      targets.push_back({{static_cast<unsigned char*>(image.pixels)}, {image.pitch}});
    }
    reached->wait();  // the state's buffers are in use until the previous batch is done
    if (std::exchange(batch, 0) != images.size()) {
      require(call.begin_batch(handle, state, static_cast<int>(images.size()), kThreads, nvjpeg::kInterleavedRgb),
              "nvjpegDecodeBatchedInitialize");
    }
    if (engine == JpegEngine::hardware) {
      reached->record(stream);
      reached->wait();
    }
    require(call.decode_batch(handle, state, data.data(), lengths.data(), targets.data(),
                              reinterpret_cast<nvjpeg::CudaStream>(stream)),
            "nvjpegDecodeBatched");
    reached->record(stream);
    batch = images.size();
  }

  const nvjpeg::Calls& call;
  const std::shared_ptr<Device> device;
  const std::unique_ptr<Event> reached;  ///< after the last batch; for the hardware engine also in the stream before
                                         ///< decoding begins
  JpegEngine engine = JpegEngine::cuda;
  nvjpeg::Handle handle = nullptr;
  nvjpeg::JpegState state = nullptr;
  std::size_t batch = 0;                    ///< batch size that `state` is set up for; 0: unknown, after a failure
  std::mutex mutex;                         ///< guards the members below
  std::vector<nvjpeg::JpegStream> headers;  ///< unused ones: each parsing thread takes one
};

NvJpegDecoder::NvJpegDecoder(std::shared_ptr<Device> device, JpegEngine engine)
    : state_(std::make_unique<State>(std::move(device), engine)) {}

NvJpegDecoder::~NvJpegDecoder() = default;

JpegEngine NvJpegDecoder::engine() const {
  return state_->engine;
}

std::string NvJpegDecoder::description() const {
  const bool hardware = state_->engine == JpegEngine::hardware;
  return "nvJPEG " + nvjpeg_facts().version + (hardware ? ", hardware engine" : ", CUDA");
}

std::optional<JpegSize> NvJpegDecoder::size(std::span<const std::byte> jpeg) {
  std::optional<JpegSize> found;
  in_context(*state_->device, [&] { found = state_->size(jpeg); });
  return found;
}

void NvJpegDecoder::decode(std::span<const JpegOnDevice> images, StreamHandle stream) {
  if (images.empty()) return;
  in_context(*state_->device, [&] { state_->decode(images, stream); });
}

}  // namespace penstock
