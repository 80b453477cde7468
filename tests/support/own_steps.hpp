// Codecs and transforms as a user of the library would write them.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include <penstock/codec.hpp>
#include <penstock/error.hpp>
#include <penstock/transform.hpp>
#include <transforms/image/codecs/image_decoder.hpp>

namespace penstock::test {

/// Binary PGM, 8 bits. Source: netpbm, pgm(5).
inline std::string pgm(std::int64_t width, std::int64_t height, const std::vector<std::uint8_t>& gray) {
  return "P5\n" + std::to_string(width) + " " + std::to_string(height) + "\n255\n" +
         std::string(gray.begin(), gray.end());
}

class PgmDecoder final : public Decoder {
 public:
  Layout peek(const FieldBytes& field) override {
    const std::string text(reinterpret_cast<const char*>(field.bytes.data()),
                           std::min<std::size_t>(40, field.bytes.size()));
    int used = 0, width = 0, height = 0;
    if (std::sscanf(text.c_str(), "P5 %9d %9d 255%n", &width, &height, &used) != 2 || used == 0)
      throw Error::corrupt("no PGM");
    check_image_size(static_cast<std::uint64_t>(width), static_cast<std::uint64_t>(height), 1);
    layout_ = {.dtype = DType::u8, .shape = {height, width, 1}, .image = true};
    pixels_ = static_cast<std::size_t>(used) + 1;
    if (field.bytes.size() < pixels_ + element_count(layout_.shape))
      throw Error::corrupt("a PGM without all its pixels");
    return layout_;
  }

  void decode(const FieldBytes& field, const Region* region, TensorView out) override {
    const Region wanted = checked_region(layout_, region, out);
    const std::byte* pixels = field.bytes.data() + pixels_;
    for (std::int64_t y = 0; y < wanted.height; ++y) {
      std::memcpy(out.data + y * wanted.width, pixels + (wanted.y + y) * layout_.shape[1] + wanted.x,
                  static_cast<std::size_t>(wanted.width));
    }
  }

 private:
  Layout layout_;
  std::size_t pixels_ = 0;
};

class PgmCodec final : public Codec {
 public:
  std::string_view name() const override { return "pgm"; }
  unsigned version() const override { return 2; }
  bool recognises(std::span<const std::byte>) const override { return false; }
  std::unique_ptr<Decoder> decoder(const FieldSchema&, const DecodeOptions&) const override {
    return std::make_unique<PgmDecoder>();
  }
};

/// No image: bytes, each of them twice.
class EveryByteTwice final : public Codec {
  struct Doubling final : Decoder {
    Layout peek(const FieldBytes& field) override {
      return {.dtype = DType::u8, .shape = {static_cast<std::int64_t>(2 * field.bytes.size())}};
    }
    void decode(const FieldBytes& field, const Region*, TensorView out) override {
      for (std::size_t i = 0; i < 2 * field.bytes.size(); ++i) out.data[i] = field.bytes[i / 2];
    }
  };

 public:
  std::string_view name() const override { return "raw"; }  // the library's own may have the name
  bool recognises(std::span<const std::byte>) const override { return false; }
  std::unique_ptr<Decoder> decoder(const FieldSchema&, const DecodeOptions&) const override {
    return std::make_unique<Doubling>();
  }
};

/// uint8 (C, H, W) -> float32 (H, W)
class SumOfChannels final : public Transform {
 public:
  std::string_view name() const override { return "sum of channels"; }
  unsigned version() const override { return 3; }
  TensorType output(const TensorType& in) const override {
    if (in.dtype != DType::u8 || in.shape.size() != 3) throw Error::shape("wants uint8 (C, H, W)");
    return {DType::f32, {in.shape[1], in.shape[2]}};
  }
  void apply(const TensorView& in, const TensorView& out, Random&) const override {
    const std::uint64_t count = element_count(out.shape);
    auto* sums = reinterpret_cast<float*>(out.data);
    for (std::uint64_t i = 0; i < count; ++i) {
      sums[i] = 0;
      for (std::uint64_t c = 0; c < static_cast<std::uint64_t>(in.shape[0]); ++c)
        sums[i] += static_cast<float>(std::to_integer<int>(in.data[c * count + i]));
    }
  }
};

/// out = in + amount * uniform, float32
class AddNoise final : public Transform {
 public:
  explicit AddNoise(float amount) : amount_(amount) {}
  std::string_view name() const override { return "noise"; }
  TensorType output(const TensorType& in) const override { return in; }
  void apply(const TensorView& in, const TensorView& out, Random& random) const override {
    const auto* from = reinterpret_cast<const float*>(in.data);
    auto* to = reinterpret_cast<float*>(out.data);
    for (std::uint64_t i = 0; i < element_count(in.shape); ++i)
      to[i] = from[i] + amount_ * static_cast<float>(random.uniform());
  }

 private:
  const float amount_;
};

/// 255 - in, uint8
class Negative final : public Transform {
 public:
  std::string_view name() const override { return "negative"; }
  TensorType output(const TensorType& in) const override { return in; }
  void apply(const TensorView& in, const TensorView& out, Random&) const override {
    for (std::uint64_t i = 0; i < in.bytes(); ++i) out.data[i] = ~in.data[i];
  }
};

/// uint8 of any length -> int64 (256,)
class Histogram final : public Transform {
 public:
  std::string_view name() const override { return "histogram"; }
  TensorType output(const TensorType& in) const override {
    if (in.shape != Shape{-1}) throw Error::shape("wants bytes of any length");
    return {DType::i64, {256}};
  }
  void apply(const TensorView& in, const TensorView& out, Random&) const override {
    std::memset(out.data, 0, out.bytes());
    auto* counts = reinterpret_cast<std::int64_t*>(out.data);
    for (std::uint64_t i = 0; i < in.bytes(); ++i) ++counts[std::to_integer<std::size_t>(in.data[i])];
  }
};

/// 0: Error::corrupt, 1: std::runtime_error, 2: an int; 3: std::runtime_error, and already from output()
class Throws final : public Transform {
 public:
  explicit Throws(int what) : what_(what) {}
  std::string_view name() const override { return "throws"; }
  TensorType output(const TensorType& in) const override {
    if (what_ == 3) throw std::runtime_error("no such luck");
    return in;
  }
  void apply(const TensorView&, const TensorView&, Random&) const override {
    if (what_ == 0) throw Error::corrupt("no such luck");
    if (what_ == 1) throw std::runtime_error("no such luck");
    throw 42;
  }

 private:
  const int what_;
};

}  // namespace penstock::test
