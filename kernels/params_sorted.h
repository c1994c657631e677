// What Go passes to the kernels of KernelSorted; launch_sorted.go declares the same structs. Plain C.
#ifndef MPGA_KERNELS_PARAMS_SORTED_H
#define MPGA_KERNELS_PARAMS_SORTED_H

#include "params.h"

enum {
  kDigitBits = 8,
  kDigits = 1 << kDigitBits,
  kSortThreads = 256,
  kSortSteps = 16,                         // rows of a thread
  kSortTile = kSortThreads * kSortSteps,
  kWordPasses = 8,                         // of 8 bytes
  kPassesMax = kKeyBytesMax + kWordPasses + 1,  // a pass for each byte of a key and of a value, and one for NULLs
  kSegmentThreads = 256,
  kSegmentSteps = 8,                       // rows of a lane
  kSegmentTile = kSegmentThreads * kSegmentSteps
};

// What rows are sorted by: a word of the keys, or a column's values, in their order, and then whether they
// are NULL, which comes last.
enum { kSortKeys, kSortValues, kSortNulls };

enum { kNoColumn = 255 };

enum { kSortRows = 2 };  // a pass reads the rows themselves

// Decided on the device, word by word; zeroed before.
typedef struct {
  u32 side;                        // which of the two copies holds what is sorted so far
  u32 skip[kWordPasses];           // all keys share the digit of the pass
  u32 from[kWordPasses];           // the side that the pass reads, or kSortRows; it writes side 1 if it reads 0, and else 0
  u32 next_segment_tile;
  u32 next_tile[kPassesMax];       // of each pass
  u64 counts[kPassesMax][kDigits]; // of digits, then where each digit begins
} SortPlan;

typedef struct {
  Shape shape;
  Rows rows;       // taken
  Groups groups;   // written
  u64 count;
  u32 source;      // what is sorted by
  u32 word;        // of the keys
  u32 passes;      // of the word that is sorted by
  u32 first_pass;  // of all passes
  u32 pass;        // of the word
  u32 first_word;  // this is the first word that is sorted by
  u32 fold;        // whose column is sorted by, or whose states are written
  u32 folds;       // a bit for each that segment_reduce reduces
  u32 last;        // segment_reduce counts rows: other orders of the same rows do not
  u32 moved;       // kNoColumn, or the column whose values are sorted with the keys, in place of the rows' numbers
  double fraction; // of the fold, a quantile
  void* keys[2];   // words that are sorted by, of at most 8 bytes
  u32* order[2];   // of rows: their numbers, or the values of the column that is moved
  u64* digits;     // of each tile: what the tiles before it counted
  u64* segments;   // of each tile: how many groups begin before its end
  u32* starts;     // of each group, where its rows begin in the order; null: not wanted
  SortPlan* plan;
} SortLaunch;

#endif
