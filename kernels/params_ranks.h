// What Go passes to the kernels of KernelBlockRanks; launch_ranks.go declares the same struct. Plain C.
#ifndef MPGA_KERNELS_PARAMS_RANKS_H
#define MPGA_KERNELS_PARAMS_RANKS_H

#include "params.h"

enum {
  kRankThreads = 128,  // of a block of rank_rows, rank_globally and rank_sums
  kRanks = 128,        // keys that a block has room for
  kSlotsAtOnce = 4,    // that a thread of rank_groups reads
  kRankSlots = 512     // of a block's set: half of them for the keys that there is room for, and for one of each thread
};

typedef struct {
  Launch launch;
  u64 slots;           // of the global set; a multiple of kSlotsAtOnce
  u32* set;            // the global set: a row of each key, or kNoRow
  u32* ranks;          // of each row: its key's rank in its block; where too_many, a row of its key
  u32* groups;         // of the rows that are in the set: their group
  u32* block_rows;     // of each block and rank: the row of its key that is in the set
  u32* block_counts;   // of each block: its keys
  u32* too_many;       // not 0: a block has met more than kRanks keys
} RankLaunch;

#endif
