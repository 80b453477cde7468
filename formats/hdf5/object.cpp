#include <algorithm>

#include <formats/hdf5/heap.hpp>
#include <formats/hdf5/object.hpp>
#include <formats/hdf5/tree.hpp>

namespace penstock {
namespace {

constexpr std::size_t kMostRuns = 65536;
constexpr std::size_t kMostMessages = 131072;  // twice the number that libhdf5 writes
constexpr unsigned kShared = 0x02;

// Returns the datatype that a shared message refers to: the message of that type in another object.
std::vector<std::byte> shared_body(const Hdf5File& file, std::span<const std::byte> bytes, Hdf5MessageType type) {
  Hdf5Cursor cursor = file.cursor(bytes);
  const unsigned version = cursor.u8();
  const unsigned kind = cursor.u8();
  if (version == 1) cursor.skip(6);
  if (version == 0 || version > 3) throw Error::unsupported("shared message of version " + std::to_string(version));
  if (version == 3 && kind == 1) throw Error::unsupported("messages in a table shared by the whole file");
  const Hdf5Object other(file, cursor.address());
  const Hdf5Message* found = other.find(type);
  if (found == nullptr) throw Error::corrupt("a shared message that does not exist");
  if (found->shared) throw Error::unsupported("a shared message that is shared again");
  return found->bytes;
}

// Parses one attribute message. Source: section IV.A.2.m.
Hdf5Attribute attribute(const Hdf5File& file, std::span<const std::byte> bytes) {
  Hdf5Cursor cursor = file.cursor(bytes);
  const unsigned version = cursor.u8();
  if (version == 0 || version > 3) throw Error::unsupported("attribute of version " + std::to_string(version));
  const unsigned flags = cursor.u8();
  const std::uint64_t lengths[] = {cursor.u16(), cursor.u16(), cursor.u16()};
  if (version == 3) cursor.skip(1);
  const auto part = [&](std::uint64_t length) {
    return cursor.take(version == 1 ? (length + 7) / 8 * 8 : length).first(length);
  };
  const auto copy = [](std::span<const std::byte> from) { return std::vector<std::byte>(from.begin(), from.end()); };
  Hdf5Attribute made;
  const auto name = part(lengths[0]);
  made.name = {reinterpret_cast<const char*>(name.data()), name.size()};
  made.name.resize(std::min(made.name.size(), made.name.find('\0')));
  const auto type = part(lengths[1]);
  const bool shared = version > 1 && (flags & 1U) != 0;
  made.type = shared ? shared_body(file, type, Hdf5MessageType::datatype) : copy(type);
  if (version > 1 && (flags & 2U) != 0) throw Error::unsupported("a shared shape");
  made.space = copy(part(lengths[2]));
  made.value = copy(cursor.rest());
  return made;
}

}  // namespace

Hdf5Object::Hdf5Object(const Hdf5File& file, std::uint64_t address) {
  if (address == kNoAddress) throw Error::corrupt("an object without a header");
  const std::vector<std::byte> first = file.read(address, 4);
  const bool second = file.cursor(first).text(4) == "OHDR";
  second ? read_second_version(file, address) : read_first_version(file, address);
}

const Hdf5Message* Hdf5Object::find(Hdf5MessageType type) const {
  const auto found = std::find_if(messages_.begin(), messages_.end(),
                                  [type](const Hdf5Message& message) { return message.type == type; });
  return found == messages_.end() ? nullptr : &*found;
}

void Hdf5Object::read_first_version(const Hdf5File& file, std::uint64_t address) {
  constexpr std::uint64_t kPrefix = 16;
  const std::vector<std::byte> prefix = file.read(address, kPrefix);
  Hdf5Cursor cursor = file.cursor(prefix);
  if (cursor.u8() != 1) throw Error::corrupt("not an object header", {.offset = file.offset_of(address)});
  cursor.skip(1 + 2 + 4);
  std::vector<Run> runs{{address + kPrefix, cursor.u32()}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (i == kMostRuns) throw Error::corrupt("an object header that does not end");
    read_messages(file, file.read(runs[i].address, runs[i].length), false, false, runs);
  }
}

void Hdf5Object::read_second_version(const Hdf5File& file, std::uint64_t address) {
  constexpr std::uint64_t kLongestPrefix = 34, kChecksum = 4, kSignature = 4;
  const std::uint64_t room = file.size() - file.offset_of(address);
  const std::vector<std::byte> prefix = file.read(address, std::min(kLongestPrefix, room));
  Hdf5Cursor cursor = file.cursor(prefix);
  cursor.expect("OHDR");
  if (const unsigned version = cursor.u8(); version != 2)
    throw Error::unsupported("object header of version " + std::to_string(version));
  const unsigned flags = cursor.u8();
  if ((flags & 0x20U) != 0) cursor.skip(16);  // timestamps
  if ((flags & 0x10U) != 0) cursor.skip(4);
  const std::uint64_t length = cursor.number(std::size_t{1} << (flags & 3U));
  const std::uint64_t head = prefix.size() - cursor.rest().size();
  const bool ordered = (flags & 0x04U) != 0;
  if (length > file.size()) throw Error::corrupt("an object header longer than the file");

  std::vector<Run> runs;
  const std::vector<std::byte> first = file.read_checked(address, head + length + kChecksum);
  read_messages(file, std::span(first).subspan(head, length), true, ordered, runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (i == kMostRuns) throw Error::corrupt("an object header that does not end");
    const std::vector<std::byte> run = file.read_checked(runs[i].address, runs[i].length);
    file.cursor(run).expect("OCHK");
    if (run.size() < kSignature + kChecksum) throw Error::corrupt("HDF5 metadata ends early");
    read_messages(file, std::span(run).subspan(kSignature, run.size() - kSignature - kChecksum), true, ordered, runs);
  }
}

void Hdf5Object::read_messages(const Hdf5File& file, std::span<const std::byte> bytes, bool second, bool ordered,
                               std::vector<Run>& more) {
  const std::size_t head = second ? (ordered ? 6 : 4) : 8;
  Hdf5Cursor cursor = file.cursor(bytes);
  while (cursor.rest().size() >= head) {  // a shorter rest is a gap
    const auto type = static_cast<std::uint16_t>(cursor.number(second ? 1 : 2));
    const std::uint16_t length = cursor.u16();
    const unsigned flags = cursor.u8();
    cursor.skip(second ? (ordered ? 2 : 0) : 3);
    const auto body = cursor.take(length);
    if (type == static_cast<std::uint16_t>(Hdf5MessageType::continuation)) {
      Hdf5Cursor where = file.cursor(body);
      const std::uint64_t address = where.address();
      more.push_back({address, where.length()});
    } else if (type != 0) {
      add(type, flags, body);
    }
  }
}

void Hdf5Object::add(std::uint16_t type, unsigned flags, std::span<const std::byte> bytes) {
  constexpr unsigned kRefuseUnknown = 0x80;  // "fail if unknown and the file is opened, for whatever purpose"
  constexpr std::uint16_t kLastKnown = 0x18;
  if (type > kLastKnown && (flags & kRefuseUnknown) != 0)
    throw Error::unsupported("a message of a newer HDF5 (" + std::to_string(type) + ")");
  if (messages_.size() == kMostMessages) throw Error::corrupt("an object header that does not end");
  messages_.push_back({static_cast<Hdf5MessageType>(type), (flags & kShared) != 0, {bytes.begin(), bytes.end()}});
}

std::optional<std::vector<std::byte>> Hdf5Object::body(const Hdf5File& file, Hdf5MessageType type) const {
  const Hdf5Message* found = find(type);
  if (found == nullptr) return std::nullopt;
  return found->shared ? shared_body(file, found->bytes, type) : found->bytes;
}

std::vector<Hdf5Attribute> attributes_of(const Hdf5File& file, const Hdf5Object& object) {
  std::vector<Hdf5Attribute> found;
  const auto add = [&](std::span<const std::byte> bytes) {
    try {
      found.push_back(attribute(file, bytes));
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
    }
  };
  for (const Hdf5Message& message : object.messages()) {
    if (message.type == Hdf5MessageType::attribute && !message.shared) add(message.bytes);
  }
  const Hdf5Message* table = object.find(Hdf5MessageType::attribute_table);
  if (table == nullptr) return found;
  Hdf5Cursor cursor = file.cursor(table->bytes);
  if (cursor.u8() != 0) return found;
  if ((cursor.u8() & 1U) != 0) cursor.skip(2);
  const std::uint64_t heap_address = cursor.address();
  const std::uint64_t tree = cursor.address();
  if (heap_address == kNoAddress || tree == kNoAddress) return found;
  try {
    const Hdf5Heap heap(file, heap_address);
    constexpr std::size_t kId = 8;
    each_record(file, tree, [&](unsigned, std::span<const std::byte> record) {
      if (record.size() >= kId) add(heap.object(record.first(kId)));
    });
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
  }
  return found;
}

}  // namespace penstock
