// Makes samples for tests that pack and read back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <formats/index/index.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/writer.hpp>
#include <penstock/schema.hpp>

namespace penstock::test {

struct MadeSample {
  std::string key;
  std::map<std::string, std::string> fields;  // by name
};

inline std::string random_bytes(std::mt19937& random, std::size_t length) {
  std::string bytes(length, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

/// Fields "cls", "jpg" and, in every third sample, "seg.png"; lengths around the limits of pages and blocks.
inline std::vector<MadeSample> random_samples(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  const std::vector<std::size_t> lengths{0, 1, 511, 512, 513, 2000, 2040, 4079, 4080, 4081, 9000, 70'000};
  std::vector<MadeSample> samples;
  for (std::size_t i = 0; i < count; ++i) {
    std::string number = std::to_string(i);
    MadeSample sample{"class " + std::to_string(i % 3) + "/" + number + (i % 5 == 0 ? "-b" : ""), {}};
    sample.fields["cls"] = std::to_string(i % 3);
    sample.fields["jpg"] = random_bytes(random, lengths[i % lengths.size()]);
    if (i % 3 == 0) sample.fields["seg.png"] = random_bytes(random, lengths[(i / 3) % lengths.size()]);
    samples.push_back(std::move(sample));
  }
  std::sort(samples.begin(), samples.end(), [](const MadeSample& a, const MadeSample& b) { return a.key < b.key; });
  return samples;
}

/// Adds all samples in order, each one's fields backwards, with a header of three bytes for every "jpg".
inline Index write_samples(ShardWriter& writer, const std::vector<FieldSchema>& fields,
                           const std::vector<MadeSample>& samples) {
  for (const MadeSample& sample : samples) {
    std::vector<FieldValue> values;
    for (std::uint32_t field = static_cast<std::uint32_t>(fields.size()); field-- > 0;) {
      const auto found = sample.fields.find(fields[field].name);
      if (found == sample.fields.end()) continue;
      const auto bytes = std::as_bytes(std::span(found->second));
      static constexpr std::array kHeader{std::byte{1}, std::byte{2}, std::byte{3}};
      const bool headed = fields[field].name == "jpg";
      values.push_back(
          {field, bytes, crc32c(bytes), headed ? std::span<const std::byte>(kHeader) : std::span<const std::byte>()});
    }
    writer.add(sample.key, values);
  }
  return writer.finish();
}

/// Random samples' fields, as ShardOptions wants them.
inline std::vector<FieldSchema> random_sample_fields() {
  return {{.name = "jpg", .codec = "jpeg"}, {.name = "cls", .codec = "cls"}, {.name = "seg.png", .codec = "png"}};
}

}  // namespace penstock::test
