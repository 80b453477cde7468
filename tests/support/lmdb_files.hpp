// Makes LMDB files by liblmdb, and indexes them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>

#include <doctest/doctest.h>
#include <lmdb.h>

#include <formats/index/index.hpp>
#include <formats/lmdb/lmdb.hpp>

namespace penstock::test {

inline Index lmdb_index(const std::filesystem::path& shard) {
  return kLmdb.index(shard, shard.parent_path(), {});
}

/// liblmdb, as writer of foreign files and as the oracle.
class Reference {
 public:
  explicit Reference(const std::filesystem::path& folder, unsigned flags = 0) {
    std::filesystem::create_directories(folder);
    REQUIRE(mdb_env_create(&environment_) == 0);
    REQUIRE(mdb_env_set_mapsize(environment_, std::size_t{64} << 20) == 0);
    REQUIRE(mdb_env_set_maxdbs(environment_, 4) == 0);
    const int code = mdb_env_open(environment_, folder.c_str(), flags | MDB_NOLOCK, 0644);
    INFO(mdb_strerror(code));
    REQUIRE(code == 0);
  }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;
  ~Reference() { mdb_env_close(environment_); }

  void put(const std::map<std::string, std::string>& values, const char* database = nullptr, unsigned flags = 0) {
    MDB_txn* transaction = nullptr;
    REQUIRE(mdb_txn_begin(environment_, nullptr, 0, &transaction) == 0);
    MDB_dbi number = 0;
    REQUIRE(mdb_dbi_open(transaction, database, flags, &number) == 0);
    for (const auto& [name, value] : values) {
      MDB_val key{name.size(), const_cast<char*>(name.data())};
      MDB_val data{value.size(), const_cast<char*>(value.data())};
      REQUIRE(mdb_put(transaction, number, &key, &data, 0) == 0);
    }
    REQUIRE(mdb_txn_commit(transaction) == 0);
  }

  void erase(const std::string& name) {
    MDB_txn* transaction = nullptr;
    REQUIRE(mdb_txn_begin(environment_, nullptr, 0, &transaction) == 0);
    MDB_dbi number = 0;
    REQUIRE(mdb_dbi_open(transaction, nullptr, 0, &number) == 0);
    MDB_val key{name.size(), const_cast<char*>(name.data())};
    REQUIRE(mdb_del(transaction, number, &key, nullptr) == 0);
    REQUIRE(mdb_txn_commit(transaction) == 0);
  }

  std::map<std::string, std::string> all() const {
    MDB_txn* transaction = nullptr;
    REQUIRE(mdb_txn_begin(environment_, nullptr, MDB_RDONLY, &transaction) == 0);
    MDB_dbi number = 0;
    REQUIRE(mdb_dbi_open(transaction, nullptr, 0, &number) == 0);
    MDB_cursor* cursor = nullptr;
    REQUIRE(mdb_cursor_open(transaction, number, &cursor) == 0);
    std::map<std::string, std::string> values;
    MDB_val key{};
    MDB_val data{};
    while (mdb_cursor_get(cursor, &key, &data, MDB_NEXT) == 0) {
      values[std::string(static_cast<char*>(key.mv_data), key.mv_size)] =
          std::string(static_cast<char*>(data.mv_data), data.mv_size);
    }
    mdb_cursor_close(cursor);
    mdb_txn_abort(transaction);
    return values;
  }

 private:
  MDB_env* environment_ = nullptr;
};

}  // namespace penstock::test
