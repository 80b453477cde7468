// Shared by the test and its stand-in for libcufile.so.0: what it answers, and what it was asked.
#pragma once

struct FakeCuFile {
  int refuse_files = 0, refuse_reads = 0;  ///< statuses of cuFile's own
  int errnum = 0;                          ///< of reads that fail as the system's do
  unsigned supported = 0;                  ///< CUfileDrvProps_t::nvfs.dstatusflags
  int drivers = 0, files = 0, memory = 0;  ///< open now
};
