// Aggregates the block's parts of rows in its own table; rows that it refuses go to the table in
// device memory, and what finds no slot there is counted as overflow.
#ifndef MPGA_KERNELS_AGGREGATE_CUH
#define MPGA_KERNELS_AGGREGATE_CUH

#include "block_table.cuh"
#include "program.cuh"

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

// Takes a row that the block's table refused.
template <class Key>
static __device__ __noinline__ void insert_row(const Launch& p, u64 row, Tally& tally) {
  const Key key = Key::load(p.rows.keys, row, p.shape.key_bytes / 8);
  u64* at = find_or_insert(p.table, slot_words(p.shape), key, p.probe_max, tally.did);
  if (at == nullptr) {
    tally.lost++;
  } else {
    accumulate_row(p.shape, p.rows, row, at + slot_key_words(p.shape));
  }
}

// Accumulates one row of each thread that has one.
template <class Key, class Program>
__device__ __noinline__ void aggregate_rest(const Launch& p, BlockTable<Key, Program>& table, u64 row, u64 end, Tally& tally) {
  u32 slot = kRefused;
  if (row < end) {
    const Key key = Key::load(p.rows.keys, row, p.shape.key_bytes / 8);
    slot = table.first_slot(key);
    slot = table.keys.find(key, slot, table.keys.look(slot));
    if (slot == kRefused) insert_row<Key>(p, row, tally);
  }
  __syncwarp();  // after a search
  if (slot == kRefused) return;
  const auto values = Program::load(p.shape, p.rows, row);
  slot = table.state_of(slot);
  const auto pending = Program::accumulate(p.shape, p.rows, row, values, table.states, table.num_states, slot);
  Program::carry(values, pending, table.states, table.num_states, slot);
}

// Accumulates kRows rows a thread, from `first` on. Each step is made for all of them before the
// next, so that a thread waits once a step: for memory, for the first look at the table, for what an
// addition replaced. Searches take lanes different times; the barriers let a warp go on as one,
// without which each lane does for itself.
template <u32 kRows, class Key, class Program>
__device__ __forceinline__ void aggregate_tile(const Launch& p, BlockTable<Key, Program>& table, u64 first, Tally& tally) {
  Key keys[kRows];
  typename Program::Row values[kRows];
#pragma unroll
  for (u32 i = 0; i < kRows; i++) {
    const u64 row = first + i * blockDim.x;
    keys[i] = Key::load(p.rows.keys, row, p.shape.key_bytes / 8);
    values[i] = Program::load(p.shape, p.rows, row);
  }
  u32 slots[kRows];
  typename BlockKeys<Key>::Look looks[kRows];
#pragma unroll
  for (u32 i = 0; i < kRows; i++) {
    slots[i] = table.first_slot(keys[i]);
    looks[i] = table.keys.look(slots[i]);
  }
  bool refused = false;
#pragma unroll
  for (u32 i = 0; i < kRows; i++) {
    if (!table.keys.found(keys[i], looks[i])) {
      slots[i] = table.keys.find(keys[i], slots[i], looks[i]);
      refused |= slots[i] == kRefused;
    }
    __syncwarp();  // after a search
  }
  if (refused) {
#pragma unroll 1
    for (u32 i = 0; i < kRows; i++) {
      const u64 row = first + i * blockDim.x;
      const Key key = Key::load(p.rows.keys, row, p.shape.key_bytes / 8);
      const u32 slot = table.first_slot(key);
      if (table.keys.find(key, slot, table.keys.look(slot)) == kRefused) insert_row<Key>(p, row, tally);
    }
  }
  __syncwarp();  // after insertions
  typename Program::Pending pending[kRows];
#pragma unroll
  for (u32 i = 0; i < kRows; i++) {
    if (slots[i] == kRefused) continue;
    slots[i] = table.state_of(slots[i]);
    pending[i] = Program::accumulate(p.shape, p.rows, first + i * blockDim.x, values[i], table.states, table.num_states, slots[i]);
  }
#pragma unroll
  for (u32 i = 0; i < kRows; i++) {
    if (slots[i] != kRefused) Program::carry(values[i], pending[i], table.states, table.num_states, slots[i]);
  }
}

template <class Key, class Program>
__device__ __forceinline__ void aggregate_rows(const Launch& p, BlockTable<Key, Program>& table, u64 begin, u64 end, Tally& tally) {
  constexpr u32 kRows = Program::kInFlight;
  u64 tile = begin;
  for (; tile + u64(blockDim.x) * kRows <= end; tile += u64(blockDim.x) * kRows) {
    aggregate_tile<kRows>(p, table, tile + threadIdx.x, tally);
  }
  for (; tile < end; tile += blockDim.x) aggregate_rest(p, table, tile + threadIdx.x, end, tally);
}

#endif
