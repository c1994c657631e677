// Loads a word that rows are sorted by, in the order so far, and counts all its digits. Keys of one word, which are in
// place, are only counted.
//
//   launch  any grid; kSortThreads threads
//   reads   rows, order     writes  keys; order, for the first word; adds to plan.counts
#include "sort.cuh"
#include "state.cuh"

// The value of a row as a word in unsigned order. The order of Int32 is that of its low half, with the sign
// turned.
template <class Word>
__device__ __forceinline__ Word value_word(const Fold& fold, const Rows& rows, u64 row) {
  const u64 w = to_ordered(fold.type, load_word(fold.type, rows.columns[fold.column], row));
  return Word(w) ^ Word(sizeof(Word) == 4 && fold.type == kInt32 ? 0x80000000u : 0);
}

template <class Word>
__device__ inline void load_words(const SortLaunch& p) {
  __shared__ u32 counts[kWordPasses][kDigits];
  for (u32 i = threadIdx.x; i < kWordPasses * kDigits; i += kSortThreads) counts[i / kDigits][i % kDigits] = 0;
  __syncthreads();  // counts are zero

  const u32 side = p.plan->side, words = p.shape.key_bytes / u32(sizeof(Word));
  const Fold& fold = p.shape.folds[p.fold];
  const Word* from = static_cast<const Word*>(p.rows.keys);
  Word* keys = static_cast<Word*>(p.keys[side]);
  u32* order = p.order[side];
  const bool in_place = keys_in_place(p);
  const u64 step = u64(gridDim.x) * kSortThreads;
  for (u64 i = u64(blockIdx.x) * kSortThreads + threadIdx.x; i < p.count; i += step) {
    const u64 row = p.first_word ? i : order[i];
    if (p.first_word && !in_place) order[i] = u32(i);
    Word key;
    switch (p.source) {
      case kSortValues: key = value_word<Word>(fold, p.rows, row); break;
      case kSortNulls: key = !is_valid(p.rows.valid[fold.column], row); break;
      default: key = from[row * words + p.word];
    }
    if (!in_place) keys[i] = key;
    for (u32 d = 0; d < p.passes; d++) {
      // One count for all lanes that agree would serialise few groups less, and cost many more.
      atomicAdd(&counts[d][key >> (d * kDigitBits) & (kDigits - 1)], 1u);
    }
  }
  __syncthreads();  // counts are complete
  for (u32 d = 0; d < p.passes; d++) {
    const u32 n = counts[d][threadIdx.x];
    if (n > 0) atomicAdd(&p.plan->counts[p.first_pass + d][threadIdx.x], u64(n));
  }
}

extern "C" __global__ void __launch_bounds__(kSortThreads) sort_load_4(const __grid_constant__ SortLaunch p) {
  load_words<u32>(p);
}

extern "C" __global__ void __launch_bounds__(kSortThreads) sort_load_8(const __grid_constant__ SortLaunch p) {
  load_words<u64>(p);
}
