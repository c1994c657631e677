// Groups rows in one table per block, in shared memory, which is flushed to the table in device
// memory at the end: for few groups.
//
//   launch  any grid; at most 1024 threads; shared: of BlockTable, blockSharedBytes in launch.go
//   reads   rows    writes  table; status: rows, overflow, probes
//
// The rows that a block's table refuses go to the table at once. status.overflow counts rows, and
// groups of a block, that found no slot there: 0, or the answer is void.
#include "block_rows.cuh"

#define MPGA_KERNEL(name, Key, Program)                                                                             \
  extern "C" __global__ void MPGA_REGISTERS(Key, Program) aggregate_shared_##name(const __grid_constant__ Launch p) { \
    aggregate_block_rows<Key, Program, Tables::kCopied>(p);                                                         \
  }
MPGA_PROGRAMS(MPGA_KERNEL)
MPGA_FAR_PROGRAMS(MPGA_KERNEL)
