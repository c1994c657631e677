// Package reserve has the allocator of one reader: it takes memory where the budget of the query
// has room for it, and ends the step of its reader by a refusal where there is none (S8).
package reserve
