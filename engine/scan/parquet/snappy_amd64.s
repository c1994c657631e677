//go:build !portable

#include "textflag.h"
#include "go_asm.h"

// A window is up to 512 packed bytes. On the stack lies, by place in the window, how many bytes an element
// that begins there takes: its advance. The second element of a pair begins up to 61 bytes behind the window,
// so that these places have an advance, too. From PAIRS on lie, by place, the advances of pairs.
#define WINDOW 512
#define PAIRS 576

// What copies take, by kind; four times, since a shuffle looks at four bits.
DATA snappyCopies<>+0(SB)/8, $0x0503020005030200
DATA snappyCopies<>+8(SB)/8, $0x0503020005030200
GLOBL snappyCopies<>(SB), RODATA|NOPTR, $16

DATA snappyKind<>+0(SB)/4, $0x03030303
GLOBL snappyKind<>(SB), RODATA|NOPTR, $4

DATA snappyShuffled<>+0(SB)/4, $0x0f0f0f0f
GLOBL snappyShuffled<>(SB), RODATA|NOPTR, $4

DATA snappyLength<>+0(SB)/4, $0x3f3f3f3f
GLOBL snappyLength<>(SB), RODATA|NOPTR, $4

// A literal takes its tag, the length less 1 that is in the tag, and 1.
DATA snappyLiteral<>+0(SB)/4, $0x02020202
GLOBL snappyLiteral<>(SB), RODATA|NOPTR, $4

DATA snappyPlaces<>+0(SB)/8, $0x0706050403020100
DATA snappyPlaces<>+8(SB)/8, $0x0f0e0d0c0b0a0908
DATA snappyPlaces<>+16(SB)/8, $0x1716151413121110
DATA snappyPlaces<>+24(SB)/8, $0x1f1e1d1c1b1a1918
DATA snappyPlaces<>+32(SB)/8, $0x2726252423222120
DATA snappyPlaces<>+40(SB)/8, $0x2f2e2d2c2b2a2928
DATA snappyPlaces<>+48(SB)/8, $0x3736353433323130
DATA snappyPlaces<>+56(SB)/8, $0x3f3e3d3c3b3a3938
GLOBL snappyPlaces<>(SB), RODATA|NOPTR, $64

// ELEMENT parses the element at P: its bytes are at BX, and DX is how many. It jumps to RARE, with the tag in
// AX and the offset in CX, where the offset is less than DX (a copy that goes on in what it writes, or a long
// literal) or points before out. No branch depends on whether the element is a literal or a copy.
#define ELEMENT(P, RARE) \
	MOVBLZX (P), AX; \
	MOVL    (R11)(AX*8), BX; \
	BZHIL   BX, 1(P), CX; \
	ADDL    4(R11)(AX*8), CX; \
	MOVBLZX BH, DX; \
	CMPQ    CX, DX; \
	JCS     RARE; \
	MOVQ    DI, BX; \
	SUBQ    CX, BX; \
	CMPQ    BX, R10; \
	JLT     RARE; \
	LEAQ    1(P), CX; \
	TESTL   $3, AX; \
	CMOVQEQ CX, BX

// MOVE64 moves the element that ELEMENT parsed to DI: 64 bytes, of which the next element overwrites what is
// too much.
#define MOVE64 \
	VMOVDQU (BX), Y0; \
	VMOVDQU 32(BX), Y1; \
	VMOVDQU Y0, (DI); \
	VMOVDQU Y1, 32(DI); \
	ADDQ    DX, DI

// MOVE32 moves 32 bytes of it, and goes to MORE for the other 32 where the element has more than 32. The first
// move overwrites no byte of the second, since the offset of a copy is no less than its length.
#define MOVE32(MORE, BACK) \
	VMOVDQU (BX), Y0; \
	VMOVDQU Y0, (DI); \
	CMPL    DX, $32; \
	JHI     MORE; \
BACK: \
	ADDQ    DX, DI

// REST is where MOVE32 goes, and comes from.
#define REST(MORE, BACK) \
MORE: \
	VMOVDQU 32(BX), Y0; \
	VMOVDQU Y0, 32(DI); \
	JMP     BACK

// ADVANCES sets OUT to the advances of elements by their TAGS, which it overwrites. Long literals, which have
// their length behind the tag, get a wrong one, which nobody uses.
#define ADVANCES(TAGS, OUT) \
	VPTESTNMB Z31, TAGS, K1; \
	VPSRLW    $2, TAGS, Z4; \
	VPANDQ    Z30, Z4, Z4; \
	VPANDQ    Z29, TAGS, TAGS; \
	VPSHUFB   TAGS, Z27, OUT; \
	VPADDB    Z28, Z4, K1, OUT

// func snappyElementsVector(out, packed []byte, to, from int, tables *snappyTables, wide bool) (toEnd, fromEnd int)
//
// Decodes elements until one comes that is near the end of out or packed, has its length in more than a
// byte behind its tag, or copies from before out; len(out)-to >= 80, len(packed)-from >= 72. With wide, by
// AVX-512 VBMI, else by AVX2.
//
// What takes time is that the place of a tag depends on the tag before: a load, shifts, and the choice
// between literal and copy. So the advances of all places of a window are computed first, wherever elements
// begin: the next element then is a load and an addition away. With wide that is so for pairs of elements.
//
//	SI, DI    the next element in packed, and where it goes in out
//	R8        the end of the window, 128 bytes or more before the end of packed; SI is not before its start
//	R9        the last place in out for a pair, 144 bytes before the end: 64 for the first element, and 80,
//	          which the second writes at most, where it is a copy that goes on in what it writes
//	R14       the last place in packed for an element, 72 bytes before the end: ELEMENT and MOVE64 read 65
//	R10, R11  out and the tables
//	R15       the advances less the start of the window
TEXT ·snappyElementsVector(SB), 0, $1088-96
	MOVQ out_base+0(FP), R10
	MOVQ out_len+8(FP), R9
	MOVQ packed_base+24(FP), BX
	MOVQ packed_len+32(FP), R14
	MOVQ to+48(FP), DI
	MOVQ from+56(FP), SI
	MOVQ tables+64(FP), R11
	ADDQ R10, DI
	ADDQ BX, SI
	LEAQ -144(R10)(R9*1), R9
	LEAQ -72(BX)(R14*1), R14
	XORL R8, R8

loop:
	CMPQ SI, R8
	JCC  window
	CMPB wide+72(FP), $0
	JEQ  pairsNarrow

pairsWide:
	CMPQ    DI, R9
	JHI     single
	MOVBLZX (R15)(SI*1), R12
	MOVBLZX PAIRS(R15)(SI*1), R13
	ADDQ    SI, R12
	ELEMENT(SI, rare)
	MOVE32(more1, back1)
	ADDQ    R13, SI
	ELEMENT(R12, second)
	MOVE32(more2, back2)
	CMPQ    SI, R8
	JCS     pairsWide
	JMP     window

pairsNarrow:
	CMPQ    DI, R9
	JHI     single
	MOVBLZX (R15)(SI*1), R12
	ADDQ    SI, R12
	ELEMENT(SI, rare)
	MOVE32(more3, back3)
	MOVBLZX (R15)(R12*1), SI
	ADDQ    R12, SI
	ELEMENT(R12, second)
	MOVE32(more4, back4)
	CMPQ    SI, R8
	JCS     pairsNarrow

window: // from SI on
	MOVBLZX (SI), AX
	CMPL    AX, $(60<<2)
	JCS     2(PC)
	TESTL   $3, AX
	JEQ     single             // a long literal, which a window would lie in
	LEAQ    -56(R14), BX
	SUBQ    SI, BX
	JLE     single
	CMPQ    BX, $WINDOW
	JLE     2(PC)
	MOVQ    $WINDOW, BX
	LEAQ    (SI)(BX*1), R8
	MOVQ    SI, BX
	LEAQ    advances-1088(SP), R15
	CMPB    wide+72(FP), $0
	JEQ     narrow

	VPBROADCASTD    snappyKind<>(SB), Z31
	VPBROADCASTD    snappyLength<>(SB), Z30
	VPBROADCASTD    snappyShuffled<>(SB), Z29
	VPBROADCASTD    snappyLiteral<>(SB), Z28
	VBROADCASTI32X4 snappyCopies<>(SB), Z27
	VMOVDQU64       snappyPlaces<>(SB), Z26
	VMOVDQU64       (BX), Z0
	ADVANCES(Z0, Z1)

fillWide: // 64 advances, which need the tags of the next 64 places
	ADDQ      $64, BX
	VMOVDQU64 (BX), Z0
	ADVANCES(Z0, Z2)
	VPADDB    Z26, Z1, Z3      // the place of the second element, of 128
	VPERMI2B  Z2, Z1, Z3
	VPADDB    Z1, Z3, Z3
	VMOVDQU64 Z1, (R15)
	VMOVDQU64 Z3, PAIRS(R15)
	VMOVDQA64 Z2, Z1
	ADDQ      $64, R15
	CMPQ      BX, R8
	JCS       fillWide
	LEAQ      advances-1088(SP), R15
	SUBQ      SI, R15
	JMP       pairsWide

narrow:
	VPBROADCASTD   snappyLength<>(SB), Y5
	VPBROADCASTD   snappyShuffled<>(SB), Y6
	VPBROADCASTD   snappyLiteral<>(SB), Y7
	VBROADCASTI128 snappyCopies<>(SB), Y8
	VPXOR          Y9, Y9, Y9
	LEAQ           61(R8), CX      // behind where a second element may begin

fillNarrow:
	VMOVDQU  (BX), Y0
	VPSRLW   $2, Y0, Y1
	VPAND    Y5, Y1, Y1
	VPADDB   Y7, Y1, Y1
	VPAND    Y6, Y0, Y0
	VPSHUFB  Y0, Y8, Y0
	VPCMPEQB Y9, Y0, Y2
	VPAND    Y2, Y1, Y1
	VPOR     Y1, Y0, Y0
	VMOVDQU  Y0, (R15)
	ADDQ     $32, BX
	ADDQ     $32, R15
	CMPQ     BX, CX
	JCS      fillNarrow
	LEAQ     advances-1088(SP), R15
	SUBQ     SI, R15
	JMP      pairsNarrow

single: // an element near an end, where no window or no pair fits
	LEAQ    64(R9), BX
	CMPQ    DI, BX
	JHI     done
	CMPQ    SI, R14
	JHI     done
	ELEMENT(SI, rare)
	MOVE64
	MOVBLZX 2(R11)(AX*8), AX
	ADDQ    AX, SI
	JMP     loop

	REST(more1, back1)
	REST(more2, back2)
	REST(more3, back3)
	REST(more4, back4)

second:
	MOVQ R12, SI

rare: // the element at SI
	TESTL $3, AX
	JEQ   literal
	MOVQ  DI, BX
	SUBQ  CX, BX
	CMPQ  BX, R10
	JLT   done
	TESTL CX, CX
	JEQ   done
	MOVBLZX 2(R11)(AX*8), AX
	ADDQ    AX, SI
	ADDQ    DI, DX             // where the copy ends
	CMPQ    CX, $16
	JCC     far
	MOVBLZX snappyTables_periods(R11)(CX*1), AX
	SHLQ    $4, CX
	VMOVDQU (BX), X0
	VPSHUFB snappyTables_repeats(R11)(CX*1), X0, X0

repeat:
	VMOVDQU X0, (DI)
	ADDQ    AX, DI
	CMPQ    DI, DX
	JCS     repeat
	MOVQ    DX, DI
	JMP     loop

far:
	VMOVDQU (BX), X0
	VMOVDQU X0, (DI)
	ADDQ    $16, BX
	ADDQ    $16, DI
	CMPQ    DI, DX
	JCS     far
	MOVQ    DX, DI
	JMP     loop

literal: // a tag of 60 << 2 has its length less 1 in a byte behind it; short literals come at the start of out
	LEAQ    1(SI), BX
	CMPL    AX, $(60<<2)
	JCS     bounded
	JNE     done
	MOVBLZX 1(SI), DX
	INCL    DX
	INCQ    BX

bounded:
	LEAQ 64(R9), R12
	SUBQ DI, R12
	CMPQ DX, R12
	JGT  done
	LEAQ (BX)(DX*1), AX
	CMPQ AX, R14
	JHI  done
	MOVQ AX, SI
	ADDQ DI, DX

move:
	VMOVDQU (BX), Y0
	VMOVDQU Y0, (DI)
	ADDQ    $32, BX
	ADDQ    $32, DI
	CMPQ    DI, DX
	JCS     move
	MOVQ    DX, DI
	JMP     loop

done:
	VZEROUPPER
	MOVQ packed_base+24(FP), BX
	SUBQ R10, DI
	SUBQ BX, SI
	MOVQ DI, toEnd+80(FP)
	MOVQ SI, fromEnd+88(FP)
	RET
