// Package regex matches regular expressions as the standard library does, several times as fast
// where the expression is simple: literals, classes that have all characters beyond ASCII or none,
// loops over them, groups and alternatives.
//
//	expression -> syntax tree -> program of insts -> run: backtracking with a bound
//	                        \--> regexp.Regexp    -> what no program can say, and what passes the bound
//
// A program is run from each place where a match may begin, which its first literal or its first
// bytes tell. Two things keep it from going back often: a loop that stops before a byte that it
// cannot take, where the next instruction wants that byte, never gives up what it took (possessive);
// and of what another loop gives up, only places are tried that begin as the next instruction wants.
//
//   - E1 (same answers): the standard library finds the same match and the same groups; it prefers
//     as Perl does.
//   - E2 (bounded): a string of n bytes takes at most stepsPerByte*(n+64) steps and stackMax states
//     here; then the standard library answers, in time that is linear in n.
package regex
