package kubernetes

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/mpga/mpga/engine/distributed"
	"github.com/mpga/mpga/engine/scan/dataset"
)

var rewrite = flag.Bool("rewrite", false, "renew the golden files")

// planOf returns a plan whose paths begin with a directory or a bucket.
func planOf(root string, combines int) *distributed.Plan {
	p := &distributed.Plan{
		ID: "0123456789abcdef", Version: "v1.2.3", Work: root + "/work/0123456789abcdef",
		Statement: "SELECT id1, sum(v1)\nFROM '" + root + "/in/*.parquet' GROUP BY id1",
		Inputs:    []distributed.Input{{Files: []dataset.Identity{{Path: root + "/in/a.parquet"}, {Path: root + "/in/b.parquet"}}}},
		Output:    distributed.Output{Path: root + "/out"},
	}
	p.Stages = []distributed.Stage{{Name: distributed.StagePartial, Tasks: 500}}
	if combines > 0 {
		p.Stages = append(p.Stages, distributed.Stage{Name: distributed.StageCombine, Tasks: combines})
	}
	p.Stages = append(p.Stages, distributed.Stage{Name: distributed.StageMerge, Tasks: 16}, distributed.Stage{Name: distributed.StageCommit, Tasks: 1})
	return p
}

// small are the least options.
func small() Options {
	return Options{Image: "mpga", PullPolicy: "IfNotPresent", User: User{65532, 65532}, Parallelism: 10, Retries: 3, CPU: "2", Memory: 4 << 30, Temp: 20 << 30}
}

// rendered returns the YAML of a plan.
func rendered(t *testing.T, p *distributed.Plan, o Options) []byte {
	t.Helper()
	if err := o.Validate(p); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Render(&b, p, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Would catch YAML that says something else than before. What changed on purpose is renewed with
// -rewrite; tests/kubernetes holds these files against the API of Kubernetes.
func TestRender(t *testing.T) {
	all := Options{
		Image: "registry.example/mpga:1.2.3", PullPolicy: "Always", Namespace: "batch", ServiceAccount: "reader",
		EnvFrom:      []EnvFrom{{"secret", "store"}, {"configmap", "region"}},
		Volumes:      []Volume{{"shared", "/shared", false}, {"shared", "/shared/in", true}},
		NodeSelector: []Label{{"pool", "batch"}, {"kubernetes.io/arch", "amd64"}},
		Tolerations:  []Toleration{{Key: "batch", Value: "yes", Effect: "NoSchedule"}, {Key: "spot", AnyValue: true}},
		User:         User{1000, 100}, Parallelism: 100, Retries: 5, MaxFailed: 50, Deadline: 6 * time.Hour, TTL: time.Hour,
		CPU: "500m", Memory: 1536 << 20, Temp: 100 << 30, GPUs: 2,
	}
	suspended, kept := small(), small()
	suspended.Suspend, suspended.GPUs, suspended.Namespace = true, 1, "batch"
	kept.Deadline, kept.TTL = 24*time.Hour, 24*time.Hour
	clouds := planOf("gs://bucket", 0)
	clouds.Work = "az://container/work/" + clouds.ID
	clouds.Output.Path = "s3://bucket/out"
	for _, c := range []struct {
		name string
		plan *distributed.Plan
		opt  Options
	}{
		{"objects", planOf("s3://bucket", 23), kept},
		{"volumes", planOf("/shared", 0), all},
		{"suspended", planOf("s3://bucket", 23), suspended},
		{"clouds", clouds, small()},
	} {
		path := filepath.Join("testdata", c.name+".yaml")
		got := rendered(t, c.plan, c.opt)
		if *rewrite {
			if err := os.WriteFile(path, got, 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", path, got, want)
		}
	}
}

// hostile are names that mean something in YAML, in a comment, to the kubelet or to this package.
var hostile = []string{
	"plain", "with space", " led", "trailed ", "a'b", `a"b`, `a\b`, `a\nb`, "a: b", "a #b", "#b", "- a", "[a", "{a: b}", "*a", "&a", "!a", "%a", "@a", "|", ">",
	"null", "~", "yes", "1e3", "0x10", "a\nb", "a\n---\nkind: Secret", "a\r\nb", "a\tb", "a\u0085b", "a\u2028b", "a\u2029b", "\ufeffa", "a\x7fb", "a\x01b", "a\u0090b",
	"$(HOME)", "$$(HOME)", "$HOME", "${name}", "${volumes}", "$", "a$", "%s%d", "ä", "日本", "😀", "\ufffd", "a\\u0041", strings.Repeat("long ", 200),
}

// documents parses YAML.
func documents(t *testing.T, text []byte) (all []any) {
	t.Helper()
	if err := yaml.Load(text, &all, yaml.WithAllDocuments()); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return all
}

// replaced returns a value of YAML with another text in the place of a name, doubling $ in arguments.
func replaced(value any, name, by string, arg bool) any {
	switch v := value.(type) {
	case string:
		if arg {
			by = strings.ReplaceAll(by, "$", "$$")
		}
		return strings.ReplaceAll(v, name, by)
	case []any:
		for i := range v {
			v[i] = replaced(v[i], name, by, arg)
		}
	case map[string]any:
		for key := range v {
			v[key] = replaced(v[key], name, by, key == "args")
		}
	}
	return value
}

const harmless = "NAME"

// checkHostile renders plans whose paths and statement have a name, and compares what the YAML says with
// what it says for a harmless name. K1, K2.
func checkHostile(t *testing.T, name string) {
	t.Helper()
	render := func(root, name string, volumes ...Volume) []any {
		p := planOf(root+name, 3)
		p.Statement, p.Version = name, name
		o := small()
		o.Volumes = volumes
		return documents(t, rendered(t, p, o))
	}
	compareNamed(t, name, render("s3://bucket/", name), render("s3://bucket/", harmless))
	if v, err := ParseVolume("claim:/" + name); err == nil && !v.ReadOnly {
		compareNamed(t, name, render("/", name, v), render("/", harmless, Volume{Claim: "claim", Path: "/" + harmless}))
	}
}

func compareNamed(t *testing.T, name string, got, want []any) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%q: %d documents, want %d", name, len(got), len(want))
	}
	for i := range want {
		if want := replaced(want[i], harmless, name, false); !reflect.DeepEqual(got[i], want) {
			t.Fatalf("%q:\n%v\nwant\n%v", name, got[i], want)
		}
	}
}

// Would catch a name that ends a comment or a text of YAML, begins a document, or is replaced by the
// kubelet.
func TestHostileNames(t *testing.T) {
	for _, name := range hostile {
		checkHostile(t, name)
	}
}

func FuzzNames(f *testing.F) {
	for _, name := range hostile {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if !utf8.ValidString(name) || strings.Contains(name, harmless) || strings.Contains(name, "\x00") {
			t.Skip("no text, or a name with what the test itself looks for")
		}
		checkHostile(t, name)
	})
}
