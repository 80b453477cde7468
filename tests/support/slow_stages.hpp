// Storage, a codec and a transform that are slow for some rows: those whose bytes begin with kSlow.
#pragma once

#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <base/queue.hpp>
#include <base/thread.hpp>
#include <penstock/codec.hpp>
#include <penstock/loader.hpp>
#include <penstock/storage.hpp>
#include <penstock/transform.hpp>
#include <storage/read/read_engine.hpp>

namespace penstock::test {

inline constexpr char kSlow = '!';

inline void delay_if_slow(const std::byte* bytes, std::chrono::milliseconds delay) {
  if (static_cast<char>(bytes[0]) == kSlow) std::this_thread::sleep_for(delay);
}

/// Bytes as they are.
class SlowCodec final : public Codec {
  struct Copying final : Decoder {
    explicit Copying(std::chrono::milliseconds slow) : delay(slow) {}
    Layout peek(const FieldBytes& field) override {
      return {.dtype = DType::u8, .shape = {static_cast<std::int64_t>(field.bytes.size())}};
    }
    void decode(const FieldBytes& field, const Region*, TensorView out) override {
      delay_if_slow(field.bytes.data(), delay);
      std::memcpy(out.data, field.bytes.data(), field.bytes.size());
    }
    const std::chrono::milliseconds delay;
  };

 public:
  explicit SlowCodec(std::chrono::milliseconds delay) : delay_(delay) {}
  std::string_view name() const override { return "slow"; }
  bool recognises(std::span<const std::byte>) const override { return false; }
  std::unique_ptr<Decoder> decoder(const FieldSchema&, const DecodeOptions&) const override {
    return std::make_unique<Copying>(delay_);
  }

 private:
  const std::chrono::milliseconds delay_;
};

/// uint8 of any length -> uint8 (1,)
class SlowTransform final : public Transform {
 public:
  explicit SlowTransform(std::chrono::milliseconds delay) : delay_(delay) {}
  std::string_view name() const override { return "slow"; }
  TensorType output(const TensorType& in) const override { return {in.dtype, {1}}; }
  void apply(const TensorView& in, const TensorView& out, Random&) const override {
    delay_if_slow(in.data, delay_);
    out.data[0] = in.data[0];
  }

 private:
  const std::chrono::milliseconds delay_;
};

/// Reads in the calling thread, or (`ahead`) one request after the other in a thread of its own.
class SlowEngine final : public ReadEngine {
 public:
  static Loader::EngineFactory factory(bool ahead, std::chrono::milliseconds delay) {
    return [=](const Dataset& dataset, EngineOptions options, OnRead on_read) {
      options.kind = EngineKind::in_worker;
      auto inner = choose_engine(dataset, options, [](std::uint64_t, const std::exception_ptr&) {});
      auto engine = std::make_unique<SlowEngine>(std::move(inner.engine), ahead, delay, std::move(on_read));
      return ChosenEngine{std::move(engine), "slow"};
    };
  }

  SlowEngine(std::unique_ptr<ReadEngine> inner, bool ahead, std::chrono::milliseconds delay, OnRead on_read)
      : inner_(std::move(inner)), ahead_(ahead), delay_(delay), on_read_(std::move(on_read)) {
    if (!ahead_) return;
    reader_ = Thread("slow-reader", [this](const std::stop_token& stop) {
      while (const auto request = requests_.pop(stop)) read(*request);
    });
  }
  ~SlowEngine() override { SlowEngine::stop(kStopGrace); }

  bool stop(std::chrono::milliseconds grace) override {
    requests_.close();
    if (ahead_) reader_.join();
    return inner_->stop(grace);
  }
  bool abandoned() const override { return inner_->abandoned(); }
  EngineKind kind() const override { return inner_->kind(); }
  bool synchronous() const override { return !ahead_; }
  EngineStats stats() const override { return inner_->stats(); }

  void submit(std::span<const ReadRequest> requests) override {
    for (const ReadRequest& request : requests) {
      if (ahead_)
        requests_.push(ReadRequest(request));
      else
        read(request);
    }
  }

 private:
  void read(const ReadRequest& request) {
    inner_->submit({&request, 1});
    delay_if_slow(request.destination, delay_);
    on_read_(request.tag, nullptr);
  }

  const std::unique_ptr<ReadEngine> inner_;
  const bool ahead_;
  const std::chrono::milliseconds delay_;
  const OnRead on_read_;
  Queue<ReadRequest> requests_;
  Thread reader_;
};

}  // namespace penstock::test
