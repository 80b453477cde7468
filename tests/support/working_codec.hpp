// A codec whose work a test says, and data for it.
#pragma once

#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <penstock/codec.hpp>

#include "support/loading.hpp"

namespace penstock::test {

/// Decodes a byte to itself, once `work` has been done with it.
class WorkingCodec final : public Codec {
 public:
  using Work = std::function<void(std::byte value, Parallel* parallel)>;
  explicit WorkingCodec(Work work) : work_(std::move(work)) {}
  std::string_view name() const override { return "working"; }
  bool recognises(std::span<const std::byte>) const override { return false; }
  std::unique_ptr<Decoder> decoder(const FieldSchema&, const DecodeOptions&) const override {
    return std::make_unique<Working>(work_);
  }

 private:
  struct Working final : Decoder {
    explicit Working(const Work& of_codec) : work(of_codec) {}
    Layout peek(const FieldBytes&) override { return {.dtype = DType::u8, .shape = {1}}; }
    void decode(const FieldBytes& field, const Region*, TensorView out) override {
      work(field.bytes[0], parallel);
      std::memcpy(out.data, field.bytes.data(), 1);
    }
    void share(Parallel* given) override { parallel = given; }
    const Work& work;
    Parallel* parallel = nullptr;
  };
  const Work work_;
};

inline void write_bytes(const std::filesystem::path& folder, unsigned count) {
  for (unsigned i = 0; i < count; ++i)
    write_file(folder / (number_key(i) + ".bin"), std::string(1, static_cast<char>(i)));
}

inline LoaderOptions working(unsigned workers, std::uint32_t batch_size, WorkingCodec::Work work) {
  LoaderOptions options;
  options.workers = workers;
  options.batch_size = batch_size;
  options.transforms = {{"bin", decode(std::make_shared<WorkingCodec>(std::move(work)))}};
  return options;
}

}  // namespace penstock::test
