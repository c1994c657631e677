// Accumulates rows most of which are the first of their group: each claims the slot that its search
// begins at without a look, or else one beside it, and so do most with success. Rows that find other keys
// there are queued by warps, to be searched for by full ones: else lanes would wait for the one that
// searches longest, row by row.
//
//   | keys and states of the table | a queue for each warp: rows, from the first of the range |
//
// A slot that another key has is never a key's own, and a key that has one keeps it: so all rows of a key
// go the same way. Requires: nothing was put into the table by a search before.
#ifndef MPGA_KERNELS_CLAIMS_CUH
#define MPGA_KERNELS_CLAIMS_CUH

#include "aggregate.cuh"

constexpr u32 kClaimsInFlight = 4;                         // of a thread
constexpr u32 kQueueRows = 31 + 32 * kClaimsInFlight + 1;  // of a warp
constexpr u64 kClaimRowsMax = 1 << 16;                     // rows are queued as 2 bytes

template <class Source, class Key, class Program, Tables kTables>
__device__ __forceinline__ bool claim_queued(const Launch& p, BlockTable<Key, Program, kTables>& table, u64 begin, const u16* queue, u32 count) {
  Key key[1];
  typename Program::Row value[1];
  u32 slot[1];
  u64 row = begin;
  const bool has = lane_id() < count;
  if (has) {
    row += queue[lane_id()];
    Source::template load<Key, Program>(p, row, key, value);
    slot[0] = table.search(key[0]);
  }
  __syncwarp();  // after the searches, and the queue may be written again
  return has && accumulate_rows<Source, 1>(p, table, row, value, slot, 1);
}

// Rows of full steps need no question whether they are there.
template <bool kFull, class Source, class Key, class Program, Tables kTables>
__device__ __forceinline__ bool claim_step(const Launch& p, BlockTable<Key, Program, kTables>& table, u64 begin, u32 base, u32 count, u16* queue, u32& queued) {
  constexpr u32 kRows = kClaimsInFlight;
  const u32 first = base + lane_id();
  const u64 at = begin + first;
  Key keys[kRows];
  typename Program::Row values[kRows];
  u32 slots[kRows], left = 0;
#pragma unroll
  for (u32 i = 0; i < kRows; i++) {
    if (!kFull && first + i * 32 >= count) continue;
    Key key[1];
    typename Program::Row value[1];
    Source::template load<Key, Program>(p, at + i * 32, key, value);
    keys[i] = key[0];
    values[i] = value[0];
  }
#pragma unroll
  for (u32 i = 0; i < kRows; i++) {
    if (!kFull && first + i * 32 >= count) continue;
    slots[i] = table.home(keys[i]);
    if (!table.keys.claim(keys[i], slots[i])) left |= 1u << i;
  }
  // A second slot in the same bucket: half as many rows are left.
#pragma unroll
  for (u32 i = 0; i < kRows; i++) {
    if (!(left >> i & 1)) continue;
    slots[i] ^= 1;
    if (table.keys.claim(keys[i], slots[i])) left ^= 1u << i;
  }
#pragma unroll
  for (u32 i = 0; i < kRows; i++) {
    const bool is_left = left >> i & 1;
    if (!is_left && (kFull || first + i * 32 < count)) {
      const u32 state = table.state_of(slots[i]);
      const auto pending = Program::accumulate(p.shape, p.rows, at + i * 32, values[i], table.states, table.num_states, state);
      if (Program::carries(values[i], pending)) Program::carry(values[i], pending, table.states, table.num_states, state, table.far);
    }
    const u32 lanes = __ballot_sync(kAllLanes, is_left);
    if (is_left) queue[queued + __popc(lanes & ((1u << lane_id()) - 1))] = u16(first + i * 32);
    queued += __popc(lanes);
  }
  __syncwarp();  // the queue is there
  bool refused = false;
#pragma unroll 1
  while (queued >= 32) {
    queued -= 32;
    refused |= claim_queued<Source>(p, table, begin, queue + queued, 32);
  }
  return refused;
}

// Returns whether the table refused any row of this thread.
template <class Source, class Key, class Program, Tables kTables>
__device__ __forceinline__ bool claim_range(const Launch& p, BlockTable<Key, Program, kTables>& table, u64 begin, u64 end) {
  constexpr u32 kStep = 32 * kClaimsInFlight;
  const u32 warp = threadIdx.x / 32;
  u16* queue = reinterpret_cast<u16*>(table.states + Program::bytes(p.shape, table.num_states) / sizeof(u64)) + warp * kQueueRows;
  bool refused = false;
#pragma unroll 1
  for (; begin < end; begin += kClaimRowsMax) {
    const u32 count = u32(min(end - begin, kClaimRowsMax));
    u32 queued = 0, base = warp * kStep;
#pragma unroll 1
    for (; base + kStep <= count; base += blockDim.x * kClaimsInFlight) {
      refused |= claim_step<true, Source>(p, table, begin, base, count, queue, queued);
    }
    if (base < count) refused |= claim_step<false, Source>(p, table, begin, base, count, queue, queued);
    refused |= claim_queued<Source>(p, table, begin, queue, queued);
  }
  return refused;
}

#endif
