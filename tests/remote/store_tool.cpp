// Asks the process's object store what lines of JSON on its standard input say, and answers each with one: for tests in
// Python that are servers themselves. {"do": "find", "address": ...} gives {"info": ...} or {"info": null}; "list"
// gives {"entries": [...]}, "read" {"hex": ...} or null, "range" (with "offset" and "length") {"hex": ...}, "write"
// (with "hex" or "bytes", how many; "if_absent"; "finish": false destroys the upload in its place) {"info": ...},
// "remove" {}. An Error gives {"error": what(), "kind": its kind}.
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <iostream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <base/printable.hpp>
#include <formats/places/object_store.hpp>
#include <penstock/error.hpp>

using nlohmann::json;
using namespace penstock;

namespace {

json told(const ObjectInfo& info) {
  return {{"size", info.size}, {"version", info.version}, {"modified", info.modified}};
}

json told(std::span<const std::byte> bytes) {
  return hexadecimal({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::vector<std::byte> bytes_of(const json& line) {
  std::vector<std::byte> bytes;
  if (line.contains("bytes")) {
    // Differ from part to part, so that parts in another order are other bytes.
    bytes.resize(line["bytes"].get<std::size_t>());
    std::uint32_t state = 1;
    for (std::byte& byte : bytes) {
      state = state * 1664525 + 1013904223;
      byte = static_cast<std::byte>(state >> 24);
    }
    return bytes;
  }
  const std::string text = line["hex"];
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

/// The bytes of one range.
std::vector<std::byte> range_of(ObjectStore& store, const json& line) {
  const std::string address = line["address"];
  const auto info = store.find(address);
  if (!info) throw Error(ErrorKind::io, "there is no such object", {.dataset = address});
  std::vector<std::byte> bytes(line["length"].get<std::size_t>());
  std::mutex mutex;
  std::condition_variable answered;
  bool over = false;
  std::exception_ptr problem;
  const auto reader = store.reader([&](std::uint64_t, std::exception_ptr failure) {
    const std::lock_guard lock(mutex);
    problem = std::move(failure);
    over = true;
    answered.notify_one();
  });
  std::vector<RangeRead> reads;
  reads.push_back({std::make_shared<StoredObject>(StoredObject{address, *info}),
                   {{line["offset"].get<std::uint64_t>(), bytes}},
                   1});
  reader->submit(std::move(reads));
  {
    std::unique_lock lock(mutex);
    answered.wait(lock, [&] { return over; });
  }
  reader->stop();
  if (problem) std::rethrow_exception(problem);
  return bytes;
}

json written(ObjectStore& store, const json& line) {
  const std::vector<std::byte> bytes = bytes_of(line);
  const auto upload = store.upload(line["address"], line.value("if_absent", false));
  // In pieces of no particular length.
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = std::min<std::size_t>(bytes.size() - at, 3'333'333);
    upload->write(std::span(bytes).subspan(at, length));
    at += length;
  }
  if (!line.value("finish", true)) return json::object();
  return {{"info", told(upload->finish())}};
}

json answer(const json& line) {
  ObjectStore& store = object_store();
  const std::string what = line["do"];
  const std::string address = line["address"];
  if (what == "find") {
    const auto info = store.find(address);
    return {{"info", info ? told(*info) : json()}};
  }
  if (what == "list") {
    json entries = json::array();
    for (const ListedObject& object : store.list(address)) {
      json entry = told(object.info);
      entry["name"] = object.name;
      entry["is_folder"] = object.is_folder;
      entries.push_back(std::move(entry));
    }
    return {{"entries", std::move(entries)}};
  }
  if (what == "read") {
    ObjectInfo info;
    const auto bytes = store.read_whole(address, info, 64 << 20);
    return {{"hex", bytes ? told(*bytes) : json()}, {"info", told(info)}};
  }
  if (what == "range") return {{"hex", told(range_of(store, line))}};
  if (what == "write") return written(store, line);
  if (what == "remove") {
    store.remove(address);
    return json::object();
  }
  return {{"error", "unknown"}};
}

}  // namespace

int main() {
  for (std::string text; std::getline(std::cin, text);) {
    json said;
    try {
      said = answer(json::parse(text));
    } catch (const Error& error) {
      said = {{"error", error.what()}, {"kind", std::string(name(error.kind()))}};
    }
    std::cout << said.dump(-1, ' ', false, json::error_handler_t::replace) << std::endl;
  }
  return 0;
}
