//go:build !purego

#include "textflag.h"

// func streamLine(to, l *line)
//
// *to = *l, past the cache. to is a multiple of 16.
TEXT ·streamLine(SB), NOSPLIT, $0-16
	MOVQ   to+0(FP), DI
	MOVQ   l+8(FP), SI
	MOVOU  (SI), X0
	MOVOU  16(SI), X1
	MOVOU  32(SI), X2
	MOVOU  48(SI), X3
	MOVNTO X0, (DI)
	MOVNTO X1, 16(DI)
	MOVNTO X2, 32(DI)
	MOVNTO X3, 48(DI)
	MOVOU  64(SI), X0
	MOVOU  80(SI), X1
	MOVOU  96(SI), X2
	MOVOU  112(SI), X3
	MOVNTO X0, 64(DI)
	MOVNTO X1, 80(DI)
	MOVNTO X2, 96(DI)
	MOVNTO X3, 112(DI)
	RET

// func streamFence()
TEXT ·streamFence(SB), NOSPLIT, $0-0
	SFENCE
	RET

// func splitPairs(keys, args *uint64, pairs *[2]uint64, n int)
//
// A line of the cache is four pairs. Processors do not fetch ahead from one page of memory into the next.
TEXT ·splitPairs(SB), NOSPLIT, $0-32
	MOVQ keys+0(FP), DI
	MOVQ args+8(FP), DX
	MOVQ pairs+16(FP), SI
	MOVQ n+24(FP), CX
	SHRQ $2, CX
	JZ   done

loop:
	PREFETCHT0 2048(SI)
	MOVOU      (SI), X0
	MOVOU      16(SI), X1
	MOVOU      32(SI), X2
	MOVOU      48(SI), X3
	MOVO       X0, X4
	MOVO       X2, X5
	PUNPCKLQDQ X1, X0
	PUNPCKLQDQ X3, X2
	PUNPCKHQDQ X1, X4
	PUNPCKHQDQ X3, X5
	MOVOU      X0, (DI)
	MOVOU      X2, 16(DI)
	MOVOU      X4, (DX)
	MOVOU      X5, 16(DX)
	ADDQ       $64, SI
	ADDQ       $32, DI
	ADDQ       $32, DX
	DECQ       CX
	JNZ        loop

done:
	RET
