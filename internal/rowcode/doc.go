// Package rowcode is expressions over the columns of a row as a list of instructions, for machines that
// have no compiler: devices, and Machine, which is their oracle.
//
//	expressions --Builder--> Program --Assemble--> Code --> a device, row by row
//	                            \-- Builder.Add: programs of programs
//
// A register holds 64 bits, an integer or a double, and two bits beside them: whether the value is NULL,
// and whether it is an error (an overflow, say). An error is a value like others, and spreads as NULL does:
// but AND, OR and Select leave it out where they do not reach it. A row whose results are errors is to be
// computed elsewhere, by who has words for it.
//
// A string has no register. It is an input whose word has a bit for each Pattern of the program, so that whoever
// has the strings asks them, each once where it comes again.
//
// Programs compute the condition before anything else, so that rows that do not pass take no further part.
package rowcode
