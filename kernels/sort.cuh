// What the kernels of a sort have in common.
#ifndef MPGA_KERNELS_SORT_CUH
#define MPGA_KERNELS_SORT_CUH

#include "params_sorted.h"

// Whether the word that is sorted by lies in the rows as passes read it: the first word, of keys of one.
__device__ __forceinline__ bool keys_in_place(const SortLaunch& p) { return p.first_word && p.source == kSortKeys && p.shape.key_bytes <= 8; }

// The number by which the columns of the i-th row in order are read. Values of a column that is moved are in order.
__device__ __forceinline__ u32 row_at(const SortLaunch& p, u32 side, u64 i) { return p.moved == kNoColumn ? p.order[side][i] : u32(i); }

#endif
