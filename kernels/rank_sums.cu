// Accumulates rows by rank in shared memory, and merges the states of a block's ranks into those of their groups:
// ranks.cuh.
//
//   launch  the grid of rank_rows; kRankThreads threads; shared: kRanks states of the program
//   reads   rows, ranks, groups (numbers), block_rows, block_counts, too_many; status: overflow    writes  launch.groups
//
// Does nothing where rows have no ranks, or rows or groups found no room. A multiprocessor has as many blocks at work as
// of rank_rows.
#include "programs.cuh"
#include "ranks.cuh"

// Merges the state of a rank into a group's. Programs but the general one have one fold.
template <class Program>
__device__ __forceinline__ void flush_rank(const Launch& l, const u64* states, u32 rank, u64 group) {
  Program::flush(l.shape, states, kRanks, rank, 1, l.groups.states[0] + group * l.shape.folds[0].words, nullptr);
}
template <>
__device__ __forceinline__ void flush_rank<General>(const Launch& l, const u64* states, u32 rank, u64 group) {
  u64 w[kStateWordsMax];
#pragma unroll 1
  for (u32 f = 0; f < l.shape.num_folds; f++) {
    const Fold& fold = l.shape.folds[f];
    General::read(fold, states, kRanks, rank, w);
    merge_state(fold, l.groups.states[f] + group * fold.words, 1, w);
  }
}

template <class Program>
__device__ __forceinline__ void rank_sums(const RankLaunch& p) {
  extern __shared__ ulonglong2 memory[];  // aligned as fill_shared wants it
  u64* const states = reinterpret_cast<u64*>(memory);
  const Launch& l = p.launch;
  if (*p.too_many != 0 || l.groups.status->overflow != 0) return;
  Program::init(l.shape, states, kRanks);
  __syncthreads();  // the states have no values
  const u64 step = u64(gridDim.x) * kRankThreads;
#pragma unroll 1
  for (u64 row = u64(blockIdx.x) * kRankThreads + threadIdx.x; row < l.rows.count; row += step) {
    typename Program::Row value[1];
    Program::load(l.shape, l.rows, row, value);
    const u32 rank = p.ranks[row];
    const auto pending = Program::accumulate(l.shape, l.rows, row, value[0], states, kRanks, rank);
    if (Program::carries(value[0], pending)) Program::carry(value[0], pending, states, kRanks, rank, nullptr);
  }
  __syncthreads();  // the states have all rows
  const u32 count = p.block_counts[blockIdx.x];
  for (u32 rank = threadIdx.x; rank < count; rank += kRankThreads) {
    flush_rank<Program>(l, states, rank, p.groups[p.block_rows[u64(blockIdx.x) * kRanks + rank]]);
  }
}

#define MPGA_KERNEL(name, Program, registers)                                                                 \
  extern "C" __global__ void registers rank_sums_##name(const __grid_constant__ RankLaunch p) { rank_sums<Program>(p); }
MPGA_KERNEL(count, Count, __maxnreg__(32))
MPGA_KERNEL(sum_i32, SumI32, __maxnreg__(32))
MPGA_KERNEL(sum_u32, SumU32, __maxnreg__(32))
MPGA_KERNEL(sum_i64, SumI64, __maxnreg__(32))
MPGA_KERNEL(sum_f64, SumF64, __maxnreg__(32))
MPGA_KERNEL(general, General, __launch_bounds__(kRankThreads))
