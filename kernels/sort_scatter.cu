// One pass of a stable radix sort: every row goes where its digit puts it (Adinets and Merrill,
// Onesweep, 2022: counts of all passes come from one read of the keys, each pass reads and writes
// the rows once).
//
//   launch  a block of kSortThreads threads for each tile of kSortTile rows
//   reads   keys, order of one side     writes  those of the other; digits
//
// Keys have 4 bytes or 8, and so has what is moved with them: the number of a row, or a value.
//
// Stable: rows are ranked in order within a warp, warps within the tile, tiles by look-back.
#include "params_sorted.h"
#include "scan.cuh"

constexpr u32 kSortWarps = kSortThreads / 32;
static_assert(kSortThreads == kDigits, "a thread for each digit");

template <class Word, class Moved>
__device__ inline void scatter_rows(const SortLaunch& p) {
  __shared__ u32 counts[kSortWarps][kDigits];  // of a warp's digits, then where they begin in the tile
  __shared__ u32 begins[kDigits];              // of the tile's digits in the tile
  __shared__ u32 warp_sums[kSortWarps];
  __shared__ u64 to[kDigits];                  // where a row of the tile goes, less its place in the tile
  constexpr u32 kWider = sizeof(Word) > sizeof(Moved) ? sizeof(Word) : sizeof(Moved);
  __shared__ u64 exchanged[kSortTile * kWider / 8];
  if (p.plan->skip[p.pass]) return;

  const u32 pass = p.first_pass + p.pass, shift = p.pass * kDigitBits;
  const u32 tile = take_tile(&p.plan->next_tile[pass]);
  const u32 side = p.plan->from[p.pass];
  const Word* keys = static_cast<const Word*>(p.keys[side]);
  Word* exchange = reinterpret_cast<Word*>(exchanged);
  const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const u64 tile_begin = u64(tile) * kSortTile, warp_begin = tile_begin + warp * (32 * kSortRows);
  const u32 rows = u32(p.count - tile_begin < u64(kSortTile) ? p.count - tile_begin : u64(kSortTile));

  for (u32 i = lane; i < kDigits; i += 32) counts[warp][i] = 0;
  Word key[kSortRows];
  u32 rank[kSortRows];
#pragma unroll
  for (u32 j = 0; j < kSortRows; j++) {
    const u64 i = warp_begin + j * 32 + lane;
    key[j] = i < p.count ? keys[i] : Word(0);
  }
  __syncwarp();  // counts are zero
#pragma unroll
  for (u32 j = 0; j < kSortRows; j++) {
    const bool here = warp_begin + j * 32 + lane < p.count;
    const u32 lanes = __ballot_sync(0xffffffff, here);
    if (here) {
      const u32 digit = u32(key[j] >> shift) & (kDigits - 1);
      const u32 same = __match_any_sync(lanes, digit), before = same & ((1u << lane) - 1);
      const u32 n = counts[warp][digit];
      __syncwarp(lanes);  // all have read the count
      rank[j] = n + u32(__popc(before));
      if (before == 0) counts[warp][digit] = n + u32(__popc(same));
      __syncwarp(lanes);  // and it is what the next row reads
    }
  }
  __syncthreads();  // the warps' counts are complete

  // Thread d has digit d.
  const u32 d = threadIdx.x;
  u32 total = 0;
  for (u32 w = 0; w < kSortWarps; w++) {
    const u32 n = counts[w][d];
    counts[w][d] = total;
    total += n;
  }
  u32 sum = total;
  for (u32 k = 1; k < 32; k *= 2) {
    const u32 v = __shfl_up_sync(0xffffffff, sum, k);
    if (lane >= k) sum += v;
  }
  if (lane == 31) warp_sums[warp] = sum;
  __syncthreads();  // the sums of the warps' digits are there
  for (u32 w = 0; w < warp; w++) sum += warp_sums[w];
  begins[d] = sum - total;
  to[d] = p.plan->counts[pass][d] + sum_before(p.digits + d, kDigits, tile, pass + 1, total) - (sum - total);
  __syncthreads();  // counts, begins and to are complete

#pragma unroll
  for (u32 j = 0; j < kSortRows; j++) {
    if (warp_begin + j * 32 + lane >= p.count) continue;
    const u32 digit = u32(key[j] >> shift) & (kDigits - 1);
    rank[j] += counts[warp][digit] + begins[digit];
    exchange[rank[j]] = key[j];
  }
  __syncthreads();  // the tile's keys are in order
  Word* keys_to = static_cast<Word*>(p.keys[side ^ 1]);
  u64 at[kSortRows];
#pragma unroll
  for (u32 j = 0; j < kSortRows; j++) {
    const u32 i = j * kSortThreads + threadIdx.x;
    if (i >= rows) continue;
    const Word k = exchange[i];
    at[j] = to[u32(k >> shift) & (kDigits - 1)] + i;
    keys_to[at[j]] = k;
  }
  __syncthreads();  // keys are read: what is moved takes their place
  const Moved* moved = reinterpret_cast<const Moved*>(p.order[side]);
  Moved *moved_to = reinterpret_cast<Moved*>(p.order[side ^ 1]), *order = reinterpret_cast<Moved*>(exchanged);
#pragma unroll
  for (u32 j = 0; j < kSortRows; j++) {
    const u64 i = warp_begin + j * 32 + lane;
    if (i < p.count) order[rank[j]] = moved[i];
  }
  __syncthreads();  // what the tile moves is in order
#pragma unroll
  for (u32 j = 0; j < kSortRows; j++) {
    const u32 i = j * kSortThreads + threadIdx.x;
    if (i < rows) moved_to[at[j]] = order[i];
  }
}

#define MPGA_KERNEL(name, Word, Moved)                                                                                    \
  extern "C" __global__ void __launch_bounds__(kSortThreads) sort_scatter_##name(const __grid_constant__ SortLaunch p) { \
    scatter_rows<Word, Moved>(p);                                                                                         \
  }
MPGA_KERNEL(4_4, u32, u32)
MPGA_KERNEL(4_8, u32, u64)
MPGA_KERNEL(8_4, u64, u32)
MPGA_KERNEL(8_8, u64, u64)
