// Signatures, methods and flags of zip archives. Source: PKWARE APPNOTE 6.3.10.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::zip {

constexpr std::uint32_t kLocalSignature = 0x04034B50;      // "PK\3\4"
constexpr std::uint32_t kCentralSignature = 0x02014B50;    // "PK\1\2"
constexpr std::uint32_t kEndSignature = 0x06054B50;        // "PK\5\6"
constexpr std::uint32_t kEnd64Signature = 0x06064B50;      // "PK\6\6"
constexpr std::uint32_t kLocator64Signature = 0x07064B50;  // "PK\6\7"

constexpr std::size_t kLocalHeader = 30;
constexpr std::size_t kCentralHeader = 46;
constexpr std::size_t kEndRecord = 22;
constexpr std::size_t kEnd64Record = 56;
constexpr std::size_t kLocator64 = 20;
constexpr std::uint64_t kLongestComment = 65535;

constexpr std::uint16_t kStored = 0;
constexpr std::uint16_t kDeflate = 8;
constexpr std::uint16_t kOldZstd = 20;
constexpr std::uint16_t kZstd = 93;

constexpr std::uint16_t kEncrypted = 1U << 0 | 1U << 6 | 1U << 13;
constexpr std::uint16_t kUtf8 = 1U << 11;

constexpr std::uint16_t kZip64Extra = 1;
constexpr std::uint16_t kUnicodePathExtra = 0x7075;

constexpr std::uint32_t kIn64 = 0xFFFFFFFF;  // the zip64 extra field holds this size or offset
constexpr std::uint16_t kCountIn64 = 0xFFFF;
constexpr std::uint16_t kMadeByUnix = 3;
constexpr std::uint32_t kModeType = 0170000, kModeFile = 0100000;

}  // namespace penstock::zip
