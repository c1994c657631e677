// Package nested writes lists, structs and maps as strings of bytes, so that whatever groups, joins, sorts
// and stores strings does so with them.
//
// A value is written by its type, which the column has:
//
//		whole number, date, time   how many bytes follow, and as many of the number, the highest first
//		float                      the bits in the order of the values, one NaN above all, one zero
//		string                     its bytes, 00 as 00 FF, and 00 behind them
//		struct                     each field: 01 and the value, or 02 for NULL
//		list                       each element: 01 and the value, or 02 for NULL; 00 behind them
//		map                        a list of structs of a key and a value, in their order
//
//	  - N1 (equality): values are equal where their strings are equal.
//	  - N2 (order): strings are in the order of the values, as DuckDB has it: a NULL within a value comes last,
//	    and a list before the lists that begin with it.
//	  - N3 (parts): the string of an element or a field is a part of the string of the list or the struct.
//	  - N4 (ends): a string of a type tells where it ends, whatever follows.
//
// The package leaves out the value NULL itself, which a bitmap has, and text for people, which internal/expr has.
package nested
