#include <algorithm>
#include <array>
#include <cctype>
#include <limits>

#include <formats/encodings.hpp>
#include <penstock/error.hpp>
#include <penstock/schema.hpp>

namespace penstock {
namespace {

struct DTypeFacts {
  std::string_view name;
  std::size_t size;
};

constexpr std::array<DTypeFacts, 13> kDTypes{{{"uint8", 1},
                                              {"int8", 1},
                                              {"uint16", 2},
                                              {"int16", 2},
                                              {"uint32", 4},
                                              {"int32", 4},
                                              {"uint64", 8},
                                              {"int64", 8},
                                              {"float16", 2},
                                              {"bfloat16", 2},
                                              {"float32", 4},
                                              {"float64", 8},
                                              {"bool", 1}}};

}  // namespace

std::size_t size_of(DType dtype) {
  return kDTypes.at(static_cast<std::size_t>(dtype)).size;
}

std::string_view name(DType dtype) {
  return kDTypes.at(static_cast<std::size_t>(dtype)).name;
}

std::string_view name(Missing missing) {
  constexpr std::string_view kNames[]{"raise", "exclude", "empty"};
  return kNames[static_cast<std::size_t>(missing)];
}

std::optional<DType> dtype_named(std::string_view name) {
  for (std::size_t i = 0; i < kDTypes.size(); ++i) {
    if (kDTypes[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

std::uint64_t element_count(const Shape& shape) {
  std::uint64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0) throw Error::shape("negative dimension in " + to_string(shape));
    const auto size = static_cast<std::uint64_t>(extent);
    if (size != 0 && count > std::numeric_limits<std::uint64_t>::max() / size) {
      throw Error::shape("too many elements in " + to_string(shape));
    }
    count *= size;
  }
  return count;
}

std::string to_string(const Shape& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  if (shape.size() == 1) text += ",";
  return text + ")";
}

FieldSchema field_from_extension(std::string_view extension) {
  std::string lower(extension);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::size_t dot = lower.rfind('.');
  const std::string last = dot == std::string::npos ? lower : lower.substr(dot + 1);
  const Encoding* encoding = encoding_with_extension(last);
  if (encoding == nullptr || encoding->codec.empty()) return {.name = lower, .codec = ""};
  const std::string prefix = dot == std::string::npos ? "" : lower.substr(0, dot + 1);
  return {.name = prefix + std::string(encoding->extensions[0]), .codec = std::string(encoding->codec)};
}

}  // namespace penstock
