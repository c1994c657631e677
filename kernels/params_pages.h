// What Go passes to the kernels that decode pages; launch_pages.go declares the same structs. Plain C.
#ifndef MPGA_KERNELS_PARAMS_PAGES_H
#define MPGA_KERNELS_PARAMS_PAGES_H

#include "params.h"

enum { kExpandedHead = 16 };  // bytes
enum { kExpandedDamaged = 0xffffffff };

enum {
  kPagesThreads = 128,
  kPageWarps = kPagesThreads / 32,
  kStepRows = 1024,  // that a warp decodes by itself
  kPageColumnsMax = 32
};

// PageLevels of pages.go.
enum { kLevelsNone, kLevelsPrefixed, kLevelsSized };

// PageApart of pages.go.
enum { kApartNone, kApartPlain, kApartNowhere };

// PageStatus of pages.go.
enum { kPageDone, kPageOutside, kPageLevels, kPageWidth, kPageEnds, kPageCode, kPageNull };

// PageForm of pages.go.
enum { kFormWhole, kFormInt8, kFormInt16, kFormUint8, kFormUint16, kFormFloat,
       kFormInt32Double, kFormUint32Double, kFormInt64Double, kFormUint64Double, kFormLow, kFormBig };

// Page of pages.go.
typedef struct {
  u64 from, dictionary, to, levels_from;
  u32 bytes, rows, entries, level_bytes, levels, first_step, apart, head;
} Page;

// Where a warp begins to decode kStepRows rows of a page: the heads of runs, from the begin of the
// page, and how many values of the runs lie before the rows.
typedef struct {
  u32 page, index;  // of the step in the page
  u32 level_at, level_skip;
  u32 rank;  // rows of the page before these that are not NULL
  u32 code_at, code_skip;
  u32 unused;
} Step;

typedef struct {
  const u8* memory;  // and kPagesPad bytes more
  u64 memory_bytes;
  const Page* pages;
  u64 count;
  u64 num_steps;
  Step* steps;
  void* values;  // of rows
  u64 rows;
  u32* valid;    // a bitmap, all bits 0 before; null: no row is NULL
  u32* status;   // by page
  u64 width;     // bytes of a value: 4 or 8, of kFormBig up to 8
  u64 numbers;   // not 0: a value that is 0 is none
  u64 form;      // PageForm
} PagesLaunch;

// The blocks of a column begin with first_blocks of it.
typedef struct {
  u32 num_columns, unused;
  u32 first_blocks[kPageColumnsMax];
  PagesLaunch columns[kPageColumnsMax];
} ColumnsLaunch;

#endif
