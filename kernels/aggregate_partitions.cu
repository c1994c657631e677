// Groups rows that partition_scatter has written: partitions.cuh.
//
//   launch  as many blocks as run at a time; at most 1024 threads; shared: as aggregate_shared
//   reads   rows, items    writes  groups, table, work; status: rows, groups, overflow, probes
//
// status.overflow counts rows and groups that found no slot, or no room: 0, or the answer is void.
#include "partitions.cuh"

#define MPGA_KERNEL(name, Key, Program)                                                                                 \
  extern "C" __global__ void MPGA_REGISTERS(Key, Program) aggregate_partitions_##name(const __grid_constant__ Launch p) { \
    aggregate_partitions<Columns, Key, Program, false>(p);                                                                     \
  }
MPGA_PROGRAMS(MPGA_KERNEL)
