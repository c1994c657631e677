// What Go passes to the kernels: one Launch by value, which each kernel reads its part of. launch.go
// declares the same structs; a test compares sizes and offsets. Plain C.
#ifndef MPGA_KERNELS_PARAMS_H
#define MPGA_KERNELS_PARAMS_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;  // not uint64_t: atomics take this type
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;

enum { kColumnsMax = 24, kFoldsMax = 32, kKeyBytesMax = 64, kStateWordsMax = 8, kExactPlaces = 1074 + 1024 };

// ColumnType and FoldOp of operators.go.
enum { kInt32, kUint32, kInt64, kUint64, kFloat64, kInt128 };
enum {
  kCount, kSum64, kSum128, kSumFloat, kMin, kMax, kBitAnd, kBitOr, kBitXor,
  kMoments2, kMoments4, kComoments, kSumExact, kMinN, kMaxN,
  kCountDistinct, kQuantileCont, kQuantileDisc
};

typedef struct {
  u8 op, type, other_type;  // types of column and other
  u8 words;                 // of the state
  short column, other;      // -1: none
  u32 offset;               // words of the states before it
  u32 unit;                 // of kSumExact
} Fold;

typedef struct {
  u32 key_bytes;
  u32 num_folds;
  u32 num_columns;
  u32 state_words;  // of all folds
  Fold folds[kFoldsMax];
  u8 column_bytes[kColumnsMax];
} Shape;

typedef struct {
  u64 count;
  void* keys;
  void* columns[kColumnsMax];
  u32* valid[kColumnsMax];  // bitmaps; null: no value is NULL
} Rows;

typedef struct {
  u64 groups, rows, overflow, probes;
  u64 unused[4];
} GroupsStatus;

// Exponents of operators.go: 1 more than the highest bit, kExactPlaces less the lowest one, and whether a value is
// not finite.
typedef struct {
  u32 high, low, special, unused;
} Exponents;

typedef struct {
  u64 capacity;
  GroupsStatus* status;
  void* keys;
  u64* states[kFoldsMax];
} Groups;

// A table in device memory: a TableHeader, then slots + 1 slots of words. See table.cuh.
typedef struct {
  u64 groups;
  u64 unused[15];
} TableHeader;

typedef struct {
  u64 slots;
  u64* memory;
} Table;

// Rows [begin, end) of a partition: what one block aggregates. Whole: they are all of it.
typedef struct {
  u64 begin, end;
  u64 whole;
} WorkItem;

// Rows [begin, begin + count) of a partition of the first pass: what one block of the second scatters.
typedef struct {
  u64 begin;
  u32 count, partition;
} Tile;

// What blocks share while a partitioned input is worked on; zeroed before.
typedef struct {
  u64 num_whole;  // items that are whole partitions
  u64 num_parts;  // those behind them
  u64 next_item;
  u64 num_tiles;
  u64 unused[4];
} Work;

typedef struct {
  Shape shape;
  Rows rows;             // taken
  Rows out;              // written: partitions, or rows of no slot
  Groups in;             // taken by merges
  Groups groups;         // written
  Table table;
  GroupsStatus* status;  // of an insertion
  u64 seed;
  u32 radix_bits;        // log2 of the partitions
  u32 digit_bits;        // lower bits of a partition that a block tells apart: all, or those of a second pass
  u32 first_bits;        // upper ones, those of the first of two passes; or 0
  u32 tile_rows;         // of a block that scatters
  u32 slots;             // of a block's table
  u32 copies_bits;       // log2 of the copies of a block's states
  u32 homes;             // of a block's table: slots that a search begins at
  u32 shares;            // blocks that have a share of the keys each, of the same rows
  u32 probe_max;         // steps after which a row has no slot in the table
  u64 slot_begin;        // of the table, that a compaction reads
  u64 slot_end;
  u64 rows_per_item;     // at most; larger partitions are cut
  u64 rows_per_part;     // of a partition that is cut
  u64 rows_per_block;    // of a grid that cuts the rows in equal parts
  u64* offsets;          // of partitions, and the end
  u64* cursors;          // of partitions
  u64* first_cursors;    // of those of the first of two passes
  Tile* tiles;           // of the second of two passes
  WorkItem* items;
  Work* work;
  u32* registers;        // of a HyperLogLog sketch, one byte each
  Exponents* exponents;  // of each kSumExact
  u32* far;              // of blocks' states: the words in device memory
} Launch;

#endif
