//go:build !portable

#include "textflag.h"

// func packVectors(words *uint64, groups *uint32, rows int, base, span uint64) (suspect uint64)
//
// groups[i] = words[i] - base, 8 rows a step, with the words 256 rows ahead fetched. The first bit of suspect is set if some difference is above
// span, and maybe otherwise. rows > 0 is a multiple of 8.
TEXT ·packVectors(SB), NOSPLIT, $0-48
	MOVQ         words+0(FP), SI
	MOVQ         groups+8(FP), DI
	MOVQ         rows+16(FP), CX
	VPBROADCASTQ base+24(FP), Y10
	VPBROADCASTQ span+32(FP), Y11
	VPXOR        Y12, Y12, Y12

loop:
	PREFETCHT0 2048(SI)
	VMOVDQU    (SI), Y0
	VMOVDQU    32(SI), Y1
	VPSUBQ  Y10, Y0, Y0
	VPSUBQ  Y10, Y1, Y1
	VPSUBQ  Y0, Y11, Y2
	VPSUBQ  Y1, Y11, Y3
	VPOR    Y0, Y2, Y2
	VPOR    Y1, Y3, Y3
	VPOR    Y2, Y12, Y12
	VPOR    Y3, Y12, Y12
	VSHUFPS $0x88, Y1, Y0, Y0 // the low halves: 0 1 4 5 2 3 6 7
	VPERMQ  $0xD8, Y0, Y0
	VMOVDQU Y0, (DI)
	ADDQ    $64, SI
	ADDQ    $32, DI
	SUBQ    $8, CX
	JNZ     loop

	VEXTRACTI128 $1, Y12, X0
	VPOR         X0, X12, X0
	VPSRLDQ      $8, X0, X1
	VPOR         X1, X0, X0
	VMOVQ        X0, AX
	VZEROUPPER
	MOVQ         AX, suspect+40(FP)
	RET
