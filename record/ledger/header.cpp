#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <base/printable.hpp>
#include <formats/io/boot_id.hpp>
#include <formats/io/crc32c.hpp>
#include <formats/io/hash.hpp>
#include <penstock/error.hpp>
#include <record/ledger/header.hpp>

namespace penstock {
namespace {

using LedgerJson = nlohmann::ordered_json;

constexpr std::string_view kLedgerMagic = "pnstckLG";
constexpr std::uint32_t kLedgerVersion = 1;
constexpr std::size_t kFixedBytes = 24, kHeaderUnit = 4096, kMostHeaderBytes = std::size_t{64} << 20;

struct FixedPart {  // bytes 8 to 19
  std::uint32_t version = kLedgerVersion, header_bytes = 0, text_bytes = 0;
};

std::uint32_t header_checksum(const FixedPart& fixed, std::span<const std::byte> text) {
  return crc32c(text, crc32c(std::as_bytes(std::span(&fixed, 1))));
}

// Replaces invalid characters, because paths and host names need not be UTF-8, and JSON must be.
LedgerJson ledger_json(const LedgerHeader& header) {
  const auto& process = header.process;
  return {{"penstock_ledger", kLedgerVersion},
          {"state", LedgerJson::parse(header.state.to_json())},
          {"rank", header.rank},
          {"path", one_line(header.path)},
          {"on_error", header.on_error},
          {"begun", header.begun},
          {"host", one_line(process.host)},
          {"boot", one_line(process.boot)},
          {"pid_namespace", process.identity.pid_namespace},
          {"pid", process.identity.pid},
          {"started", process.identity.start}};
}

[[noreturn]] void no_ledger_header(const std::string& cause) {
  throw Error::corrupt("its header is damaged: " + cause);
}

std::uint64_t ledger_number(const LedgerJson& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_number_unsigned()) no_ledger_header(std::string(name) + " is not a number");
  return found->get<std::uint64_t>();
}

std::string ledger_text(const LedgerJson& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_string()) no_ledger_header(std::string(name) + " is not a string");
  return found->get<std::string>();
}

std::string said(bool yes) {
  return yes ? "true" : "false";
}

}  // namespace

LedgerWriterProcess this_ledger_process() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {};
  return {.host = host.data(), .boot = boot_id(), .identity = this_process()};
}

std::vector<std::byte> LedgerHeader::bytes() const {
  const std::string text = ledger_json(*this).dump();
  const std::size_t all = (kFixedBytes + text.size() + kHeaderUnit - 1) / kHeaderUnit * kHeaderUnit;
  if (all > kMostHeaderBytes) throw Error::invalid_argument("the ledger's header would be longer than 64 MiB");
  const FixedPart fixed{.header_bytes = static_cast<std::uint32_t>(all),
                        .text_bytes = static_cast<std::uint32_t>(text.size())};
  const std::uint32_t checksum = header_checksum(fixed, std::as_bytes(std::span(text)));
  std::vector<std::byte> written(all);
  std::memcpy(written.data(), kLedgerMagic.data(), kLedgerMagic.size());
  std::memcpy(written.data() + 8, &fixed, sizeof fixed);
  std::memcpy(written.data() + 20, &checksum, sizeof checksum);
  std::memcpy(written.data() + kFixedBytes, text.data(), text.size());
  return written;
}

ReadLedgerHeader ledger_header(std::span<const std::byte> bytes) {
  if (bytes.size() < kFixedBytes || std::memcmp(bytes.data(), kLedgerMagic.data(), kLedgerMagic.size()) != 0)
    no_ledger_header("it does not begin with the magic bytes of a ledger");
  FixedPart fixed;
  std::uint32_t checksum = 0;
  std::memcpy(&fixed, bytes.data() + 8, sizeof fixed);
  std::memcpy(&checksum, bytes.data() + 20, sizeof checksum);
  const std::size_t left = bytes.size() - kFixedBytes;
  if (fixed.text_bytes > left || fixed.header_bytes > kMostHeaderBytes || fixed.header_bytes % kHeaderUnit != 0 ||
      kFixedBytes + fixed.text_bytes > fixed.header_bytes)
    no_ledger_header("its lengths contradict the size of the file");
  const auto text = bytes.subspan(kFixedBytes, fixed.text_bytes);
  if (header_checksum(fixed, text) != checksum) no_ledger_header("its checksum is wrong");
  if (fixed.version != kLedgerVersion) {
    throw Error::unsupported("version " + std::to_string(fixed.version) +
                             " of the format was written by a newer penstock; this penstock reads version 1");
  }
  const char* begin = reinterpret_cast<const char*>(text.data());
  const LedgerJson json = LedgerJson::parse(begin, begin + text.size(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("state")) no_ledger_header("it is not a JSON object with a state");
  LedgerHeader header;
  header.state = LoaderState::from_json(json["state"].dump());
  if (!header.state.order) no_ledger_header("its state does not contain the order");
  const std::uint64_t rank = ledger_number(json, "rank");
  if (rank >= header.state.world) no_ledger_header("its rank is not less than its number of ranks");
  header.rank = static_cast<std::uint32_t>(rank);
  header.path = ledger_text(json, "path");
  header.on_error = ledger_text(json, "on_error");
  header.begun = ledger_number(json, "begun");
  header.process = {.host = ledger_text(json, "host"),
                    .boot = ledger_text(json, "boot"),
                    .identity = {.pid_namespace = ledger_number(json, "pid_namespace"),
                                 .pid = ledger_number(json, "pid"),
                                 .start = ledger_number(json, "started")}};
  return {.header = std::move(header), .bytes = fixed.header_bytes};
}

std::string ledger_difference(const LoaderState& ledger, const LoaderState& loader) {
  const auto told = [](const std::string& theirs, const std::string& ours) { return theirs + ", not " + ours; };
  if (ledger.dataset != loader.dataset)
    return told("another dataset (fingerprint " + hexadecimal(ledger.dataset) + ")", hexadecimal(loader.dataset));
  if (ledger.samples != loader.samples)
    return told(std::to_string(ledger.samples) + " samples an epoch", std::to_string(loader.samples));
  const SavedOrder theirs = ledger.order.value_or(SavedOrder{}), ours = loader.order.value_or(SavedOrder{});
  if (theirs.shuffle != ours.shuffle) return told("shuffle=" + said(theirs.shuffle), said(ours.shuffle));
  if (theirs.shuffle_block != ours.shuffle_block)
    return told("shuffle_block=" + std::to_string(theirs.shuffle_block), std::to_string(ours.shuffle_block));
  if (theirs.last != ours.last)
    return told("last_batch=" + std::string(name(theirs.last)), std::string(name(ours.last)));
  if (theirs != ours) return "another subset of the samples, or another order of them";
  if (ledger.buckets.has_value() != loader.buckets.has_value())
    return told(ledger.buckets ? "batches by length" : "batches in the samples' order",
                loader.buckets ? "by length" : "in the samples' order");
  if (ledger.buckets && ledger.buckets->lengths != loader.buckets->lengths) return "batches by other lengths";
  if (ledger.buckets && ledger.buckets->window != loader.buckets->window)
    return told("bucket_window=" + std::to_string(ledger.buckets->window), std::to_string(loader.buckets->window));
  const bool mixed = ledger.mixture && loader.mixture;
  const bool same = mixed ? difference(*ledger.mixture, *loader.mixture).empty() : ledger.mixture == loader.mixture;
  return same ? "" : "a mixture of other sources or weights";
}

}  // namespace penstock
