// Package fields makes columns of batches out of fields of text: what the decoders of CSV and JSON
// share once a row has been cut.
//
//	spans of a buffer -> Column -> arrays     column.go, convert.go
//	                     numbers, dates       number.go, format.go
//	                     codes, where strings repeat: codes.go, repeats.go
//
// A field is a span of a buffer, with flags for quotes and escapes. An unquoted field that is among
// the column's strings for NULL is NULL.
package fields
