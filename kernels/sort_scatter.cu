// One pass of a stable radix sort: every row goes where its digit puts it (Adinets and Merrill,
// Onesweep, 2022: counts of all passes come from one read of the keys, each pass reads and writes
// the rows once).
//
//   launch  a block of kSortThreads threads for each tile of kSortTile rows
//   reads   keys, order of one side, or rows     writes  keys, order of the other; digits
//
// Keys have 4 bytes or 8, and so has what is moved with them: the number of a row, or a value.
//
// Stable: rows are ranked in order within a warp, warps within the tile, tiles by look-back.
#include "scan.cuh"
#include "sort.cuh"

constexpr u32 kSortWarps = kSortThreads / 32;
static_assert(kSortThreads == kDigits, "a thread for each digit");

// What is moved with the i-th key: the number of its row, or the value of a column.
template <class Moved>
__device__ __forceinline__ Moved load_moved(const SortLaunch& p, u32 from, u64 i) {
  if (from != kSortRows) return reinterpret_cast<const Moved*>(p.order[from])[i];
  if (p.moved == kNoColumn) return Moved(i);
  return static_cast<const Moved*>(p.rows.columns[p.moved])[i];
}

template <class Word, class Moved>
__device__ inline void scatter_rows(const SortLaunch& p) {
  __shared__ u32 counts[kSortWarps][kDigits];  // of a warp's digits, then where they begin in the tile
  __shared__ u32 warp_sums[kSortWarps];
  __shared__ u32 to[kDigits];                  // where a row of the tile goes, less its place in the tile, modulo 2^32
  constexpr u32 kWider = sizeof(Word) > sizeof(Moved) ? sizeof(Word) : sizeof(Moved);
  __shared__ u64 exchanged[kSortTile * kWider / 8];
  if (p.plan->skip[p.pass]) return;

  const u32 pass = p.first_pass + p.pass, shift = p.pass * kDigitBits;
  const u32 tile = take_tile(&p.plan->next_tile[pass]);
  const u32 from = p.plan->from[p.pass], to_side = from == 0;
  const Word* keys = static_cast<const Word*>(from == kSortRows ? p.rows.keys : p.keys[from]);
  Word* exchange = reinterpret_cast<Word*>(exchanged);
  u32(*const masks)[kDigits] = reinterpret_cast<u32(*)[kDigits]>(exchanged);  // of a warp's lanes with a digit
  const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const u64 tile_begin = u64(tile) * kSortTile, warp_begin = tile_begin + warp * (32 * kSortSteps);
  const u32 rows = u32(p.count - tile_begin < u64(kSortTile) ? p.count - tile_begin : u64(kSortTile));
  const auto digit_of = [&](Word key) { return u32(key >> shift) & (kDigits - 1); };

  for (u32 i = lane; i < kDigits; i += 32) counts[warp][i] = masks[warp][i] = 0;
  Word key[kSortSteps];
#pragma unroll
  for (u32 j = 0; j < kSortSteps; j++) {
    const u64 i = warp_begin + j * 32 + lane;
    key[j] = i < p.count ? keys[i] : Word(0);
  }
  __syncwarp();  // counts are zero
#pragma unroll
  for (u32 j = 0; j < kSortSteps; j++) {
    if (warp_begin + j * 32 + lane < p.count) atomicAdd(&counts[warp][digit_of(key[j])], 1u);
  }
  __syncthreads();  // the warps' counts are complete

  // Thread d has digit d. What later tiles wait for is published before the rows are ranked.
  const u32 d = threadIdx.x;
  u32 total = 0;
#pragma unroll
  for (u32 w = 0; w < kSortWarps; w++) {
    const u32 n = counts[w][d];
    counts[w][d] = total;
    total += n;
  }
  u64* const digits = p.digits + d;
  publish_own(digits, kDigits, tile, pass + 1, total);
  u32 sum = total;
#pragma unroll
  for (u32 k = 1; k < 32; k *= 2) {
    const u32 v = __shfl_up_sync(0xffffffff, sum, k);
    if (lane >= k) sum += v;
  }
  if (lane == 31) warp_sums[warp] = sum;
  __syncthreads();  // the sums of the warps' digits are there
  for (u32 w = 0; w < warp; w++) sum += warp_sums[w];
  const u32 begins = sum - total;
#pragma unroll
  for (u32 w = 0; w < kSortWarps; w++) counts[w][d] += begins;
  __syncthreads();  // each warp knows where its digits begin in the tile

  // What is moved comes while rows are ranked.
  Moved moved[kSortSteps];
#pragma unroll
  for (u32 j = 0; j < kSortSteps; j++) {
    const u64 i = warp_begin + j * 32 + lane;
    if (i < p.count) moved[j] = load_moved<Moved>(p, from, i);
  }
  u32 rank[kSortSteps];
#pragma unroll
  for (u32 j = 0; j < kSortSteps; j++) {
    const bool here = warp_begin + j * 32 + lane < p.count;
    const u32 lanes = __ballot_sync(0xffffffff, here);
    if (here) {
      const u32 digit = digit_of(key[j]);
      atomicOr(&masks[warp][digit], 1u << lane);
      __syncwarp(lanes);  // the masks of the digits are complete
      const u32 same = masks[warp][digit], before = same & ((1u << lane) - 1);
      __syncwarp(lanes);  // and read
      if (before == 0) masks[warp][digit] = 0;
      u32 n = 0;
      if (before == 0) n = atomicAdd(&counts[warp][digit], u32(__popc(same)));
      rank[j] = __shfl_sync(lanes, n, u32(__ffs(same)) - 1) + u32(__popc(before));
      __syncwarp(lanes);  // the masks are zero again
    }
  }
  __syncthreads();  // keys take the place of the masks
#pragma unroll
  for (u32 j = 0; j < kSortSteps; j++) {
    if (warp_begin + j * 32 + lane < p.count) exchange[rank[j]] = key[j];
  }
  to[d] = u32(p.plan->counts[pass][d]) + u32(sum_published(digits, kDigits, tile, pass + 1, total)) - begins;
  __syncthreads();  // the tile's keys are in order, and to is complete
  Word* keys_to = static_cast<Word*>(p.keys[to_side]);
  u32 at[kSortSteps];
#pragma unroll
  for (u32 j = 0; j < kSortSteps; j++) {
    const u32 i = j * kSortThreads + threadIdx.x;
    if (i >= rows) continue;
    const Word k = exchange[i];
    at[j] = to[digit_of(k)] + i;
    keys_to[at[j]] = k;
  }
  __syncthreads();  // keys are read: what is moved takes their place
  Moved *moved_to = reinterpret_cast<Moved*>(p.order[to_side]), *order = reinterpret_cast<Moved*>(exchanged);
#pragma unroll
  for (u32 j = 0; j < kSortSteps; j++) {
    if (warp_begin + j * 32 + lane < p.count) order[rank[j]] = moved[j];
  }
  __syncthreads();  // what the tile moves is in order
#pragma unroll
  for (u32 j = 0; j < kSortSteps; j++) {
    const u32 i = j * kSortThreads + threadIdx.x;
    if (i < rows) moved_to[at[j]] = order[i];
  }
}

#define MPGA_KERNEL(name, Word, Moved)                                                                                    \
  extern "C" __global__ void __launch_bounds__(kSortThreads, 3) sort_scatter_##name(const __grid_constant__ SortLaunch p) { \
    scatter_rows<Word, Moved>(p);                                                                                         \
  }
MPGA_KERNEL(4_4, u32, u32)
MPGA_KERNEL(4_8, u32, u64)
MPGA_KERNEL(8_4, u64, u32)
MPGA_KERNEL(8_8, u64, u64)
