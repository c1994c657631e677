// Package ipc decodes Arrow IPC: files, which have a footer, and streams.
//
//	footer -> blocks -> runs of record batches, each a split   file.go
//	stream -> one split                                        stream.go
//	split  -> schema, dictionaries, batches as one stream -> checked messages -> arrow-go's reader
//	                                                         message.go
//
// The invariants have their numbers in package scan:
//
//   - S2 (positions): the rows of a file's record batches are counted by their headers.
//   - S3 (no panic): the lengths in a message are checked before arrow-go allocates by them, and
//     the arrays of a batch are validated before they are handed on.
//   - S5 (dictionaries): a file that replaces a dictionary is an error; a stream may.
//   - S8 (budget): a message is read once there is room for its body, decompressed.
//
// What the package leaves out: reading single columns (a record batch is read whole).
package ipc
