package scaleout

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/mpga/mpga/engine/distributed"
)

// Job is a workload on a cluster, cut into tasks.
type Job struct {
	Workload Workload
	Cluster  Cluster
	Request  distributed.Request // how the plan is asked for; sizes alone count
	Counts   distributed.Counts
	Files    float64 // of the input
	Plan     float64 // bytes of plan.json
	Stages   []Stage

	splitManifest float64 // bytes of the manifest of a split

	// Of the packs that are merged to rows:
	states float64 // in all of them
	pairs  float64 // in all of them
	pack   float64 // bytes of one
}

// Stage is equal tasks, which begin when those of the stage before have ended.
type Stage struct {
	Name  string
	Tasks int
	Need  Need    // of a task
	Hot   Need    // of the task that has the fullest partition; Need where no task differs
	Lead  float64 // s in which the first tasks agree which attempts of the stage before count
	Asked float64 // requests of these tasks that read, until they have agreed
}

// Need is what a task takes.
type Need struct {
	CPU     float64 // s of a thread, which several threads share
	Threads float64 // that have something to do
	Serial  float64 // s of a thread, which no other shares
	In, Out float64 // bytes from and to the store
	Overlap bool    // reading goes on while threads compute

	InputGets  float64 // requests for the input
	Gets       float64 // requests in the work directory that read
	Puts       float64 // requests that write
	RoundTrips float64 // of these requests, those that wait for one another
	Packs      float64 // bytes of In that are states
	Temp       float64 // bytes on the disk at most
}

// What tasks do, as packages distributed and objects have it.
const (
	requestsAtOnce    = 32        // for pieces of files, of a process
	packsAtOnce       = 8         // that a merge copies
	partsAtOnce       = 2         // of an upload
	manifestsAtOnce   = 16        // that are read
	copiesAtOnce      = 8         // files that Commit gives their names
	smallAtOnce       = 4         // pieces of a file that is read from its start
	pieceBytes        = 1 << 20   // of a request for a range that was announced
	smallBytes        = 256 << 10 // of a request for a file that is read from its start
	partBytes         = 8 << 20   // of an upload
	namesListed       = 1000      // that a LIST returns
	splitBytesDefault = 128 << 20 // that a split reads
	rowGroupRows      = 1 << 18   // of a row group, as mpga writes them
	fileBytes         = 1 << 30   // of a file of the input: an assumption
)

// What was measured of the parts that do not depend on the query, on Zen 4 (docs/scale-out.md).
const (
	planBytesSplit = 107.0 // of plan.json, a split
	planBytesFile  = 213.0 // of plan.json, a file in an object store
	manifestBytes  = 190.0 // of a manifest, without the sizes of its blobs
	runBytes       = 55.0  // of the name of a run that was merged, in a blob's header
	opened         = 10e-3 // s of a thread that plans the statement and opens an engine and files
	planDecoded    = 50e6  // bytes/s of plan.json that are decoded and hashed
	sealDecoded    = 73e6  // bytes/s of a seal that are decoded
	blobWritten    = 30e-6 // s of a blob, without its states
	blobOpened     = 20e-6 // s of a blob that is merged, which one thread opens for all
	blobRead       = 80e-6 // s of a blob that is merged, without its states
	statesSplit    = 5.5e6 // states/s that are scattered again, of a partition whose table does not fit
	pairsSpilled   = 2e6   // values/s that are merged as sorted runs (docs/decisions/10-spilling.md)
	rowsOrdered    = 2.6e6 // rows/s that are sorted out of core (docs/decisions/16-order.md)
)

func ceil(x float64) float64 { return math.Ceil(x - 1e-9) }

// NewJob cuts a workload into tasks.
func NewJob(w Workload, c Cluster, r distributed.Request) (*Job, error) {
	if err := errors.Join(c.Validate(), w.validate(), r.ValidateCounts()); err != nil {
		return nil, err
	}
	if r.Slots == 0 {
		r.Slots = c.slots()
	}
	j := &Job{Workload: w, Cluster: c, Request: r}
	j.Counts = r.Count(distributed.Expected{
		Bytes: count(w.Rows * w.RowBytes), Rows: count(w.Rows), Groups: count(w.Groups), State: count(w.StateBytes), Values: w.Pairs > 0,
	})
	j.Files = ceil(w.Rows * w.FileRow / fileBytes)
	j.Plan = float64(j.Counts.Splits)*planBytesSplit + j.Files*planBytesFile
	splits := j.partial()
	if j.Counts.Combines > 0 {
		splits = j.combine()
	}
	j.mergeStage(splits)
	j.commit()
	return j, nil
}

// numberMost bounds rows, bytes and rates, so that their products stay numbers.
const numberMost = 1e18

// validate reports a field that is out of its bounds.
func (w *Workload) validate() error {
	positive := func(numbers ...float64) bool {
		return !slices.ContainsFunc(numbers, func(x float64) bool { return !(x > 0 && x <= numberMost) })
	}
	switch {
	case !positive(w.Rows, w.RowBytes, w.FileRow) || w.Rows < 1 || w.FileRow < w.RowBytes:
		return fmt.Errorf("%g rows of %g B, of %g in the files: want 1 to %g rows, and bytes above 0", w.Rows, w.RowBytes, w.FileRow, float64(numberMost))
	case !(w.Groups >= 1 && w.Groups <= w.Rows && w.Pairs >= 0 && w.Pairs <= w.Rows):
		return fmt.Errorf("%g groups, %g pairs of %g rows: want 1 or more groups, and no more of either than rows", w.Groups, w.Pairs, w.Rows)
	case !positive(w.StateBytes, w.PackedBytes, w.ResultBytes):
		return fmt.Errorf("states of %g B, %g in a pack, and rows of %g B: want more than 0", w.StateBytes, w.PackedBytes, w.ResultBytes)
	case !positive(w.RowsInCache, w.RowsBeyond, w.StatesWritten, w.StatesMerged, w.RowsMade) || w.Pairs > 0 && !positive(w.PairsMerged):
		return fmt.Errorf("rates of %g and %g rows/s, %g and %g states/s, %g groups/s, %g values/s: want more than 0",
			w.RowsInCache, w.RowsBeyond, w.StatesWritten, w.StatesMerged, w.RowsMade, w.PairsMerged)
	case !(w.Skew >= 0 && w.Skew <= 10):
		return fmt.Errorf("an exponent of %g: want 0 to 10", w.Skew)
	}
	return nil
}

// count returns a number as package distributed counts.
func count(x float64) int64 { return int64(min(x, math.MaxInt64/2)) }

// readWhole adds that a task reads a small object of which it knows nothing: its size, then pieces.
func (n *Need) readWhole(bytes float64) {
	pieces := max(ceil(bytes/smallBytes), 1)
	n.Gets += 1 + pieces
	n.RoundTrips += 1 + ceil(pieces/smallAtOnce)
}

// lists returns how many requests list the attempts of a stage, each of which has an object and a manifest.
func lists(attempts float64) float64 { return ceil(2 * attempts / namesListed) }

// copyRanges adds that a task copies a range of some bytes of each of some packs, of which a list of their
// stage has told the sizes.
func (n *Need) copyRanges(packs, bytes, ofStage float64) {
	pieces := max(ceil(bytes/pieceBytes), 1)
	n.asks(lists(ofStage))
	n.Gets += packs * pieces
	n.RoundTrips += packs * (1.0/packsAtOnce + (pieces-1)/requestsAtOnce)
}

// openFiles adds that a task asks for the sizes of some objects and reads them.
func (n *Need) openFiles(files, bytes float64) {
	n.copyRanges(files, bytes, 0)
	n.Gets += files
	n.RoundTrips += files / packsAtOnce
}

// upload adds that a task writes an object, some at a time.
func (n *Need) upload(bytes, objects, atOnce float64) {
	puts := 1.0
	if bytes > partBytes {
		puts = 2 + ceil(bytes/partBytes)
	}
	n.Puts += objects * puts
	n.RoundTrips += objects * max(puts/partsAtOnce, 1) / atOnce
}

// asks adds requests of a task that wait for one another.
func (n *Need) asks(gets float64) {
	n.Gets += gets
	n.RoundTrips += gets
}

// packBytes returns the bytes of a pack that has some states and pairs, of blobs that a number of runs
// were merged to.
func (j *Job) packBytes(states, pairs, runs float64) float64 {
	w := &j.Workload
	return states*w.PackedBytes + pairs*w.PackedPairBytes + float64(j.Counts.Partitions)*(w.HeaderBytes+runs*runBytes)
}

// manifest returns the bytes of the manifest of a pack, which lists the sizes of its blobs.
func (j *Job) manifest(pack float64) float64 {
	partitions := float64(j.Counts.Partitions)
	digits := math.Floor(math.Log10(max(pack/partitions, 1))) + 1
	return manifestBytes + partitions*(digits+1)
}

// partial adds the stage that reads the input.
func (j *Job) partial() (packs float64) {
	w, splits := &j.Workload, float64(j.Counts.Splits)
	rows := w.Rows / splits
	groups, pairs := w.groupsIn(rows), w.pairsIn(rows)
	rate := w.RowsBeyond
	if w.inCache(groups) {
		rate = w.RowsInCache
	}
	j.states, j.pairs = splits*groups, splits*pairs
	j.pack = j.packBytes(groups, pairs, 0)
	j.splitManifest = j.manifest(j.pack)
	chunk := w.RowBytes * rowGroupRows / float64(w.Columns)
	files := max(j.Files/splits, 1)
	n := Need{
		CPU: rows/rate + groups/w.StatesWritten, Threads: math.Inf(1), Overlap: true,
		Serial:    opened + j.Plan/planDecoded + float64(j.Counts.Partitions)*blobWritten,
		In:        rows*w.RowBytes + j.Plan,
		Out:       j.pack + j.splitManifest,
		InputGets: 3*files + ceil(rows/rowGroupRows)*float64(w.Columns)*max(ceil(chunk/pieceBytes), 1),
		Temp:      j.pack + j.spilled(groups, pairs),
	}
	n.RoundTrips = n.InputGets / requestsAtOnce
	n.readWhole(j.Plan)
	n.asks(partialGets)
	n.upload(j.pack, 1, 1)
	n.upload(j.splitManifest, 1, 1)
	j.Stages = append(j.Stages, Stage{Name: distributed.StagePartial, Tasks: j.Counts.Splits, Need: n, Hot: n})
	return splits
}

// sealed adds to a task that it reads which attempts of a stage of packs count.
func (j *Job) sealed(n *Need, packs float64) {
	seal := packs * j.manifest(j.pack)
	n.Serial += opened + j.Plan/planDecoded + seal/sealDecoded
	n.In += j.Plan + seal
	n.readWhole(j.Plan)
	n.readWhole(seal)
}

// How tasks seal a stage, as package distributed has it.
const (
	sealersMin   = 64    // attempts of a stage, up to which each task that finds no seal reads all manifests
	sealPatience = 30e-3 // s for each attempt, in which the others wait for the one sealer of more
	sealLook     = 0.1   // s until they look for its seal at first
	lookGrows    = 1.5   // times as long they wait each time
)

// lead returns the time in which the first tasks of a stage agree on the attempts of the stage before, and
// the requests of them that read. Each lists the attempts. Of few attempts each reads all manifests; of more
// one task does, and the others look for the seal now and then.
func (j *Job) lead(tasks int, attempts, manifest float64) (seconds, requests float64) {
	c, first := &j.Cluster, float64(min(tasks, j.Cluster.slots()))
	listed := lists(attempts)
	reading := func(readers float64) float64 {
		alone := c.Latency * (attempts/manifestsAtOnce + listed + 1) // the last writes the seal
		return max(alone, (first*listed+readers*attempts)/c.Gets, c.moving(attempts*manifest, readers).Sum()) + attempts*manifest/sealDecoded
	}
	if attempts <= sealersMin || first == 1 {
		return reading(first), first * (listed + attempts)
	}
	sealed := reading(1) + c.Latency // after it has written that it is the sealer
	requests = first*listed + attempts
	look := sealLook
	for ; seconds < sealed && seconds < attempts*sealPatience; look *= lookGrows {
		seconds += look
		requests += first - 1
	}
	if seconds < sealed { // the patience of the others has ended
		seconds += reading(first)
		requests += (first - 1) * attempts
	}
	return seconds, requests
}

// combine adds the stage that merges packs of neighbours.
func (j *Job) combine() (packs float64) {
	w, partitions := &j.Workload, float64(j.Counts.Partitions)
	splits, nodes := float64(j.Counts.Splits), float64(j.Counts.Combines)
	each := splits / nodes
	n := Need{
		CPU: j.states/nodes/w.StatesMerged + j.pairWork(j.pairs/nodes, j.pairs/nodes) + each*partitions*blobRead, Threads: min(partitions, w.Groups),
		Serial: each*partitions*blobOpened + partitions*blobWritten,
		In:     each * j.pack, Packs: each * j.pack,
		Temp: each * j.pack,
	}
	j.sealed(&n, splits)
	n.asks(partialGets)
	n.copyRanges(each, j.pack, splits)
	stage := Stage{Name: distributed.StageCombine, Tasks: j.Counts.Combines}
	stage.Lead, stage.Asked = j.lead(stage.Tasks, splits, j.manifest(j.pack))
	groups, pairs := w.groupsIn(w.Rows/nodes), w.pairsIn(w.Rows/nodes)
	j.states, j.pairs = nodes*groups, nodes*pairs
	j.pack = j.packBytes(groups, pairs, each)
	n.CPU += groups / w.StatesWritten
	n.Out = j.pack + j.manifest(j.pack)
	n.upload(j.pack, 1, 1)
	n.upload(j.manifest(j.pack), 1, 1)
	n.Temp += j.pack + j.spilled(j.states/nodes, j.pairs/nodes)
	stage.Need, stage.Hot = n, n
	j.Stages = append(j.Stages, stage)
	return nodes
}

// pairWork returns the s of a thread that merges values, of which a task has some: those that do not fit its
// part of the memory become sorted runs on its disk.
func (j *Job) pairWork(values, ofTask float64) float64 {
	switch w := &j.Workload; {
	case values == 0:
		return 0
	case j.spilled(0, ofTask) > 0:
		return values / min(w.PairsMerged, pairsSpilled)
	default:
		return values / w.PairsMerged
	}
}

// mergeStage adds the stage that makes rows of packs.
func (j *Job) mergeStage(packs float64) {
	w, tasks := &j.Workload, float64(j.Counts.Merges)
	partitions := float64(j.Counts.Partitions)
	part := j.pack / tasks // of a pack
	n := Need{
		CPU:     j.states/tasks/w.StatesMerged + w.Groups/tasks/w.RowsMade + packs*partitions/tasks*blobRead,
		Threads: min(partitions, w.Groups) / tasks, // one worker takes a partition
		Serial:  packs * partitions / tasks * blobOpened,
		In:      packs * part, Packs: packs * part,
		Out:  w.Groups / tasks * w.ResultBytes,
		Temp: packs * part,
	}
	if j.splitsAgain() {
		n.CPU += j.states / tasks / statesSplit
	}
	if j.splitsAgain() || j.pairs > 0 {
		n.Temp += j.spilled(j.states/tasks, j.pairs/tasks)
	}
	j.sealed(&n, packs)
	n.asks(mergeGets)
	n.copyRanges(packs, part, packs)
	n.upload(n.Out, 1, 1)
	n.upload(manifestBytes, 2, 1)
	stage := Stage{Name: distributed.StageMerge, Tasks: j.Counts.Merges, Need: n}
	stage.Lead, stage.Asked = j.lead(stage.Tasks, packs, j.manifest(j.pack))
	even := j.pairs / tasks
	stage.Need.CPU += j.pairWork(even, even)
	stage.Hot = stage.Need
	share := max(w.hotShare(), fullest(w.Groups, partitions)/w.Groups)
	if hot := j.pairs * share; hot > even { // one worker merges the values of a partition
		stage.Hot.CPU = n.CPU + j.pairWork((j.pairs-hot)/tasks, hot)
		stage.Hot.Serial += j.pairWork(hot, hot)
		more := (hot - even) * w.PackedPairBytes
		stage.Hot.In, stage.Hot.Packs, stage.Hot.Temp = n.In+more, n.Packs+more, n.Temp+more
	}
	j.Stages = append(j.Stages, stage)
}

// Requests of a task that ask for no pack, no plan and no seal: whether the output, the note of a commit and
// an earlier attempt are there; of a merge, too, what it has written.
const (
	partialGets = 4
	mergeGets   = 6
)

// table returns the bytes of the table of one partition's groups.
func (j *Job) table() float64 {
	w := &j.Workload
	return w.Groups / min(float64(j.Counts.Partitions), w.Groups) * (w.StateBytes + slotBytes)
}

// splitsAgain says whether a partition's states are scattered again because its table does not fit: it may
// take a sixth of the worker's part of the memory.
func (j *Job) splitsAgain() bool {
	return j.table() > j.Cluster.MemoryBytes/float64(j.Cluster.Threads)/6
}

// spilled returns the bytes that a task writes to its disk because groups do not fit its part of the
// memory.
func (j *Job) spilled(states, pairs float64) float64 {
	w, c := &j.Workload, &j.Cluster
	if states*w.StateBytes+pairs*w.PairBytes <= c.MemoryBytes/float64(c.slotsOfHost()) {
		return 0
	}
	return states*w.PackedBytes + pairs*w.PackedPairBytes
}

// commit adds the stage that makes the output.
func (j *Job) commit() {
	w, files := &j.Workload, float64(j.Counts.Merges)
	result := w.Groups * w.ResultBytes
	n := Need{Threads: 1}
	j.sealed(&n, j.packs())
	n.asks(mergeGets)
	n.upload(manifestBytes, 2, 1)
	switch {
	case w.Ordered:
		n.In, n.Out, n.Temp = n.In+result, result, result
		n.Serial += j.ordering()
		n.openFiles(files, result/files)
		n.upload(result, 1, 1)
	case result/files > copiedMax:
		n.In, n.Out = n.In+result, result
		n.Gets += result / smallBytes
		n.RoundTrips += result / smallBytes / requestsAtOnce
		n.upload(result/files, files, min(files, copiesAtOnce))
	default:
		n.Gets += 2 * files
		n.Puts += files
		n.RoundTrips += 3 * files / copiesAtOnce
		n.Serial += result / min(files, copiesAtOnce) / j.Cluster.Copy
	}
	stage := Stage{Name: distributed.StageCommit, Tasks: 1, Need: n, Hot: n}
	stage.Lead, stage.Asked = j.lead(1, files, 2*manifestBytes)
	j.Stages = append(j.Stages, stage)
}

// copiedMax is the largest object that S3 copies with one request; Commit sends the bytes of larger ones
// itself.
const copiedMax = 5 << 30

// ordering returns the s in which one thread sorts the rows of the result.
func (j *Job) ordering() float64 { return j.Workload.Groups / rowsOrdered }

// packs returns how many packs are merged to rows.
func (j *Job) packs() float64 {
	if j.Counts.Combines > 0 {
		return float64(j.Counts.Combines)
	}
	return float64(j.Counts.Splits)
}

// waves returns how often the slots take tasks of a stage.
func (j *Job) waves(s *Stage) float64 { return ceil(float64(s.Tasks) / float64(j.Cluster.slots())) }

// busy returns how many tasks of a stage run at a time, on average over its waves: so a last wave that
// leaves slots empty does not have the others take less than the store gives.
func (j *Job) busy(s *Stage) float64 { return float64(s.Tasks) / j.waves(s) }

// Parts returns the time of a task of a stage.
func (j *Job) Parts(s *Stage) Parts { return j.Cluster.task(&s.Need, j.busy(s)) }

// Hot returns the s of the task that has the fullest partition: most of the time it runs alone.
func (j *Job) Hot(s *Stage) float64 {
	return max(j.Parts(s).Sum(), j.Cluster.task(&s.Hot, 1).Sum())
}

// Seconds returns the time of a stage without stragglers and failures, where all tasks but the one of the
// fullest partition are equal. M3.
func (j *Job) Seconds(s *Stage) float64 {
	return s.Lead + max(j.waves(s)*j.Parts(s).Sum(), j.Hot(s))
}

// Traffic is what crosses the network, in bytes, and how often the store is asked.
type Traffic struct {
	Input  float64 // that is read
	States float64 // that are written to packs, each once
	Moved  float64 // that are read of packs
	Plans  float64 // that are read of plan.json and of seals
	Result float64 // that is written, without what Commit moves
	Gets   float64
	Puts   float64
}

// Traffic adds up what all tasks move and ask for, each once.
func (j *Job) Traffic() Traffic {
	w := &j.Workload
	t := Traffic{Input: w.Rows * w.RowBytes, Result: w.Groups * w.ResultBytes}
	for i := range j.Stages {
		s := &j.Stages[i]
		tasks, n := float64(s.Tasks), &s.Need
		t.Gets += tasks*(n.Gets+n.InputGets) + s.Asked
		t.Puts += tasks * n.Puts
		switch s.Name {
		case distributed.StagePartial:
			t.States += tasks * n.Out
			t.Plans += tasks * j.Plan
		case distributed.StageCombine:
			t.States += tasks * n.Out
		}
		if s.Name == distributed.StageCombine || s.Name == distributed.StageMerge {
			t.Moved += tasks * n.Packs
			t.Plans += tasks * (n.In - n.Packs)
		}
	}
	return t
}

// States returns how many states the merges take in.
func (j *Job) States() float64 { return j.states + j.pairs }
