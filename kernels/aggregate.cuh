// Aggregates the block's parts of rows in its own table; rows that it refuses go to the table in
// device memory, and what finds no slot there is counted as overflow.
#ifndef MPGA_KERNELS_AGGREGATE_CUH
#define MPGA_KERNELS_AGGREGATE_CUH

#include "block_table.cuh"
#include "program.cuh"
#include "source.cuh"

// What a thread did; report adds up the block's, and the rows of the launch.
struct Tally {
  Insertions did;
  u64 lost;
};

__device__ inline void report(const Launch& p, const Tally& t) {
  const u64 groups = block_sum(t.did.groups), probes = block_sum(t.did.probes), lost = block_sum(t.lost);
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) atomicAdd(&p.status->rows, p.rows.count);
  if (groups != 0) atomicAdd(&table_header(p.table)->groups, groups);
  if (probes != 0) atomicAdd(&p.status->probes, probes);
  if (lost != 0) atomicAdd(&p.status->overflow, lost);
}

// Accumulates those of a thread's rows first, first + kStride, ... that a mask has, into their slots, and
// returns whether any of these is that of the refused.
template <class Source, u32 kStride, u32 kRows, class Key, class Program, Tables kTables>
__device__ __forceinline__ bool accumulate_rows(const Launch& p, BlockTable<Key, Program, kTables>& table, u64 first,
                                                const typename Program::Row (&values)[kRows], u32 (&slots)[kRows], u32 mask) {
  bool refused = false, carries = false;
  typename Program::Pending pending[kRows];
#pragma unroll
  for (u32 i = 0; i < kRows; i++) {
    if (!(mask >> i & 1)) continue;
    refused |= table.refused(slots[i]);
    slots[i] = table.state_of(slots[i]);
    pending[i] = Program::accumulate(p.shape, p.rows, Source::index(p, first + i * kStride), values[i], table.states, table.num_states, slots[i]);
  }
#pragma unroll
  for (u32 i = 0; i < kRows; i++) {
    if (mask >> i & 1) carries |= Program::carries(values[i], pending[i]);
  }
  if (!carries) return refused;
#pragma unroll
  for (u32 i = 0; i < kRows; i++) {
    if (mask >> i & 1) Program::carry(values[i], pending[i], table.states, table.num_states, slots[i], table.far);
  }
  return refused;
}

// Accumulates kRows neighbouring rows of each thread that has some, from `first` on, and returns
// whether the table refused any. Each step is made for all of them before the next, so that a thread
// waits once a step: for memory, for a look at the table, for what an addition replaced. Searches take
// lanes different times; the barrier lets a warp go on as one, without which each lane does for
// itself. All lanes of a warp call it.
template <u32 kRows, class Source, class Key, class Program, Tables kTables>
__device__ __forceinline__ bool aggregate_rows(const Launch& p, BlockTable<Key, Program, kTables>& table, u64 first, bool has) {
  Key keys[kRows];
  typename Program::Row values[kRows];
  u32 slots[kRows], own = 0;
  if (has) {
    Source::template load<Key, Program>(p, first, keys, values);
    own = table.find(keys, slots);
  }
  __syncwarp();  // after the searches
  return has && accumulate_rows<Source, 1>(p, table, first, values, slots, own);
}

// Accumulates the rows [begin, end), and returns whether the table refused any of this thread's. Warps
// take chunks in turn, of whole vectors of rows; then what was left before the first chunk and behind
// the last goes row by row.
template <class Source, class Key, class Program, Tables kTables>
__device__ __forceinline__ bool aggregate_range(const Launch& p, BlockTable<Key, Program, kTables>& table, u64 begin, u64 end) {
  constexpr u32 kRows = Program::kRows, kChunk = 32 * kRows;
  const u32 warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const u64 aligned = min(end, (begin + kRows - 1) / kRows * kRows), chunks_end = aligned + (end - aligned) / kChunk * kChunk;
  bool refused = false;
#pragma unroll 1
  for (u64 row = aligned + warp * kChunk; row < chunks_end; row += warps * kChunk) {
    refused |= aggregate_rows<kRows, Source>(p, table, row + lane_id() * kRows, true);
  }
  const u32 before = u32(aligned - begin), left = before + u32(end - chunks_end);
#pragma unroll 1
  for (u32 base = warp * 32; base < left; base += blockDim.x) {
    const u32 i = base + lane_id();
    refused |= aggregate_rows<1, Source>(p, table, i < before ? begin + i : chunks_end + (i - before), i < left);
  }
  return refused;
}

// Lets the table have a hot slot, if many of the first rows have the same key. Requires: the table is
// empty.
template <bool kClaims, class Source, class Key, class Program, Tables kTables>
__device__ __forceinline__ void choose_hot(const Launch& p, BlockTable<Key, Program, kTables>& table, u64 begin, u64 end) {
  __shared__ u32 hot;
  if (begin == end) return;
  if (threadIdx.x < 32) {
    const u64 row = begin + threadIdx.x;
    const u32 slot = table.template find_hot<kClaims>(Source::template key<Key>(p, min(row, end - 1)), row < end);
    if (threadIdx.x == 0) hot = slot;
  }
  __syncthreads();  // hot is there
  table.hot = hot;
}

// Takes those of the rows [begin, end) that the block's table refused to the table in device memory.
// They are found by another search: a key that was refused once is refused for ever, and all others
// are there. That keeps the loops above short, where almost all rows of almost all blocks stay.
template <class Source, class Key, class Program, Tables kTables>
static __device__ __noinline__ void insert_refused(const Launch& p, u64* shared, u64 begin, u64 end, Tally& tally) {
  BlockTable<Key, Program, kTables> table(p, shared);
#pragma unroll 1
  for (u64 row = begin + threadIdx.x; row < end; row += blockDim.x) {
    const Key keys[1] = {Source::template key<Key>(p, row)};
    u32 slots[1];
    if (table.find(keys, slots) == 0 || !table.refused(slots[0])) continue;
    u64* at = find_or_insert(p.table, slot_words(p.shape), keys[0], p.probe_max, tally.did);
    if (at == nullptr) {
      tally.lost++;
    } else {
      accumulate_row(p.shape, p.rows, Source::index(p, row), at + slot_key_words(p.shape));
    }
  }
  __syncthreads();  // after the searches
}

#endif
