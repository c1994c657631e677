//go:build !portable

#include "textflag.h"

// func streamRows(next *cursor, lines *line, shift uint64, keys, args, hashes *uint64, n int) (rows int)
TEXT ·streamRows(SB), NOSPLIT, $0-64
	MOVQ next+0(FP), DI
	MOVQ lines+8(FP), SI
	MOVQ shift+16(FP), CX
	MOVQ keys+24(FP), R8
	MOVQ args+32(FP), R9
	MOVQ hashes+40(FP), R10
	MOVQ n+48(FP), R11
	XORL BX, BX             // row

row:
	MOVQ   (R10)(BX*8), AX
	SHRQ   $1, AX
	SHRQ   CX, AX
	SHLQ   $4, AX           // 16 bytes of a cursor, 8 times as many of a line
	MOVQ   (DI)(AX*1), DX
	CMPQ   DX, 8(DI)(AX*1)
	JEQ    done
	LEAQ   (SI)(AX*8), R12
	MOVL   DX, R13
	ANDL   $0x70, R13
	MOVQ   (R8)(BX*8), X0
	MOVHPS (R9)(BX*8), X0
	MOVUPS X0, (R12)(R13*1)
	ADDQ   $16, DX
	MOVQ   DX, (DI)(AX*1)
	TESTL  $0x7F, DX
	JZ     full

next:
	INCQ BX
	CMPQ BX, R11
	JLT  row

done:
	MOVQ BX, rows+56(FP)
	RET

full:
	MOVOU  (R12), X0
	MOVOU  16(R12), X1
	MOVOU  32(R12), X2
	MOVOU  48(R12), X3
	MOVNTO X0, -128(DX)
	MOVNTO X1, -112(DX)
	MOVNTO X2, -96(DX)
	MOVNTO X3, -80(DX)
	MOVOU  64(R12), X0
	MOVOU  80(R12), X1
	MOVOU  96(R12), X2
	MOVOU  112(R12), X3
	MOVNTO X0, -64(DX)
	MOVNTO X1, -48(DX)
	MOVNTO X2, -32(DX)
	MOVNTO X3, -16(DX)
	JMP    next

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
