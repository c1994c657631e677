// Package sink writes record batches: to Parquet, Arrow IPC, CSV, TSV and JSON files, to
// directories of such files, and to the terminal as a table.
//
//	w, err := sink.Create(ctx, "out.parquet", schema, sink.Options{})
//	if err != nil {
//		return err
//	}
//	for batch := range batches {
//		if err := w.Write(batch); err != nil {
//			return err // the output is gone already
//		}
//	}
//	return w.Commit()
//
// An output is there whole, or not at all:
//
//	Create ──> Write* ──> Commit     the file is there, complete and durable
//	              └─────> Abort      nothing is there
//
// Invariants:
//
//   - S1 (whole or not at all): a file, or a directory of files, is written under a hidden name
//     beside its target, synced, renamed, and its directory synced. Every error removes what was
//     written. An object appears when it is complete.
//   - S2 (early): a target that cannot be written is refused by Create, before any work is done.
//   - S3 (no surprise): a value is written as it is, or refused with the name of its column.
//   - S4 (hidden): the files of an output have names that checkReplaced knows. Options.Overwrite
//     replaces a directory only if checkReplaced knows the names of all its entries.
//
// The encoders are in folders and know neither files nor directories:
//
//	sink ──> parquet ──> adapt
//	  │  └────────────────^      the types that a format holds
//	  └────> text                CSV, TSV, JSON, table
//
// Package sink itself keeps the encoder of Arrow IPC, which the library does.
package sink
