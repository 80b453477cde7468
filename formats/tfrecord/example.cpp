#include <algorithm>
#include <cstring>

#include <formats/tfrecord/example.hpp>

namespace penstock {
namespace {

using Bytes = std::span<const std::byte>;

// The encodings of fields that an Example uses. Source: protobuf "Encoding", "Message Structure".
enum class Wire : std::uint8_t { varint = 0, length = 2, fixed32 = 5 };

/// Steps through the fields of a message. Every step returns false for invalid data.
class Message {
 public:
  explicit Message(Bytes bytes) : rest_(bytes) {}

  bool at_end() const { return rest_.empty(); }

  bool tag(std::uint64_t& number, Wire& wire) {
    std::uint64_t value = 0;
    if (!varint(value)) return false;
    number = value >> 3;
    wire = static_cast<Wire>(value & 7);
    return true;
  }

  bool varint(std::uint64_t& value) {
    constexpr std::size_t kLongest = 10;
    value = 0;
    for (std::size_t i = 0; i < kLongest && i < rest_.size(); ++i) {
      const auto byte = std::to_integer<std::uint64_t>(rest_[i]);
      value |= (byte & 0x7F) << (7 * i);
      if ((byte & 0x80) != 0) continue;
      rest_ = rest_.subspan(i + 1);
      return true;
    }
    return false;
  }

  bool bytes(Bytes& value) {
    std::uint64_t length = 0;
    if (!varint(length) || length > rest_.size()) return false;
    value = rest_.first(length);
    rest_ = rest_.subspan(length);
    return true;
  }

  bool fixed32(Bytes& value) {
    if (rest_.size() < 4) return false;
    value = rest_.first(4);
    rest_ = rest_.subspan(4);
    return true;
  }

 private:
  Bytes rest_;
};

// Calls `take` with every length-delimited field of a message. Returns false for any other field, or if `take` does.
template <typename Take>
bool each_field(Bytes bytes, const Take& take) {
  Message message(bytes);
  while (!message.at_end()) {
    std::uint64_t number = 0;
    Wire wire{};
    Bytes value;
    if (!message.tag(number, wire) || wire != Wire::length || !message.bytes(value) || !take(number, value)) {
      return false;
    }
  }
  return true;
}

// Calls `take` with every run of a list of numbers: a packed run, or a single value.
template <typename Take>
bool each_run(Bytes list, Wire single, const Take& take) {
  Message message(list);
  while (!message.at_end()) {
    std::uint64_t number = 0, value = 0;
    Wire wire{};
    Bytes run;
    if (!message.tag(number, wire) || number != 1) return false;
    if (wire == Wire::length) {
      if (!message.bytes(run)) return false;
      if (!take(run, true)) return false;
    } else if (wire == single && single == Wire::fixed32) {
      if (!message.fixed32(run) || !take(run, false)) return false;
    } else if (wire == single) {
      if (!message.varint(value)) return false;
      if (!take(Bytes(reinterpret_cast<const std::byte*>(&value), sizeof(value)), false)) return false;
    } else {
      return false;
    }
  }
  return true;
}

bool count_varints(Bytes run, std::uint64_t& count) {
  Message message(run);
  std::uint64_t value = 0;
  for (; !message.at_end(); ++count) {
    if (!message.varint(value)) return false;
  }
  return true;
}

bool parse_strings(ExampleFeature& feature) {
  return each_field(feature.list, [&](std::uint64_t number, Bytes value) {
    if (number != 1) return false;
    if (feature.count++ == 0) feature.first = value;
    feature.one_run = feature.count == 1;
    return true;
  });
}

bool parse_numbers(ExampleFeature& feature) {
  const bool floats = feature.kind == ExampleFeature::Kind::floats;
  std::size_t runs = 0;
  return each_run(feature.list, floats ? Wire::fixed32 : Wire::varint, [&](Bytes run, bool packed) {
    if (packed && floats && run.size() % sizeof(float) != 0) return false;
    if (packed && !floats && !count_varints(run, feature.count)) return false;
    if (!packed) ++feature.count;
    if (packed && floats) feature.count += run.size() / sizeof(float);
    if (runs == 0 && packed) feature.first = run;
    feature.one_run = ++runs == 1 && packed;
    return true;
  });
}

bool parse_feature(Bytes bytes, ExampleFeature& feature) {
  const bool read = each_field(bytes, [&](std::uint64_t number, Bytes list) {
    if (number < 1 || number > 3 || feature.kind != ExampleFeature::Kind::none) return false;
    feature.kind = static_cast<ExampleFeature::Kind>(number);
    feature.list = list;
    return true;
  });
  if (!read) return false;
  if (feature.kind == ExampleFeature::Kind::none) return true;
  return feature.kind == ExampleFeature::Kind::bytes ? parse_strings(feature) : parse_numbers(feature);
}

// Parses an entry of the map from names to features.
bool parse_entry(Bytes bytes, std::vector<ExampleFeature>& features) {
  ExampleFeature feature;
  Bytes value;
  const bool read = each_field(bytes, [&](std::uint64_t number, Bytes part) {
    if (number == 1) feature.name = {reinterpret_cast<const char*>(part.data()), part.size()};
    if (number == 2) value = part;
    return number == 1 || number == 2;
  });
  if (!read || feature.name.empty() || !parse_feature(value, feature)) return false;
  features.push_back(feature);
  return true;
}

}  // namespace

bool parse_example(Bytes record, std::vector<ExampleFeature>& features) {
  features.clear();
  const bool read = each_field(record, [&](std::uint64_t number, Bytes map) {
    return number == 1 && each_field(map, [&](std::uint64_t entry_number, Bytes entry) {
             return entry_number == 1 && parse_entry(entry, features);
           });
  });
  // Other messages, such as ExampleListWithContext, may parse as an Example, but their features have no values.
  return read && std::ranges::any_of(features, [](const ExampleFeature& feature) {
           return feature.kind != ExampleFeature::Kind::none;
         });
}

std::vector<std::string_view> sequence_features(Bytes record) {
  std::vector<std::string_view> names;
  const auto take_name = [&](std::uint64_t number, Bytes part) {
    if (number == 1) names.emplace_back(reinterpret_cast<const char*>(part.data()), part.size());
    return number == 1 || number == 2;
  };
  bool lists = false;
  const bool read = each_field(record, [&](std::uint64_t number, Bytes map) {
    lists = lists || number == 2;
    return (number == 1 || number == 2) && each_field(map, [&](std::uint64_t entry_number, Bytes entry) {
             return entry_number == 1 && each_field(entry, take_name);
           });
  });
  return read && lists ? names : std::vector<std::string_view>();
}

std::vector<float> float_values(const ExampleFeature& feature) {
  std::vector<float> values;
  each_run(feature.list, Wire::fixed32, [&](Bytes run, bool) {
    if (run.empty()) return true;  // an empty packed run, whose address may be null
    const std::size_t before = values.size();
    values.resize(before + run.size() / sizeof(float));
    std::memcpy(values.data() + before, run.data(), (values.size() - before) * sizeof(float));
    return true;
  });
  return values;
}

std::vector<std::int64_t> int_values(const ExampleFeature& feature) {
  std::vector<std::int64_t> values;
  each_run(feature.list, Wire::varint, [&](Bytes run, bool packed) {
    if (!packed) {
      std::int64_t value = 0;
      std::memcpy(&value, run.data(), sizeof(value));
      values.push_back(value);
      return true;
    }
    Message message(run);
    for (std::uint64_t value = 0; !message.at_end();) {
      if (!message.varint(value)) return false;
      values.push_back(static_cast<std::int64_t>(value));
    }
    return true;
  });
  return values;
}

std::vector<Bytes> string_values(const ExampleFeature& feature) {
  std::vector<Bytes> values;
  each_field(feature.list, [&](std::uint64_t, Bytes value) {
    values.push_back(value);
    return true;
  });
  return values;
}

}  // namespace penstock
