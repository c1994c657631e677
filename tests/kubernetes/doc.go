// Package kubernetes holds what mpga dist kubernetes writes against Kubernetes itself, without a cluster:
//
//   - An API server's code reads the YAML, strictly, fills in defaults and validates it, and the code of pod
//     security admission looks at the pods.
//   - The Job controller makes pods of the Jobs, counts attempts and reads exit codes. The objects are in
//     memory. A kubelet of the tests runs the containers as processes of this machine, kills some of them,
//     loses some, and runs some twice.
//
// It is a module of its own, since Kubernetes' code is many modules, which neither mpga nor its other tests
// need. It knows mpga as a program alone:
//
//	go test .                    builds mpga and takes half a minute
//	go test -seed=7 .            with other faults
//	MPGA_BINARY=mpga go test .   with a program that is there
package kubernetes
