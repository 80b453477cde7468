// What stands at the beginning of a ledger's file: whose it is.
//
//    0  "pnstckLG"
//    8  u32  version of the format: 1
//   12  u32  bytes up to the first record, a multiple of 4096
//   16  u32  bytes of the text
//   20  u32  CRC-32C of bytes 8 to 19 and, behind them, of the text
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

/// Of the process that writes a file, as far as others on its machine may want to know whether it still runs.
struct LedgerWriterProcess {
  std::string host, boot;  ///< its name, and what tells this run of the machine from others (boot_id, random(4))
  ProcessIdentity identity;
  friend bool operator==(const LedgerWriterProcess&, const LedgerWriterProcess&) = default;
};
/// Throws Error: io, where /proc cannot be read.
LedgerWriterProcess this_ledger_process();

struct LedgerHeader {
  LoaderState state;  ///< where the loader begins: with its dataset, order, seed, world, batch_size and transforms
  std::uint32_t rank = 0;
  std::string path = {};      ///< of the dataset, as it was opened
  std::string on_error = {};  ///< what becomes of bad samples
  std::uint64_t begun = 0;    ///< when the file was made, nanoseconds since 1970
  LedgerWriterProcess process = {};

  std::vector<std::byte> bytes() const;  ///< up to the first record
};

struct ReadLedgerHeader {
  LedgerHeader header;
  std::uint64_t bytes = 0;  ///< up to the first record
};
/// Of a file's first bytes; those of the header are enough. Throws Error: corrupt; unsupported, for a later version.
ReadLedgerHeader ledger_header(std::span<const std::byte> bytes);

/// What one ledger cannot hold both of, in words; empty where the two are of the same samples in the same order.
std::string ledger_difference(const LoaderState& ledger, const LoaderState& loader);

}  // namespace penstock
