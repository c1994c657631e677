// What Go passes to the kernels of joins; launch_join.go and launch_gather.go declare the same structs. Plain C.
#ifndef MPGA_KERNELS_PARAMS_JOIN_H
#define MPGA_KERNELS_PARAMS_JOIN_H

#include "params.h"

enum {
  kJoinThreads = 256,
  kJoinRows = 4,        // rows of a thread, whose looks are under way together
  kPartitionThreads = 512,
  kPartitionRows = 4,   // likewise, of join_partitions
  kMergeTile = 4096,    // rows of both sides that a block of join_bounds merges
  kGatherRows = 8       // rows of a thread of gather_rows
};

// JoinKind of join.go.
enum { kJoinInner, kJoinLeft, kJoinSemi, kJoinAnti };

constexpr u32 kNoRow = 0xffffffff;

typedef struct {
  u64 count;
  const void* keys;
  const u32* valid;    // null: no key is NULL
  const u32* numbers;  // what a row is called in pairs; null: its place
} JoinSide;

typedef struct {
  u64 pairs;     // appended, with the pairs that found no room
  u64 repeated;  // build rows of keys that other rows have, where keys are said to be unique
  u64 unused[6];
} JoinStatus;

// Probe rows of a partition from its row `chunk * item_rows` on: what one block of join_partitions joins.
typedef struct {
  u32 partition, chunk;
} JoinItem;

// Zeroed before.
typedef struct {
  u64 items;      // that there are
  u64 next_item;
  u64 unused[6];
} JoinWork;

typedef struct {
  u32 key_bytes, kind, unique;
  u32 radix_bits;            // of partitions
  u32 table_rows, head_bits; // of a table in shared memory: its most rows, log2 of its chains
  u32 listed;                // join_rest: the bit of the rows that are listed
  u32 is_upper;              // join_bounds: bounds are behind equal keys
  JoinSide build, probe;
  u64 capacity;
  JoinStatus* status;
  u32* out_build;
  u32* out_probe;
  u32* matched;              // a bit for each build row, by what it is called; null: not wanted
  u64 slots;                 // of the table in device memory
  u64* table;                // slots: a tag of 32 bits, above it a row + 1; 0: empty
  u32* next;                 // of a build row: the next of its key + 1, or 0
  const u64* build_offsets;  // of partitions, and the end
  const u64* probe_offsets;
  u32* probe_matched;        // a bit for each probe row, by place
  JoinItem* items;
  JoinWork* work;
  u64 item_rows;
  u32* lower;                // of a probe row: where its key begins among the build rows
  u32* upper;                // and where it ends; null: keys are unique
  u32* filter;               // a Bloom filter
  u64 filter_words;
  u32* passed;               // a bit for each probe row
} JoinLaunch;

typedef struct {
  const void* from;
  const u32* from_valid;  // null: no value is NULL
  void* to;
  u32* to_valid;          // null: not wanted
  u64 bytes;              // of a value: 4, 8 or 16
} GatherColumn;

typedef struct {
  u64 count;              // of numbers, at most
  const u64* counted;     // of numbers, if that is less; null: count
  const u32* numbers;
  u64 num_columns;
  GatherColumn columns[kColumnsMax];
} GatherLaunch;

#endif
