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
