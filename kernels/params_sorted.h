// What Go passes to the kernels of KernelSorted; launch_sorted.go declares the same structs. Plain C.
#ifndef MPGA_KERNELS_PARAMS_SORTED_H
#define MPGA_KERNELS_PARAMS_SORTED_H

#include "params.h"

enum {
  kDigitBits = 8,
  kDigits = 1 << kDigitBits,
  kSortThreads = 256,
  kSortRows = 16,                          // of a thread
  kSortTile = kSortThreads * kSortRows,
  kWordPasses = 8,                         // of 8 bytes
  kPassesMax = kKeyBytesMax,               // a pass for each byte of a key
  kSegmentThreads = 256,
  kSegmentSteps = 8,                       // rows of a lane
  kSegmentTile = kSegmentThreads * kSegmentSteps
};

// Decided on the device, word by word of the keys; zeroed before.
typedef struct {
  u32 side;                        // which of the two copies holds what is sorted so far
  u32 skip[kWordPasses];           // all keys share the digit of the pass
  u32 from[kWordPasses];           // the side that the pass reads
  u32 next_segment_tile;
  u32 next_tile[kPassesMax];       // of each pass
  u64 counts[kPassesMax][kDigits]; // of digits, then where each digit begins
} SortPlan;

typedef struct {
  Shape shape;
  Rows rows;       // taken
  Groups in;       // taken by merges, with rows.count of them
  Groups groups;   // written
  u64 count;
  u32 word;        // of the key, that is sorted by
  u32 passes;      // of the word
  u32 first_pass;  // of all passes
  u32 pass;        // of the word
  u32 first_word;  // this is the first word that is sorted by
  u32 unused;
  void* keys[2];   // words of the keys, of shape.key_bytes, at most 8
  u32* order[2];   // of rows
  u64* digits;     // of each tile: what the tiles before it counted
  u64* segments;   // of each tile: how many groups begin before its end
  SortPlan* plan;
} SortLaunch;

#endif
