#include <cmath>
#include <nlohmann/json.hpp>

#include <bench/measure/sampling.hpp>
#include <bench/measure/units.hpp>
#include <bench/report/table.hpp>
#include <transforms/simd_targets.hpp>

namespace penstock {
namespace {

std::string milliseconds(double ms) {
  return fixed(ms, ms < 10 ? 3 : 1);
}

}  // namespace

std::string to_text(const SamplingReport& report) {
  std::string text = report.dataset.path + ": " + with_commas(report.dataset.samples) + " clouds of about " +
                     with_commas(static_cast<std::uint64_t>(report.points_per_cloud)) + " points in field " +
                     report.field + ", " + bytes_text(report.dataset.bytes) + "; " +
                     with_commas(static_cast<std::uint64_t>(report.points)) +
                     " points sampled from each, one worker\n\n";
  Table rows({"way", "clouds", "ms/cloud", "quartiles", "read/cloud", "mean distance", "largest hole"});
  for (const SamplingRow& row : report.rows)
    rows.add({row.way, row.stored, milliseconds(row.ms_per_cloud.median),
              milliseconds(row.ms_per_cloud.low) + "-" + milliseconds(row.ms_per_cloud.high),
              bytes_text(static_cast<std::uint64_t>(row.bytes_per_cloud)), fixed(row.coverage.mean, 4),
              fixed(row.coverage.most, 3)});
  text += rows.text() + "\n";
  Table packs({"packed", "options of penstock pack", "took", "bytes"});
  for (const SamplingPack& pack : report.packs)
    packs.add({pack.name, pack.options, fixed(pack.seconds, 1) + " s", bytes_text(pack.bytes)});
  return text + packs.text() +
         "\nDistances are from every point of a cloud to the nearest sampled point, in the unit of the clouds.\n";
}

std::string to_json(const SamplingReport& report) {
  using Json = nlohmann::ordered_json;
  Json json{{"penstock", PENSTOCK_VERSION},
            {"machine",
             {{"cpu", report.machine.cpu},
              {"simd", simd_text()},
              {"usable_cores", report.machine.cores_usable},
              {"memory_bytes", report.machine.memory_total},
              {"kernel", report.machine.kernel},
              {"file_system", report.file_system}}},
            {"dataset",
             {{"path", report.dataset.path},
              {"format", report.dataset.format},
              {"clouds", report.dataset.samples},
              {"bytes", report.dataset.bytes},
              {"field", report.field},
              {"points_per_cloud", report.points_per_cloud}}},
            {"points", report.points},
            {"rows", Json::array()},
            {"packs", Json::array()}};
  for (const SamplingRow& row : report.rows)
    json["rows"].push_back({{"way", row.way},
                            {"stored", row.stored},
                            {"chain", row.chain},
                            {"ms_per_cloud", row.ms_per_cloud.median},
                            {"ms_per_cloud_quartiles", {row.ms_per_cloud.low, row.ms_per_cloud.high}},
                            {"bytes_per_cloud", std::round(row.bytes_per_cloud)},
                            {"mean_distance", row.coverage.mean},
                            {"most_distance", row.coverage.most}});
  for (const SamplingPack& pack : report.packs)
    json["packs"].push_back(
        {{"name", pack.name}, {"options", pack.options}, {"seconds", pack.seconds}, {"bytes", pack.bytes}});
  return json.dump(1) + "\n";
}

}  // namespace penstock
