// Decodes a cloud for the Python tests of clouds, which compare it with what other readers find.
//
//   cloud_oracle FILE                     all of it
//   cloud_oracle FILE NUMBER,NUMBER,...   the points of these numbers, which rise
//
// Prints "points origin-x origin-y origin-z attributes\n", a line "dtype name\n" for each attribute, then float32 x y z
// of all points and each attribute's values. Data faults: exit 1, and their message on stderr.
#include <charconv>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include <penstock/error.hpp>
#include <penstock/points.hpp>
#include <penstock/schema.hpp>
#include <transforms/clouds/codecs/cloud.hpp>

using namespace penstock;

namespace {

std::vector<std::uint32_t> numbers(const std::string& text) {
  std::vector<std::uint32_t> values;
  for (const char *at = text.data(), *end = at + text.size(); at < end; ++at) {
    at = std::from_chars(at, end, values.emplace_back(0)).ptr;
  }
  return values;
}

void print(const void* data, std::size_t bytes) {
  std::cout.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
}

void run(const std::vector<std::string>& arguments) {
  std::ifstream file(arguments.at(0), std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::span bytes(reinterpret_cast<const std::byte*>(text.data()), text.size());
  // The first bytes tell which codec, but of text the name.
  const std::string named = field_from_extension(arguments[0].substr(arguments[0].rfind('.') + 1)).codec;
  const FieldSchema schema{.name = "cloud", .codec = named == "xyz" ? named : ""};
  const auto* codec = dynamic_cast<const CloudCodec*>(&codec_for(schema, bytes));
  if (codec == nullptr) throw Error::unsupported("not a point cloud");
  const FieldBytes field{.schema = &schema, .bytes = bytes};
  DecodeOptions options;
  const CloudHeader stated = codec->cloud_decoder({})->open(field);
  for (const PointAttribute& attribute : stated.attributes) options.attributes.push_back(attribute.name);
  const auto decoder = codec->cloud_decoder(options);
  const CloudHeader header = decoder->open(field);
  const std::vector<std::uint32_t> chosen = numbers(arguments.size() > 1 ? arguments[1] : "");
  const PointChoice choice{.all = arguments.size() == 1, .numbers = chosen};
  const std::uint64_t count = choice.count(header.points);
  std::printf("%llu %.17g %.17g %.17g %zu\n", static_cast<unsigned long long>(count), header.origin[0],
              header.origin[1], header.origin[2], header.attributes.size());
  for (const PointAttribute& attribute : header.attributes) {
    std::printf("%s %s\n", std::string(name(attribute.dtype)).c_str(), attribute.name.c_str());
  }
  std::fflush(stdout);
  std::vector<float> xyz(3 * count);
  decoder->coordinates(field, choice, xyz.data());
  print(xyz.data(), xyz.size() * sizeof(float));
  for (std::size_t i = 0; i < header.attributes.size(); ++i) {
    std::vector<std::byte> values(count * size_of(header.attributes[i].dtype));
    decoder->attribute(field, choice, i, values.data());
    print(values.data(), values.size());
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return error.is_data_fault() ? 1 : 2;
  }
}
