// Package kubernetes writes the tasks of a plan as YAML for Kubernetes: a Job for each stage, which
// kubectl apply starts, and which a person can read and change.
//
//	plan --Render-->  ServiceAccount             who the pods are, to the object store
//	                  Job mpga-ID-partial        Indexed: a completion for each task
//	                  Job mpga-ID-combine        where the plan has the stage
//	                  Job mpga-ID-merge
//	                  Job mpga-ID-commit         one task
//
// The Jobs are made at once. The pods of a later stage wait for the stage before theirs: an init
// container looks into the work directory, so that neither a controller nor a right to call the API of
// Kubernetes is needed.
//
//   - K1 (quoting): a text that is not this package's own gets into the YAML by quote or quotedArg alone, in
//     comments too. Both write ASCII on one line.
//   - K2 (arguments): $ is doubled in arguments, since the kubelet replaces $(NAME) in them.
//   - K3 (room): a pod that waits holds its room. Unless later stages are suspended, few of their pods run
//     at a time, and the YAML says how many wait at most: more room than that lets the first stage go on.
//   - K4 (attempts): exit code 2 ends a Job at once, since no attempt helps. The loss of a node is no
//     attempt. All other ends of a pod are attempts.
//   - K5 (paths): a path of the plan that is no URL lies below the mount of a claim, so that pods see it
//     by the same name.
//
// Left out: running anything, and Helm.
package kubernetes
