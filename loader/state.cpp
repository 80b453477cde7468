#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

#include <penstock/formats/error.hpp>
#include <penstock/loader/state.hpp>

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::uint64_t kVersion = 1;

[[noreturn]] void refuse(const std::string& cause) {
  throw Error::invalid_argument("loader state: " + cause);
}

const Json& member(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end()) refuse(std::string("\"") + name + "\" is missing");
  return *found;
}

template <typename T>
T number(const Json& json, const char* name) {
  const Json& value = member(json, name);
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > std::numeric_limits<T>::max())
    refuse(std::string("\"") + name + "\" is no number from 0 to " + std::to_string(std::numeric_limits<T>::max()));
  return value.get<T>();
}

std::string text(const Json& json, const char* name) {
  const Json& value = member(json, name);
  if (!value.is_string()) refuse(std::string("\"") + name + "\" is no text");
  return value.get<std::string>();
}

// The fingerprint is text: JSON readers that keep numbers as doubles would round it.
std::string to_hex(std::uint64_t value) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string digits(16, '0');
  for (std::size_t i = 16; i-- > 0; value >>= 4) digits[i] = kDigits[value & 15];
  return digits;
}

std::uint64_t from_hex(const std::string& digits) {
  std::uint64_t value = 0;
  const auto end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, value, 16);
  if (digits.size() != 16 || result.ec != std::errc() || result.ptr != end)
    refuse("\"dataset\" is no fingerprint of 16 hexadecimal digits");
  return value;
}

}  // namespace

std::string LoaderState::to_json() const {
  const Json json = {{"penstock_state", kVersion},
                     {"dataset", to_hex(dataset)},
                     {"samples", samples},
                     {"seed", seed},
                     {"epoch", epoch},
                     {"start", start},
                     {"batch", batch},
                     {"world", world},
                     {"batch_size", batch_size},
                     {"transforms", transforms}};
  return json.dump();
}

LoaderState LoaderState::from_json(std::string_view text_in) {
  const Json json = Json::parse(text_in, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) refuse("not a JSON object");
  const auto version = number<std::uint64_t>(json, "penstock_state");
  if (version != kVersion) refuse("version " + std::to_string(version) + " is not read here, only version 1");
  LoaderState state;
  state.dataset = from_hex(text(json, "dataset"));
  state.samples = number<std::uint64_t>(json, "samples");
  state.seed = number<std::uint64_t>(json, "seed");
  state.epoch = number<std::uint64_t>(json, "epoch");
  state.start = number<std::uint64_t>(json, "start");
  state.batch = number<std::uint64_t>(json, "batch");
  state.world = number<std::uint32_t>(json, "world");
  state.batch_size = number<std::uint32_t>(json, "batch_size");
  state.transforms = text(json, "transforms");
  if (state.world == 0 || state.batch_size == 0) refuse("\"world\" and \"batch_size\" must be at least 1");
  if (state.start > state.samples) refuse("\"start\" lies behind \"samples\"");
  return state;
}

}  // namespace penstock
