#include <cmath>
#include <nlohmann/json.hpp>

#include <overview/overview.hpp>

namespace penstock::overview {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kSecond = 1e9;  // nanoseconds

Json or_null(const auto& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json json_of(const CategoryTimes& times) {
  Json out;
  for (std::size_t i = 0; i < kCategories; ++i) {
    const auto category = static_cast<Category>(i);
    out[std::string(name(category))] = times[category] / kSecond;
  }
  return out;
}

Json json_of(const RankOverview& rank) {
  Json out;
  out["trace"] = rank.path;
  out["rank"] = or_null(rank.rank);
  out["events"] = rank.events;
  out["notes"] = rank.notes;
  out["step"] = {{"mean", rank.step() / kSecond},
                 {"standard_deviation", rank.steps.standard_deviation() / kSecond},
                 {"categories", json_of(rank.mean)},
                 {"left_out", rank.steps.left_out}};
  out["steps"] = Json::array();
  for (const Step& step : rank.steps.steps) {
    out["steps"].push_back({{"name", step.name},
                            {"time", static_cast<double>(step.range.length()) / kSecond},
                            {"categories", json_of(step.times)}});
  }
  out["devices"] = Json::array();
  for (std::size_t i = 0; i < rank.uses.size(); ++i) {
    const DeviceUse& use = rank.uses[i];
    out["devices"].push_back({{"device", use.device},
                              {"name", rank.devices[i].name},
                              {"busy", use.busy},
                              {"sm_efficiency", or_null(use.sm_efficiency)},
                              {"occupancy", or_null(use.occupancy)},
                              {"tensor_cores", or_null(use.tensor_cores)}});
  }
  out["streams"] = Json::array();
  for (const StreamIdle& idle : rank.idle) {
    out["streams"].push_back({{"device", idle.device},
                              {"stream", idle.stream},
                              {"events", idle.events},
                              {"idle",
                               {{"host", idle.host / kSecond},
                                {"host_in_dataloader", idle.host_in_loader / kSecond},
                                {"kernel", idle.kernel / kSecond},
                                {"other", idle.other / kSecond}}},
                              {"queue", {{"mean", idle.queue_mean}, {"max", idle.queue_max}}}});
  }
  out["dataloader"] = {{"calls", rank.loader.calls},
                       {"time_per_step", rank.loader.time / kSecond},
                       {"workers", rank.loader.workers},
                       {"replaced", rank.loader.replaced}};
  out["copies"] = {{"time_per_step", rank.copies.time / kSecond},
                   {"exposed_per_step", rank.mean[Category::memcpy] / kSecond},
                   {"from_pageable_per_step", rank.copies.from_pageable / kSecond}};
  out["communication"] = {{"time_per_step", rank.communication / kSecond},
                          {"exposed_per_step", rank.mean[Category::communication] / kSecond}};
  out["synchronisations"] = {{"calls_per_step", rank.synchronisations.calls},
                             {"time_per_step", rank.synchronisations.time / kSecond}};
  out["operators"] = Json::array();
  for (const OperatorTimes& op : rank.operators) {
    out["operators"].push_back({{"name", op.name},
                                {"calls", op.calls},
                                {"host", op.host / kSecond},
                                {"host_self", op.host_self / kSecond},
                                {"device_self", op.device_self / kSecond}});
  }
  out["kernels"] = Json::array();
  for (const KernelTimes& kernel : rank.kernels) {
    out["kernels"].push_back({{"name", kernel.name},
                              {"calls", kernel.calls},
                              {"time", kernel.time / kSecond},
                              {"tensor_cores", kernel.tensor_cores}});
  }
  out["memory"] = Json::array();
  for (const MemoryPeak& peak : rank.memory) {
    out["memory"].push_back({{"device", peak.device < 0 ? Json("host") : Json(peak.device)},
                             {"allocated", peak.allocated},
                             {"reserved", peak.reserved}});
  }
  return out;
}

Json json_of(const Change& change) {
  return {{"name", change.name},
          {"unit", change.unit},
          {"before", or_null(change.before)},
          {"after", or_null(change.after)},
          {"change", or_null(change.relative())},
          {"noise", or_null(change.noise)},
          {"exceeds_noise", or_null(change.exceeds_noise())}};
}

Json json_of(const Comparison& comparison) {
  Json out{{"before", comparison.before},
           {"after", comparison.after},
           {"notes", comparison.notes},
           {"tables", Json::array()}};
  for (const ChangeTable& table : comparison.tables) {
    Json changes = Json::array();
    for (const Change& change : table.changes) changes.push_back(json_of(change));
    out["tables"].push_back({{"name", table.name}, {"changes", std::move(changes)}});
  }
  return out;
}

std::string text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string_view name(Cause cause) {
  constexpr std::string_view kNames[] = {"loading", "copies", "communication", "synchronisation",
                                         "host",    "other",  "none"};
  return kNames[static_cast<std::size_t>(cause)];
}

}  // namespace

std::string to_json(const Overview& overview) {
  if (overview.ranks.empty() && overview.comparison) return text({{"comparison", json_of(*overview.comparison)}});
  const Diagnosis& found = overview.diagnosis;
  Json out;
  out["diagnosis"] = {{"cause", name(found.cause)},
                      {"share", found.share},
                      {"why", found.why},
                      {"not_the_cause", found.not_the_cause},
                      {"remedies", found.remedies}};
  if (overview.comparison) out["comparison"] = json_of(*overview.comparison);
  out["slowest"] = overview.slowest;
  out["spread"] = overview.spread;
  out["ranks"] = Json::array();
  for (const RankOverview& rank : overview.ranks) out["ranks"].push_back(json_of(rank));
  return text(out);
}

}  // namespace penstock::overview
