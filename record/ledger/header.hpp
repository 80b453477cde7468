// The header of a ledger's file, which identifies the loader.
//
//    0  "pnstckLG"
//    8  u32  version of the format: 1
//   12  u32  bytes up to the first record, a multiple of 4096
//   16  u32  bytes of the text
//   20  u32  CRC-32C of bytes 8 to 19 followed by the text
//   24  the text, JSON; zeros up to the first record
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <penstock/state.hpp>
#include <record/watch/live_page.hpp>

namespace penstock {

/// Identifies the process that writes a file, so that others on its machine can check whether it still runs.
struct LedgerWriterProcess {
  std::string host, boot;  ///< its name, and an identifier of the machine's current boot (boot_id, random(4))
  ProcessIdentity identity;
  friend bool operator==(const LedgerWriterProcess&, const LedgerWriterProcess&) = default;
};
/// Throws Error: io, if /proc cannot be read.
LedgerWriterProcess this_ledger_process();

struct LedgerHeader {
  LoaderState state;  ///< the loader's start, with its dataset, order, seed, world, batch_size and transforms
  std::uint32_t rank = 0;
  std::string path = {};      ///< of the dataset, as given to open()
  std::string on_error = {};  ///< the policy for invalid samples
  std::uint64_t begun = 0;    ///< when the file was made, nanoseconds since 1970
  LedgerWriterProcess process = {};

  std::vector<std::byte> bytes() const;  ///< up to the first record
};

struct ReadLedgerHeader {
  LedgerHeader header;
  std::uint64_t bytes = 0;  ///< up to the first record
};
/// Parses the first bytes of a file, which must include the header. Throws Error: corrupt; unsupported, for a later
/// version.
ReadLedgerHeader ledger_header(std::span<const std::byte> bytes);

/// Returns, as text, the difference that keeps two states from sharing a ledger. Empty if both have the same samples
/// in the same order.
std::string ledger_difference(const LoaderState& ledger, const LoaderState& loader);

}  // namespace penstock
