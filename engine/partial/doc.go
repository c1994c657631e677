// Package partial writes the states of groups that leave the process, and reads states that are to
// be merged:
//
//		groups -> Writer: canonical keys, states -> blobs, a partition each
//		blobs of several sources -> Open: headers compared -> Pass: pages of states by partition -> cpuagg.Run.Adopt
//
//	  - B1 (canonical): keys and states are laid out by the query and the types of its columns
//	    alone, not by statistics.
//	  - B2 (once): a source has a random name; no merge takes the same name twice, at any depth.
//	  - B3 (whole): a blob that lacks its last frame, or a source that lacks a partition, is
//	    refused.
//
// engine.Partial, engine.Merge and engine.MergePartial are what a program calls. A Dir is a
// directory of blobs.
package partial
