// Takes the rows that a table refuses to `out`, if it has keys, and the groups to `groups`.
#ifndef MPGA_KERNELS_REFUSE_CUH
#define MPGA_KERNELS_REFUSE_CUH

#include "block.cuh"
#include "key.cuh"
#include "state.cuh"

__device__ inline void move_row(const Launch& p, u64 from, u64 to) {
#pragma unroll 1
  for (u32 c = 0; c < p.shape.num_columns; c++) {
    const u32 words = p.shape.column_bytes[c] / 4;
    const u32* in = static_cast<const u32*>(p.rows.columns[c]) + from * words;
    u32* out = static_cast<u32*>(p.out.columns[c]) + to * words;
#pragma unroll 1
    for (u32 i = 0; i < words; i++) out[i] = in[i];
    if (p.out.valid[c] == nullptr) continue;
    const u32 bit = 1u << (to % 32);
    if (is_valid(p.rows.valid[c], from)) {
      atomicOr(p.out.valid[c] + to / 32, bit);
    } else {
      atomicAnd(p.out.valid[c] + to / 32, ~bit);
    }
  }
}

// Takes those of a warp's rows that are refused behind those that are there already, in no order. All lanes call it.
template <class Key>
__device__ __forceinline__ void refuse_rows(const Launch& p, u64 row, bool refused) {
  const u32 lanes = __ballot_sync(kAllLanes, refused);
  if (lanes == 0) return;
  const u32 leader = u32(__ffs(lanes)) - 1, count = u32(__popc(lanes));
  u64 to = 0;
  if (lane_id() == leader) {
    to = atomicAdd(&p.status->overflow, u64(count));
    atomicAdd(&p.status->rows, 0 - u64(count));  // not aggregated
  }
  to = __shfl_sync(kAllLanes, to, leader) + u64(__popc(lanes & ((1u << lane_id()) - 1)));
  if (refused && p.out.keys != nullptr) {
    Key::load(p.rows.keys, row, p.shape.key_bytes / 8).store(p.out.keys, to, 0);
    move_row(p, row, to);
  }
}

// Takes a group behind those that are there already.
template <class Key>
__device__ __noinline__ void refuse_group(const Launch& p, u64 group) {
  const u64 to = atomicAdd(&p.status->overflow, 1ull);
  atomicAdd(&p.status->rows, ~0ull);  // not taken
  if (p.groups.keys == nullptr) return;
  Key::load(p.in.keys, group, p.shape.key_bytes / 8).store(p.groups.keys, to, 0);
#pragma unroll 1
  for (u32 f = 0; f < p.shape.num_folds; f++) {
    const u32 words = p.shape.folds[f].words;
#pragma unroll 1
    for (u32 i = 0; i < words; i++) p.groups.states[f][to * words + i] = p.in.states[f][group * words + i];
  }
}

#endif
