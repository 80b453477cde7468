// Blobs written whole, or by blocks.
#pragma once

#include <string>

#include <remote/azure/azure_requests.hpp>
#include <remote/http/transport.hpp>
#include <remote/writes/part_store.hpp>

namespace penstock {

/// Every body goes out with its MD5 where there is one. Blocks that are abandoned are nothing that anyone sees; Azure
/// throws them away after a week, and has no request for it.
class AzureBlocks : public PartStore {
 public:
  /// `dialect` and `transport` outlive it.
  AzureBlocks(AzureRequests& dialect, Transport& transport, const std::string& address, bool if_absent);

  ObjectInfo put_whole(std::span<const std::byte> bytes) override;
  void begin() override;
  std::string put_part(unsigned number, std::span<const std::byte> bytes) override;
  ObjectInfo complete(const std::vector<std::string>& names, std::uint64_t size) override;
  void abandon() noexcept override {}

 private:
  HttpResponse put(const Query& query, std::span<const std::byte> body, const char* header, bool last);
  ObjectInfo written(const HttpResponse& answer, std::uint64_t size);

  AzureRequests& dialect_;
  Transport& transport_;
  const std::string address_;
  const bool if_absent_;
  const std::string own_;  // in the names of blocks: others may write blocks of the same blob
};

}  // namespace penstock
