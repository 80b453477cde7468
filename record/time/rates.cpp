#include <base/amounts.hpp>
#include <record/time/rates.hpp>

namespace penstock {
namespace {

double rate(double amount, std::chrono::nanoseconds wall) {
  return wall.count() > 0 ? amount / seconds_of(wall) : 0;
}

unsigned long long number(std::uint64_t count) {
  return count;
}

}  // namespace

StoreRates store_rates(const Stats& stats) {
  const StoreCounts& store = stats.reads.store;
  const double waited = seconds_of(store.waited);
  return {.requests_per_s = rate(static_cast<double>(store.requests), stats.wall),
          .bytes_per_s = rate(static_cast<double>(store.bytes), stats.wall),
          .latency = store.requests > 0 ? waited / static_cast<double>(store.requests) : 0,
          .under_way = rate(waited, stats.wall)};
}

DiskCacheRates disk_cache_rates(const Stats& stats) {
  const DiskCacheStats& cache = stats.disk_cache;
  const auto hits = static_cast<double>(cache.hits), wanted = hits + static_cast<double>(cache.misses);
  return {.hit_share = wanted > 0 ? hits / wanted : 0,
          .read_bytes_per_s = rate(static_cast<double>(cache.bytes_read), stats.wall),
          .written_bytes_per_s = rate(static_cast<double>(cache.bytes_written), stats.wall)};
}

std::string store_text(const Stats& stats) {
  const StoreCounts& store = stats.reads.store;
  const StoreRates rates = store_rates(stats);
  std::string text = text_of("%.1f requests/s, %.1f MB/s, %s each: %llu requests of %s", rates.requests_per_s,
                             rates.bytes_per_s / 1e6, time_text(rates.latency).c_str(), number(store.requests),
                             decimal_bytes_text(static_cast<double>(store.bytes)).c_str());
  if (store.retries != 0) text += text_of(", %llu retried", number(store.retries));
  if (store.hedges != 0) text += text_of(", %llu hedged", number(store.hedges));
  return text + text_of(", %llu connections opened", number(store.connections));
}

std::string disk_cache_text(const Stats& stats) {
  const DiskCacheStats& cache = stats.disk_cache;
  const DiskCacheRates rates = disk_cache_rates(stats);
  const auto bytes = [](std::uint64_t count) { return decimal_bytes_text(static_cast<double>(count)); };
  std::string text =
      text_of("%s of %llu blocks were cached, %.1f MB/s read, %.1f MB/s written: %s and %s",
              percent_text(rates.hit_share).c_str(), number(cache.hits + cache.misses), rates.read_bytes_per_s / 1e6,
              rates.written_bytes_per_s / 1e6, bytes(cache.bytes_read).c_str(), bytes(cache.bytes_written).c_str());
  if (cache.bad != 0) text += text_of(", %llu blocks were damaged", number(cache.bad));
  if (cache.bytes_evicted != 0)
    text += ", " + bytes(cache.bytes_evicted) + " evicted in " + time_text(seconds_of(cache.evicting));
  if (cache.bypassed != 0) text += text_of(", %llu blocks not cached", number(cache.bypassed));
  return text + "; " + bytes(cache.used) + " of " + bytes(cache.limit) + " in " + stats.disk_cache_dir;
}

}  // namespace penstock
