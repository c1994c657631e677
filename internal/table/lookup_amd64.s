//go:build !portable

#include "textflag.h"

// CANDIDATE leaves in AX the number of the first slot, of four from that of row BX's hash on, that has the
// row's salt; it jumps where there is none, and where there are no four slots.
#define CANDIDATE(missed) \
	MOVQ         (R10)(BX*8), AX; \
	MOVQ         AX, CX;          \
	ANDQ         R8, CX;          \
	CMPQ         CX, R14;         \
	JHI          missed;          \
	LEAQ         (SI)(CX*8), CX;  \
	SHRQ         $21, AX;         \ // the salt is the low half
	VMOVD        AX, X0;          \
	VPBROADCASTD X0, Y0;          \
	VPCMPEQD     (CX), Y0, Y0;    \
	VMOVMSKPS    Y0, AX;          \
	ANDL         $0xAA, AX;       \ // the upper halves, where slots have theirs
	JZ           missed;          \
	TZCNTL       AX, AX;          \
	MOVL         -4(CX)(AX*4), AX; \
	SUBL         $1, AX;          \
	JCS          missed           // a slot that is empty, and a salt of 0

// func lookUpOne(slots *uint64, slotMask uint64, known, keys, hashes *uint64, rows int, numbers, missed *uint32) int
TEXT ·lookUpOne(SB), NOSPLIT, $0-72
	MOVQ slots+0(FP), SI
	MOVQ slotMask+8(FP), R8
	MOVQ known+16(FP), DI
	MOVQ keys+24(FP), R9
	MOVQ hashes+32(FP), R10
	MOVQ rows+40(FP), R11
	MOVQ numbers+48(FP), R12
	MOVQ missed+56(FP), R13
	LEAQ -3(R8), R14
	XORL BX, BX             // row
	XORL DX, DX             // missed so far

row:
	CANDIDATE(miss)
	MOVQ (DI)(AX*8), CX
	CMPQ CX, (R9)(BX*8)
	JNE  miss
	MOVL AX, (R12)(BX*4)
	INCQ BX
	CMPQ BX, R11
	JLT  row
	JMP  done

miss:
	MOVL BX, (R13)(DX*4)
	INCQ DX
	INCQ BX
	CMPQ BX, R11
	JLT  row

done:
	VZEROUPPER
	MOVQ DX, ret+64(FP)
	RET

// func lookUpTwo(slots *uint64, slotMask uint64, known, keys, hashes *uint64, rows int, numbers, missed *uint32) int
TEXT ·lookUpTwo(SB), NOSPLIT, $0-72
	MOVQ slots+0(FP), SI
	MOVQ slotMask+8(FP), R8
	MOVQ known+16(FP), DI
	MOVQ keys+24(FP), R9
	MOVQ hashes+32(FP), R10
	MOVQ rows+40(FP), R11
	MOVQ numbers+48(FP), R12
	MOVQ missed+56(FP), R13
	LEAQ -3(R8), R14
	XORL BX, BX
	XORL DX, DX

row:
	CANDIDATE(miss)
	MOVQ    AX, CX
	SHLQ    $4, CX
	VMOVDQU (DI)(CX*1), X0
	VPXOR   (R9), X0, X0
	VPTEST  X0, X0
	JNE     miss
	MOVL    AX, (R12)(BX*4)
	ADDQ    $16, R9
	INCQ    BX
	CMPQ    BX, R11
	JLT     row
	JMP     done

miss:
	MOVL BX, (R13)(DX*4)
	INCQ DX
	ADDQ $16, R9
	INCQ BX
	CMPQ BX, R11
	JLT  row

done:
	VZEROUPPER
	MOVQ DX, ret+64(FP)
	RET
