// Reduces runs of equal keys, in the order that the sort left, to groups, in one pass.
//
//   launch  a block of kSegmentThreads threads for each tile of kSegmentTile rows
//   reads   keys, order, rows     writes  groups, status, segments, starts
//
// The rows of a column that is moved are in order: their numbers are their places.
//
// A warp has consecutive rows, 32 a step. Shuffles reduce the runs of a step; what a run has
// gathered when a step ends goes on into the next step. A run inside a warp's rows is stored; one
// that began before them or goes on behind them is merged into the group's state, which
// segment_begin has set: at most two atomic merges a warp and fold, whatever the keys.
//
// Requires: segment_begin before, segment_end after.
#include "block.cuh"
#include "combine.cuh"
#include "params_sorted.h"
#include "scan.cuh"

// The rows of a warp; arrays are in shared memory.
struct WarpRows {
  u64 begin;
  u64 group;         // of the row before
  u32 before;        // the row before in the input, if there is one
  const u32* heads;  // of each step, rows that begin a group; rows beyond the last do, too
  const u32* rows;   // of each step and lane, numbers in the input
  const Rows* input;
  bool ends;         // the warp's last row is its group's last
};

template <class Word>
__device__ __forceinline__ bool same_word(const SortLaunch& p, u32 side, u64 i) {
  const Word* keys = static_cast<const Word*>(p.keys[side]);
  return keys[i] == keys[i - 1];
}

// Whether the i-th row has the key of the row before. Only the first word of a wide key is at hand.
__device__ inline bool same_key(const SortLaunch& p, u32 side, u64 i) {
  if (p.shape.key_bytes == 4) return same_word<u32>(p, side, i);
  if (!same_word<u64>(p, side, i)) return false;
  const u32 words = p.shape.key_bytes / 8;
  const u64* keys = static_cast<const u64*>(p.rows.keys);
  const u64 row = p.order[side][i], before = p.order[side][i - 1];
  for (u32 w = 1; w < words; w++) {
    if (keys[row * words + w] != keys[before * words + w]) return false;
  }
  return true;
}

// The number by which the columns of the i-th row are read.
__device__ __forceinline__ u32 row_at(const SortLaunch& p, u32 side, u64 i) { return p.moved == kNoColumn ? p.order[side][i] : u32(i); }

__device__ inline void store_key(const SortLaunch& p, u32 side, u64 i, u32 row, u64 group) {
  if (p.shape.key_bytes == 4) {
    static_cast<u32*>(p.groups.keys)[group] = static_cast<const u32*>(p.keys[side])[i];
    return;
  }
  const u32 words = p.shape.key_bytes / 8;
  if (words == 1) {
    static_cast<u64*>(p.groups.keys)[group] = static_cast<const u64*>(p.keys[side])[i];
    return;
  }
  for (u32 w = 0; w < words; w++) {
    static_cast<u64*>(p.groups.keys)[group * words + w] = static_cast<const u64*>(p.rows.keys)[u64(row) * words + w];
  }
}

// Sets w to what a row brings: a state of its own.
template <u32 kWords>
__device__ __forceinline__ void load_state(const Fold& fold, const Rows& rows, u64 row, bool here, u64* w) {
  u64 own[kStateWordsMax];
  here = here && row_state(fold, rows, row, own);
#pragma unroll
  for (u32 i = 0; i < kWords; i++) w[i] = here ? own[i] : identity(fold, i);
}

// Whether two rows have the same value.
__device__ inline bool same_value(const Fold& fold, const Rows& rows, u64 row, u64 other) {
  const void* column = rows.columns[fold.column];
  return to_ordered(fold.type, load_word(fold.type, column, row)) == to_ordered(fold.type, load_word(fold.type, column, other));
}

template <u32 kWords>
__device__ __forceinline__ void shuffle_down(const u64* w, u32 by, u64* v) {
#pragma unroll
  for (u32 i = 0; i < kWords; i++) v[i] = __shfl_down_sync(kAllLanes, w[i], by);
}

// The lane where the run of a lane ends: the next head's.
__device__ __forceinline__ u32 run_end(u32 heads, u32 lane) {
  const u32 later = lane == 31 ? 0 : heads >> (lane + 1) << (lane + 1);
  return later ? u32(__ffs(later)) - 1 : 32;
}

// Loops stay loops: unrolled, the widths and folds together are megabytes of code.
template <u32 kWords>
__device__ void reduce_fold(const SortLaunch& p, const WarpRows& in, u32 f) {
  const Fold& fold = p.shape.folds[f];
  const u32 lane = lane_id();
  u64 carry[kWords], group = in.group;
  bool carried = false;  // the run that goes on from the step before began in this warp
#pragma unroll
  for (u32 i = 0; i < kWords; i++) carry[i] = identity(fold, i);

#pragma unroll 1
  for (u32 j = 0; j < kSegmentSteps; j++) {
    const u64 at = in.begin + j * 32 + lane;
    const u32 heads = in.heads[j], end = run_end(heads, lane);
    const bool head = heads >> lane & 1;
    const u32 row = in.rows[j * 32 + lane];
    bool counts = at < p.count;
    // NULLs come last in a group: the row before a value has one, too.
    if (kWords == 1 && fold.op == kCountDistinct && counts && !head) {
      counts = !same_value(fold, *in.input, row, j + lane > 0 ? in.rows[j * 32 + lane - 1] : in.before);
    }
    u64 w[kWords], v[kWords];
    load_state<kWords>(fold, *in.input, row, counts, w);
#pragma unroll 1
    for (u32 d = 1; d < 32; d *= 2) {
      shuffle_down<kWords>(w, d, v);
      if (lane + d < end) combine_state<kWords>(fold, w, v);
    }
    if (lane == 0 && !head) {
#pragma unroll
      for (u32 i = 0; i < kWords; i++) v[i] = w[i], w[i] = carry[i];
      combine_state<kWords>(fold, w, v);
    }
    const bool complete = head || (lane == 0 && carried);  // nothing of the run is before the warp
    const bool goes_on = end == 32 && (j + 1 < kSegmentSteps ? !(in.heads[j + 1] & 1) : !in.ends);
    const u64 mine = group + u64(__popc(heads << (31 - lane)));
    if ((head || lane == 0) && at < p.count && mine - 1 < p.groups.capacity && !(goes_on && j + 1 < kSegmentSteps)) {
      u64* state = p.groups.states[f] + (mine - 1) * kWords;
      if (complete && !goes_on) {
#pragma unroll
        for (u32 i = 0; i < kWords; i++) state[i] = w[i];
      } else {
        u64 partial[kWords];  // in memory, where a call can find it, unlike w
#pragma unroll
        for (u32 i = 0; i < kWords; i++) partial[i] = w[i];
        merge_state(fold, state, 1, partial);
      }
    }
    const u32 last = heads ? 31 - u32(__clz(heads)) : 0;  // where the last run of the step begins
#pragma unroll
    for (u32 i = 0; i < kWords; i++) carry[i] = __shfl_sync(kAllLanes, w[i], last);
    carried = __shfl_sync(kAllLanes, complete, last);
    group += u64(__popc(heads));
  }
}

extern "C" __global__ void __launch_bounds__(kSegmentThreads) segment_reduce(const __grid_constant__ SortLaunch p) {
  const u32 tile = take_tile(&p.plan->next_segment_tile), side = p.plan->side, lane = lane_id();
  __shared__ u32 heads[kSegmentThreads / 32][kSegmentSteps], rows[kSegmentTile];
  const u32 warp = threadIdx.x / 32;
  u32* warp_rows = rows + warp * (32 * kSegmentSteps);
  WarpRows in;
  in.begin = u64(tile) * kSegmentTile + warp * (32 * kSegmentSteps);
  in.heads = heads[warp], in.rows = warp_rows, in.input = &p.rows;
  __shared__ Rows moved;  // one column of it
  if (p.moved != kNoColumn) {
    if (threadIdx.x == 0) moved.columns[p.moved] = p.order[side], moved.valid[p.moved] = nullptr;
    in.input = &moved;
  }
  u32 own = 0;
#pragma unroll
  for (u32 j = 0; j < kSegmentSteps; j++) {
    const u64 i = in.begin + j * 32 + lane;
    warp_rows[j * 32 + lane] = i < p.count ? row_at(p, side, i) : 0;
    const u32 begins = __ballot_sync(kAllLanes, i >= p.count || i == 0 || !same_key(p, side, i));
    if (lane == 0) heads[warp][j] = begins;
    own += i < p.count && begins >> lane & 1;
  }
  __syncwarp();  // heads are there
  in.before = in.begin > 0 && in.begin < p.count ? row_at(p, side, in.begin - 1) : 0;
  const u64 behind = in.begin + 32 * kSegmentSteps;
  in.ends = behind >= p.count || !same_key(p, side, behind);

  u32 total;
  const u32 before_thread = block_scan(own, &total);
  __shared__ u64 before_tile;
  if (threadIdx.x == 0) {
    before_tile = sum_before(p.segments, 1, tile, 1, total);
    if (u64(tile + 1) * kSegmentTile >= p.count) p.groups.status->groups = before_tile + total;
  }
  __syncthreads();  // before_tile is there
  in.group = before_tile + __shfl_sync(kAllLanes, before_thread, 0);

  u64 group = in.group, written = 0;
#pragma unroll 1
  for (u32 j = 0; j < kSegmentSteps; j++) {
    const u64 i = in.begin + j * 32 + lane, mine = group + u64(__popc(in.heads[j] << (31 - lane)));
    const bool head = in.heads[j] >> lane & 1;
    if (i < p.count && mine - 1 < p.groups.capacity) {
      written++;
      if (head) store_key(p, side, i, in.rows[j * 32 + lane], mine - 1);
    }
    if (i < p.count && head && p.starts != nullptr) p.starts[mine - 1] = u32(i);
    group += u64(__popc(in.heads[j]));
  }
  written = block_sum(written);
  if (threadIdx.x == 0 && p.last) {
    const u64 begin = u64(tile) * kSegmentTile, rows = p.count - begin < u64(kSegmentTile) ? p.count - begin : u64(kSegmentTile);
    atomicAdd(&p.groups.status->rows, written);
    if (written < rows) atomicAdd(&p.groups.status->overflow, rows - written);
  }

#pragma unroll 1
  for (u32 f = 0; f < p.shape.num_folds; f++) {
    if (!(p.folds >> f & 1)) continue;
    switch (p.shape.folds[f].words) {
      case 1: reduce_fold<1>(p, in, f); break;
      case 2: reduce_fold<2>(p, in, f); break;
      case 3: reduce_fold<3>(p, in, f); break;
      case 4: reduce_fold<4>(p, in, f); break;
      case 5: reduce_fold<5>(p, in, f); break;
      case 6: reduce_fold<6>(p, in, f); break;
      case 7: reduce_fold<7>(p, in, f); break;
      case 8: reduce_fold<8>(p, in, f); break;
    }
  }
}
