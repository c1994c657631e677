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

// Each step is made for all rows under way before the next, so that a thread waits once a step: for
// memory, for the first look at the table, for what an addition replaced. Searches take lanes
// different times; the barriers let a warp go on as one, without which each lane does for itself.
template <class Key, class Program>
__device__ __forceinline__ void aggregate_rows(const Launch& p, BlockTable<Key, Program>& table, u64 begin, u64 end, Tally& tally) {
  constexpr u32 kInFlight = Program::kInFlight;
  constexpr u32 kNoRow = kRefused - 1;
  const u32 key_words = p.shape.key_bytes / 8;
  for (u64 tile = begin; tile < end; tile += u64(blockDim.x) * kInFlight) {
    Key keys[kInFlight];
    typename Program::Row values[kInFlight];
    u32 slots[kInFlight];
    typename BlockKeys<Key>::Look looks[kInFlight];
    typename Program::Pending pending[kInFlight];
#pragma unroll
    for (u32 i = 0; i < kInFlight; i++) {
      const u64 row = tile + i * blockDim.x + threadIdx.x;
      slots[i] = kNoRow;
      if (row < end) {
        keys[i] = Key::load(p.rows.keys, row, key_words);
        values[i] = Program::load(p.shape, p.rows, row);
        slots[i] = 0;
      }
    }
#pragma unroll
    for (u32 i = 0; i < kInFlight; i++) {
      if (slots[i] == kNoRow) continue;
      slots[i] = table.first_slot(keys[i]);
      looks[i] = table.keys.look(slots[i]);
    }
#pragma unroll
    for (u32 i = 0; i < kInFlight; i++) {
      if (slots[i] != kNoRow) slots[i] = table.keys.find(keys[i], slots[i], looks[i]);
      __syncwarp();  // after a search
    }
#pragma unroll
    for (u32 i = 0; i < kInFlight; i++) {
      const u64 row = tile + i * blockDim.x + threadIdx.x;
      if (slots[i] < kNoRow) {
        slots[i] = table.state_of(slots[i]);
        pending[i] = Program::accumulate(p.shape, p.rows, row, values[i], table.states, table.num_states, slots[i]);
      }
    }
#pragma unroll
    for (u32 i = 0; i < kInFlight; i++) {
      if (slots[i] < kNoRow) Program::carry(values[i], pending[i], table.states, table.num_states, slots[i]);
    }
#pragma unroll
    for (u32 i = 0; i < kInFlight; i++) {
      if (slots[i] == kRefused) insert_row<Key>(p, tile + i * blockDim.x + threadIdx.x, tally);
    }
    __syncwarp();  // after insertions
  }
}

#endif
