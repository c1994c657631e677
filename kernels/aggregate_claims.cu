// As aggregate_pairs, for partitions of hardly more rows than groups: claims.cuh.
//
//   launch  shared: of BlockTable, and kQueueRows of 2 bytes a warp
#include "partitions.cuh"

#define MPGA_KERNEL(name, Key, Program)                                                            \
  extern "C" __global__ void __maxnreg__(40) aggregate_claims_##name(const __grid_constant__ Launch p) { \
    aggregate_partitions<Pairs, Key, Program, true>(p);                                            \
  }
MPGA_PAIR_PROGRAMS(MPGA_KERNEL)
