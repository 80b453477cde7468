// Declares the fuzz targets: one function for each parser of bytes that others made.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <formats/format.hpp>
#include <formats/index/index.hpp>
#include <penstock/dataset.hpp>

#include "fuzz/target.hpp"

namespace penstock::fuzz {

// What targets are made of.

std::string_view text_of(Input input);
/// A folder in memory (where TMPDIR lies there) that goes with the process.
const std::filesystem::path& folder();
/// The input as the file of that name in folder().
std::filesystem::path as_file(Input input, const std::string& name);
/// Finds, stamps and indexes the shard, then reads it.
void read_shard(const Format& format, const std::filesystem::path& shard);
/// Asks for every key and piece, and reads fields with filters undone. Stops at limits that keep an input below 0.1 s:
/// what they leave out is no more of the same.
void read_dataset(const Dataset& dataset, std::uint64_t most_reads = 256);
/// The index with its length and the checksum of its header put right: what is behind them is the parser.
std::vector<std::byte> repaired_index(Input input);
/// An index may name any file of the machine; here it gets those without a folder.
bool names_files_here(const Index& index);
/// Peeks at the value and decodes it whole and in part, by the codec that the schema names.
void decode_value(std::string_view codec, Input input);
/// Opens the cloud and reads all of its points, some, and some by their bytes alone.
void decode_cloud(std::string_view codec, Input input);

void tar(Input input);
void cifar(Input input);
void pickle(Input input);
void table(Input input);
void zip(Input input);
void tfrecord(Input input);
void example(Input input);
void mds(Input input);
void megatron(Input input);
void lmdb(Input input);
void hdf5(Input input);
void npy(Input input);
void idx(Input input);
void kept_index(Input input);
void combined_index(Input input);
void manifest(Input input);
void messages(Input input);
void labels(Input input);
void pattern(Input input);
void state(Input input);
void chain(Input input);
void jpeg_codec(Input input);
void jpt_codec(Input input);
void las_codec(Input input);
void laz_codec(Input input);
void png_codec(Input input);
void points_codec(Input input);
void npy_codec(Input input);
void off_codec(Input input);
void pcd_codec(Input input);
void ply_codec(Input input);
void text_codec(Input input);
void webp_codec(Input input);
void xyz_codec(Input input);
void header_values(Input input);
void keys(Input input);
void listing(Input input);
void profile(Input input);
void redirect_target(Input input);
void store_answer(Input input);
void xml(Input input);

}  // namespace penstock::fuzz
