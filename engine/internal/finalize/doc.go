// Package finalize turns finished groups into the record batches of a result:
//
//		groups: packed keys, states by fold -> keys unpacked, states finalized
//		     -> vector.Vector -> Arrow arrays -> batch
//
//	  - F1 (exact): a result of an exact fold is rounded once, so that it depends on the values only, not
//	    on their order.
//	  - F2 (bounded): a batch asks Finalizer.Room before it takes memory for lists or strings.
//	  - F3 (overflow): a sum that does not fit its type is ErrOverflow, never a wrong number, unless the
//	    query says wrap.
package finalize
