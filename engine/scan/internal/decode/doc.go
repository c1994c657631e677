// Package decode is the contract between the tables of package scan and the decoders of formats: an
// Input is cut in Parts, and a Part is read by a RowReader.
//
//	Input -> Part -> RowReader -> record batches
//	Grouped -> GroupPlan, GroupFilter -> GroupPart    where a filter can leave row groups out
//
// A RowReader may be more: Thrifty (it goes on after a refusal of memory), Needer (it tells what a
// refused step takes in all), RowPlacer (it names rows in errors).
//
// Errors are marked ErrCorrupt where the data contradict themselves, and located once. Guard makes
// an error of a library's panic over corrupt data.
package decode
