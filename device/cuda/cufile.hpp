// Loads cuFile (GPUDirect Storage) when a program first asks for it. Nothing of penstock needs it.
#pragma once

#include <functional>
#include <memory>

#include <device/cuda/library_facts.hpp>
#include <device/file_reads.hpp>

namespace penstock {

/// Looks for the file that PENSTOCK_CUFILE names, else for one that the program has loaded already, for one of the
/// nvidia-cufile wheel beside penstock's, and where the system looks for libraries. Once for the process; never fails,
/// and opens no driver.
LibraryFacts cufile_facts();

/// Runs work in the calling thread with the context of a device of CUDA's current.
using InContext = std::function<void(const std::function<void()>& work)>;

/// Reads by cuFile, whose driver is opened by the first of them, once for the process. How a file is read is told by
/// what cuFile's driver says of the kind of storage: of single reads it tells nothing.
/// Throws Error: unsupported, with the reason: without cuFile, where its driver refuses, and where /run/udev is hidden
/// (in containers) unless PENSTOCK_CUFILE insists.
std::shared_ptr<FileReads> open_cufile(InContext in_context);

}  // namespace penstock
