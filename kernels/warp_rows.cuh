// Accumulates a warp's rows into slots of the table in device memory. Rows of one slot are combined
// within the warp first, so that a heavy key costs one atomic a warp instead of one a row; where no
// two lanes have the same slot, this costs one comparison.
#ifndef MPGA_KERNELS_WARP_ROWS_CUH
#define MPGA_KERNELS_WARP_ROWS_CUH

#include "block.cuh"
#include "combine.cuh"

// Combines the states of the lanes in `peers`, which all have the same set, into that of the first:
// each round, every second lane that is left gives its state to the one before (Westphal, Voting
// and Shuffling to Optimize Atomic Operations, NVIDIA, 2015).
template <u32 kWords>
__device__ inline void combine_peers(const Fold& fold, u32 peers, u64* w) {
  const u32 lane = lane_id();
  u32 rank = u32(__popc(peers & ((1u << lane) - 1)));
  u32 later = peers & ~((2u << lane) - 1);
#pragma unroll 1
  while (__any_sync(kAllLanes, later != 0)) {
    const u32 next = later ? u32(__ffs(later)) - 1 : lane;
    u64 v[kWords];
#pragma unroll
    for (u32 i = 0; i < kWords; i++) v[i] = __shfl_sync(kAllLanes, w[i], next);
    if (next != lane) combine_state<kWords>(fold, w, v);
    later &= __ballot_sync(kAllLanes, (rank & 1) == 0);
    rank >>= 1;
  }
}

template <u32 kWords>
__device__ inline void accumulate_fold(const Fold& fold, const Rows& rows, u64 row, u32 peers, u64* state) {
  u64 own[kStateWordsMax], w[kWords];
  const bool counts = state != nullptr && row_state(fold, rows, row, own);
#pragma unroll
  for (u32 i = 0; i < kWords; i++) w[i] = counts ? own[i] : identity(fold, i);
  combine_peers<kWords>(fold, peers, w);
  if (state == nullptr || lane_id() != u32(__ffs(peers)) - 1) return;
#pragma unroll
  for (u32 i = 0; i < kWords; i++) own[i] = w[i];
  merge_state(fold, state, 1, own);
}

// Merges each lane's row into the states at, or nothing where at is null. All lanes call it.
static __device__ __noinline__ void accumulate_warp(const Shape& s, const Rows& rows, u64 row, u64* at) {
  const u32 peers = __match_any_sync(kAllLanes, reinterpret_cast<u64>(at));
  const bool alone = at == nullptr || (peers & (peers - 1)) == 0;
  if (__all_sync(kAllLanes, alone)) {
    u64 w[kStateWordsMax];
#pragma unroll 1
    for (u32 f = 0; at != nullptr && f < s.num_folds; f++) {
      if (row_state(s.folds[f], rows, row, w)) merge_state(s.folds[f], at + s.folds[f].offset, 1, w);
    }
    return;
  }
#pragma unroll 1
  for (u32 f = 0; f < s.num_folds; f++) {
    const Fold& fold = s.folds[f];
    u64* state = at != nullptr ? at + fold.offset : nullptr;
    switch (fold.words) {
      case 1: accumulate_fold<1>(fold, rows, row, peers, state); break;
      case 2: accumulate_fold<2>(fold, rows, row, peers, state); break;
      case 3: accumulate_fold<3>(fold, rows, row, peers, state); break;
      case 4: accumulate_fold<4>(fold, rows, row, peers, state); break;
      case 5: accumulate_fold<5>(fold, rows, row, peers, state); break;
      case 6: accumulate_fold<6>(fold, rows, row, peers, state); break;
      case 7: accumulate_fold<7>(fold, rows, row, peers, state); break;
      case 8: accumulate_fold<8>(fold, rows, row, peers, state); break;
    }
  }
}

#endif
