#include <array>
#include <utility>

#include <sys/statfs.h>

#include <storage/read/network_file_system.hpp>

namespace penstock {

std::string_view network_file_system(std::uint64_t type) {
  // Sources: statfs(2), linux/magic.h, and the clients of file systems that are not in Linux.
  static constexpr auto kNetworks = std::to_array<std::pair<std::uint64_t, std::string_view>>({
      {0x6969, "NFS"},
      {0x0BD00BD0, "Lustre"},
      {0x517B, "SMB"},
      {0xFF534D42, "CIFS"},
      {0xFE534D42, "SMB"},
      {0x47504653, "GPFS"},
      {0x00C36400, "Ceph"},
      {0x19830326, "BeeGFS"},
      {0x5346414F, "AFS"},
      {0x6B414653, "AFS"},
      {0x73757245, "Coda"},
      {0x01021997, "9P"},
      {0x20030528, "OrangeFS"},
      {0x7461636F, "OCFS2"},
      {0x01161970, "GFS2"},
      {0xAAD7AAEA, "PanFS"},
      {0x65735546, "FUSE"},
  });
  for (const auto& [number, name] : kNetworks)
    if (number == type) return name;
  return {};
}

std::string_view network_file_system(const std::filesystem::path& path) {
  struct statfs status {};
  if (::statfs(path.c_str(), &status) != 0) return {};
  return network_file_system(static_cast<std::uint32_t>(status.f_type));
}

}  // namespace penstock
