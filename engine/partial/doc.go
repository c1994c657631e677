// Package partial holds the states of groups that leave the process, and reads them again to be merged:
//
//		groups -> Writer: canonical keys, states -> blobs, a partition each
//		blobs of several sources -> Open: headers compared -> Pass: pages of states by partition -> cpuagg.Run.Adopt
//
//	  - B1 (canonical): keys and states are laid out by the query and the types of its columns alone, not by statistics.
//	  - B2 (once): a source has one random name; no merge takes the same name twice, at any depth.
//	  - B3 (whole): a blob without its last frame, or a source without one of its partitions, is refused.
//
// engine.Partial, engine.Merge and engine.MergePartial are what a program calls. A Dir is a directory of blobs.
package partial
