// Package devicetest holds a kernels.Device to its contract: one suite for all implementations, for
// tests alone.
//
//	Cases -> Data -> device memory -> operator -> groups -+- Check
//	           +----> Go map ------------> Answer --------+
//
// Memory around everything that an operator is given is guarded, and memory that it is to write is
// poisoned. Integers must agree to the bit, floating-point sums to the rounding of any order.
package devicetest
