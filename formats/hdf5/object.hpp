// Reads object headers: lists of messages that describe a group or a dataset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <formats/hdf5/file.hpp>

namespace penstock {

/// Numbers of section IV.A.2.
enum class Hdf5MessageType : std::uint16_t {
  dataspace = 0x01,
  link_table = 0x02,
  datatype = 0x03,
  old_fill_value = 0x04,
  fill_value = 0x05,
  link = 0x06,
  external_files = 0x07,
  layout = 0x08,
  filters = 0x0B,
  attribute = 0x0C,
  continuation = 0x10,
  symbol_table = 0x11,
  attribute_table = 0x15,
  cache_image = 0x18,
};

struct Hdf5Message {
  Hdf5MessageType type;
  bool shared;  ///< `bytes` refer to the message elsewhere: see Hdf5Object::body()
  std::vector<std::byte> bytes;
};

class Hdf5Object {
 public:
  /// Reads the header at `address`, of either version, with all of its continuations.
  /// Throws Error: corrupt; unsupported; io.
  Hdf5Object(const Hdf5File& file, std::uint64_t address);

  bool is_dataset() const { return find(Hdf5MessageType::layout) != nullptr; }
  bool is_group() const {
    return find(Hdf5MessageType::symbol_table) != nullptr || find(Hdf5MessageType::link_table) != nullptr ||
           find(Hdf5MessageType::link) != nullptr;
  }
  /// Null if there is none.
  const Hdf5Message* find(Hdf5MessageType type) const;
  std::span<const Hdf5Message> messages() const { return messages_; }
  /// Returns the content of the message, also if it is shared with another object (a named datatype). Returns nothing
  /// if there is no such message. Throws Error: corrupt; unsupported (a table of messages shared by the whole file);
  /// io.
  std::optional<std::vector<std::byte>> body(const Hdf5File& file, Hdf5MessageType type) const;

 private:
  struct Run {
    std::uint64_t address, length;
  };
  void read_first_version(const Hdf5File& file, std::uint64_t address);
  void read_second_version(const Hdf5File& file, std::uint64_t address);
  void read_messages(const Hdf5File& file, std::span<const std::byte> bytes, bool second, bool ordered,
                     std::vector<Run>& more);
  void add(std::uint16_t type, unsigned flags, std::span<const std::byte> bytes);

  std::vector<Hdf5Message> messages_;
};

/// A parsed attribute message.
struct Hdf5Attribute {
  std::string name;
  std::vector<std::byte> type, space;  ///< bodies of the messages with these names
  std::vector<std::byte> value;
};

/// Returns all attributes of an object from all their storage forms, except unreadable ones. Throws Error: corrupt; io.
std::vector<Hdf5Attribute> attributes_of(const Hdf5File& file, const Hdf5Object& object);

}  // namespace penstock
