// Rates of the storage below the stage `read`: the store, and the cache on the node's disk.
#pragma once

#include <string>

#include <penstock/stats.hpp>

namespace penstock {

/// Averages since the first next(); 0 before it.
struct StoreRates {
  double requests_per_s = 0;
  double bytes_per_s = 0;
  double latency = 0;    ///< seconds from sending a request to its last byte
  double under_way = 0;  ///< average number of requests in flight
};
StoreRates store_rates(const Stats& stats);

struct DiskCacheRates {
  double hit_share = 0;  ///< share of the requested blocks that the disk had; 0 without any
  double read_bytes_per_s = 0, written_bytes_per_s = 0;
};
DiskCacheRates disk_cache_rates(const Stats& stats);

/// Returns "512.0 requests/s, 45.3 MB/s, 31.2 ms each: 1234 requests of 96.2 MB, 2 retried, 1 hedged, 12 connections
/// opened".
std::string store_text(const Stats& stats);
/// Returns "98 % of 1234 blocks were cached, 45.3 MB/s read, 1.2 MB/s written: 90.6 MB and 2.4 MB; 96.0 MB of 200.0 MB
/// in /tmp/cache". The stats must have a disk cache.
std::string disk_cache_text(const Stats& stats);

}  // namespace penstock
