// As aggregate_partitions, for the pairs that partition_pairs has written; rows.keys are pairs, and
// rows.columns[0] are the values in them.
#include "partitions.cuh"

#define MPGA_KERNEL(name, Key, Program)                                                                            \
  extern "C" __global__ void MPGA_REGISTERS(Key, Program) aggregate_pairs_##name(const __grid_constant__ Launch p) { \
    aggregate_partitions<Pairs, Key, Program, false>(p);                                                                  \
  }
MPGA_PAIR_PROGRAMS(MPGA_KERNEL)
