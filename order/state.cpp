#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include <base/printable.hpp>
#include <formats/io/hash.hpp>
#include <penstock/error.hpp>
#include <penstock/state.hpp>
#include <transforms/chain/renamed_words.hpp>

namespace penstock {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::uint64_t kVersion = 2;

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
    refuse(std::string("\"") + name + "\" is not a number from 0 to " + std::to_string(std::numeric_limits<T>::max()));
  return value.get<T>();
}

std::string text(const Json& json, const char* name) {
  const Json& value = member(json, name);
  if (!value.is_string()) refuse(std::string("\"") + name + "\" is not a string");
  return value.get<std::string>();
}

bool yes_or_no(const Json& json, const char* name) {
  const Json& value = member(json, name);
  if (!value.is_boolean()) refuse(std::string("\"") + name + "\" is not true or false");
  return value.get<bool>();
}

// Fingerprints are text: JSON readers that keep numbers as doubles would round them.
std::uint64_t fingerprint(const Json& json, const char* name) {
  const std::string digits = text(json, name);
  std::uint64_t value = 0;
  const auto end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, value, 16);
  if (digits.size() != 16 || result.ec != std::errc() || result.ptr != end)
    refuse(std::string("\"") + name + "\" is not a fingerprint of 16 hexadecimal digits");
  return value;
}

Last last_named(const std::string& given) {
  for (const Last last : {Last::keep, Last::drop, Last::pad})
    if (given == name(last)) return last;
  refuse("\"last\" is not keep, drop or pad");
}

constexpr std::array<std::pair<std::string_view, Draws::Kind>, 4> kDraws{{{"weighted", Draws::Kind::weighted},
                                                                          {"once", Draws::Kind::once},
                                                                          {"repeated", Draws::Kind::repeated},
                                                                          {"balanced", Draws::Kind::balanced}}};

SavedDraws draws_of(const Json& json) {
  if (!json.is_object()) refuse("\"draws\" is not an object");
  const std::string kind = text(json, "kind");
  const auto found = std::ranges::find(kDraws, kind, &std::pair<std::string_view, Draws::Kind>::first);
  if (found == kDraws.end()) refuse("\"kind\" of draws is not weighted, once, repeated or balanced");
  return {.kind = found->second, .numbers = fingerprint(json, "numbers")};
}

Json json_of(const SavedDraws& draws) {
  const auto found = std::ranges::find(kDraws, draws.kind, &std::pair<std::string_view, Draws::Kind>::second);
  return {{"kind", found->first}, {"numbers", hexadecimal(draws.numbers)}};
}

SavedOrder order_of(const Json& json) {
  SavedOrder order{.shuffle = yes_or_no(json, "shuffle"),
                   .shuffle_block = number<std::uint64_t>(json, "shuffle_block"),
                   .last = last_named(text(json, "last"))};
  if (json.contains("block_of_version_1")) order.block_of_version_1 = yes_or_no(json, "block_of_version_1");
  if (!member(json, "subset").is_null()) order.subset = fingerprint(json, "subset");
  if (json.contains("shuffle_window")) order.shuffle_window = number<std::uint64_t>(json, "shuffle_window");
  if (json.contains("draws")) order.draws = draws_of(json["draws"]);
  return order;
}

Sampling sampling_named(const std::string& given) {
  for (const Sampling sampling : {Sampling::shares, Sampling::random})
    if (given == name(sampling)) return sampling;
  refuse("\"sampling\" is not shares or random");
}

SavedMixture mixture_of(const Json& json) {
  if (!json.is_object()) refuse("\"mixture\" is not an object");
  SavedMixture mixture{.sampling = sampling_named(text(json, "sampling")),
                       .schedule = json.contains("schedule") ? fingerprint(json, "schedule") : 0,
                       .since = number<std::uint64_t>(json, "since")};
  const Json& sources = member(json, "sources");
  if (!sources.is_array() || sources.empty()) refuse("\"sources\" is not a list of sources");
  for (const Json& source : sources) {
    if (!source.is_object()) refuse("a source is not an object");
    mixture.sources.push_back({.name = text(source, "name"),
                               .dataset = fingerprint(source, "dataset"),
                               .samples = number<std::uint64_t>(source, "samples"),
                               .weight = number<std::uint64_t>(source, "weight"),
                               .before = number<std::uint64_t>(source, "before"),
                               .taken = number<std::uint64_t>(source, "taken")});
  }
  return mixture;
}

Json json_of(const SavedMixture& mixture) {
  Json sources = Json::array();
  for (const SavedSource& source : mixture.sources) {
    sources.push_back({{"name", source.name},
                       {"dataset", hexadecimal(source.dataset)},
                       {"samples", source.samples},
                       {"weight", source.weight},
                       {"before", source.before},
                       {"taken", source.taken}});
  }
  Json json = {{"sampling", name(mixture.sampling)}, {"since", mixture.since}, {"sources", std::move(sources)}};
  if (mixture.schedule != 0) json["schedule"] = hexadecimal(mixture.schedule);
  return json;
}

SavedBuckets buckets_of(const Json& json) {
  if (!json.is_object()) refuse("\"buckets\" is not an object");
  const Json& budget = member(json, "batch_budget");
  const bool sound = budget.is_null() || (budget.is_number() && budget.get<double>() > 0);
  if (!sound) refuse("\"batch_budget\" is not null or a number above 0");
  SavedBuckets buckets{.by = text(json, "by"),
                       .lengths = fingerprint(json, "lengths"),
                       .window = number<std::uint64_t>(json, "window"),
                       .limits = {.batch_size = number<std::uint32_t>(json, "batch_size"),
                                  .world = number<std::uint32_t>(json, "world"),
                                  .budget = budget.is_null() ? 0 : budget.get<double>()}};
  if (buckets.limits.batch_size == 0 || buckets.limits.world == 0)
    refuse("\"batch_size\" and \"world\" of \"buckets\" must be at least 1");
  return buckets;
}

Json json_of(const SavedBuckets& buckets) {
  const double budget = buckets.limits.budget;
  return {{"by", buckets.by},
          {"lengths", hexadecimal(buckets.lengths)},
          {"window", buckets.window},
          {"batch_size", buckets.limits.batch_size},
          {"world", buckets.limits.world},
          {"batch_budget", budget != 0 ? Json(budget) : Json(nullptr)}};
}

}  // namespace

std::string difference(const SavedMixture& saved, const SavedMixture& own) {
  const auto told = [](const std::string& theirs, const std::string& ours) {
    return "the state was saved with " + theirs + ", this mixture has " + ours;
  };
  const auto names = [](const SavedMixture& mixture) {
    std::string text = "the sources ";
    for (const SavedSource& source : mixture.sources)
      text += (&source == &mixture.sources.front() ? "" : ", ") + double_quoted(source.name);
    return text;
  };
  if (!std::ranges::equal(saved.sources, own.sources, {}, &SavedSource::name, &SavedSource::name))
    return told(names(saved), names(own));
  for (std::size_t s = 0; s < own.sources.size(); ++s) {
    const SavedSource &theirs = saved.sources[s], &ours = own.sources[s];
    const std::string of = " of source " + double_quoted(ours.name);
    const auto parts = [&](const SavedSource& source) {
      return "a weight of " + std::to_string(static_cast<double>(source.weight) / 0x1p32) + of;
    };
    if (theirs.dataset != ours.dataset || theirs.samples != ours.samples)
      return told("other samples" + of, std::to_string(ours.samples));
    if (theirs.weight != ours.weight) return told(parts(theirs), parts(ours));
  }
  const auto planned = [](const SavedMixture& mixture) {
    return mixture.schedule == 0 ? std::string("no schedule of weights")
                                 : "the schedule of weights " + hexadecimal(mixture.schedule);
  };
  if (saved.schedule != own.schedule) return told(planned(saved), planned(own));
  if (saved.sampling == own.sampling) return {};
  return told("sampling \"" + std::string(name(saved.sampling)) + "\"", "\"" + std::string(name(own.sampling)) + "\"");
}

std::string LoaderState::to_json() const {
  Json json = {{"penstock_state", order ? kVersion : 1},
               {"dataset", hexadecimal(dataset)},
               {"samples", samples},
               {"seed", seed},
               {"epoch", epoch},
               {"start", start},
               {"batch", batch},
               {"world", world},
               {"batch_size", batch_size},
               {"transforms", transforms}};
  if (order) {
    json["shuffle"] = order->shuffle;
    json["shuffle_block"] = order->shuffle_block;
    if (order->block_of_version_1) json["block_of_version_1"] = true;
    json["subset"] = order->subset ? Json(hexadecimal(*order->subset)) : Json(nullptr);
    json["last"] = name(order->last);
    if (order->shuffle_window != 0) json["shuffle_window"] = order->shuffle_window;
    if (order->draws) json["draws"] = json_of(*order->draws);
  }
  if (mixture) json["mixture"] = json_of(*mixture);
  if (buckets) json["buckets"] = json_of(*buckets);
  return json.dump();
}

LoaderState LoaderState::from_json(std::string_view text_in) {
  const Json json = Json::parse(text_in, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) refuse("not a JSON object");
  const auto version = number<std::uint64_t>(json, "penstock_state");
  if (version > kVersion) {
    refuse("version " + std::to_string(version) + " was written by a newer penstock; this one reads versions 1 and " +
           std::to_string(kVersion));
  }
  if (version == 0) refuse("there is no version 0");
  LoaderState state;
  state.dataset = fingerprint(json, "dataset");
  state.samples = number<std::uint64_t>(json, "samples");
  state.seed = number<std::uint64_t>(json, "seed");
  state.epoch = number<std::uint64_t>(json, "epoch");
  state.start = number<std::uint64_t>(json, "start");
  state.batch = number<std::uint64_t>(json, "batch");
  state.world = number<std::uint32_t>(json, "world");
  state.batch_size = number<std::uint32_t>(json, "batch_size");
  state.transforms = in_present_words(text(json, "transforms"));
  if (version > 1) state.order = order_of(json);
  if (version > 1 && json.contains("mixture")) state.mixture = mixture_of(json["mixture"]);
  if (version > 1 && json.contains("buckets")) state.buckets = buckets_of(json["buckets"]);
  if (state.world == 0 || state.batch_size == 0) refuse("\"world\" and \"batch_size\" must be at least 1");
  if (state.start > state.samples) refuse("\"start\" is larger than \"samples\"");
  return state;
}

}  // namespace penstock
