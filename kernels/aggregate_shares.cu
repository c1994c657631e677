// As aggregate_shared, for more groups than a block's table has room for: `shares` neighbouring blocks
// take the same rows, and each of them the keys of its share. All but the first of them read rows that
// are in the cache.
//
//   launch  a multiple of `shares` blocks, one a multiprocessor
#include "block_rows.cuh"

#define MPGA_KERNEL(name, Key, Program)                                                                          \
  extern "C" __global__ void __launch_bounds__(1024) aggregate_shares_##name(const __grid_constant__ Launch p) { \
    aggregate_block_rows<Key, Program, Tables::kShares>(p);                                                      \
  }
MPGA_FEW_PROGRAMS(MPGA_KERNEL)
