// Package adapt changes columns to the types that a file format holds.
//
//   - D1 (values stay): an adapted column has the values of the column, in a type that the format
//     has. A value that the type cannot hold is an error.
//   - D2 (early): Adapter.Schema refuses a type that the format cannot hold, with the name of the
//     column, before there are rows.
package adapt
