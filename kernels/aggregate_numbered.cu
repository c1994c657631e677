// Groups rows whose keys and numbers partition_scatter has written: partitions.cuh. Columns are read by number.
//
//   launch  as many blocks as run at a time; at most 1024 threads; shared: as aggregate_shared
//   reads   out (keys and numbers), rows (columns), items    writes  groups, table, work; status: rows, groups, overflow, probes
//
// status.overflow counts rows and groups that found no slot, or no room: 0, or the answer is void.
#include "partitions.cuh"

#define MPGA_KERNEL(name, Key, Program)                                                                               \
  extern "C" __global__ void MPGA_REGISTERS(Key, Program) aggregate_numbered_##name(const __grid_constant__ Launch p) { \
    aggregate_partitions<Numbered, Key, Program, false>(p);                                                          \
  }
MPGA_PAIR_PROGRAMS(MPGA_KERNEL)
MPGA_GENERAL_PROGRAMS(MPGA_KERNEL)
