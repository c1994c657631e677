package kubernetes

import (
	"strings"
	"testing"

	"github.com/mpga/mpga/engine/distributed"
)

// Would catch a flag's value that is read as another, and one that is let through to Kubernetes, which
// refuses it when the Jobs are made.
func TestFlags(t *testing.T) {
	check := func(got any, err error, want any) {
		t.Helper()
		if want == nil != (err != nil) || err == nil && got != want {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	for text, want := range map[string]any{
		"data:/data": Volume{"data", "/data", false}, "data:/data/in:ro": Volume{"data", "/data/in", true}, "a.b-c:/x y": Volume{"a.b-c", "/x y", false},
		"data": nil, "data:": nil, "data:data": nil, ":/data": nil, "data:/": nil, "data:/data/": nil, "data:/a/../b": nil, "data:/a:b": nil, "Data:/data": nil, "data:/\xff": nil,
		"-a:/data": nil, "data:/data:ro:ro": nil,
	} {
		v, err := ParseVolume(text)
		check(v, err, want)
	}
	for text, want := range map[string]any{
		"secret/store": EnvFrom{"secret", "store"}, "configmap/a.b": EnvFrom{"configmap", "a.b"},
		"store": nil, "secret/": nil, "secrets/store": nil, "secret/a/b": nil, "secret/A": nil,
	} {
		v, err := ParseEnvFrom(text)
		check(v, err, want)
	}
	for text, want := range map[string]any{
		"pool=batch": Label{"pool", "batch"}, "pool=": Label{"pool", ""}, "cloud.example/Pool=A_1": Label{"cloud.example/Pool", "A_1"},
		"pool": nil, "=batch": nil, "po ol=x": nil, "pool=x y": nil, "a/b/c=d": nil, "pool=-x": nil, "/pool=x": nil, "pool=" + strings.Repeat("x", 64): nil,
	} {
		v, err := ParseLabel(text)
		check(v, err, want)
	}
	for text, want := range map[string]any{
		"spot": Toleration{Key: "spot", AnyValue: true}, "spot:NoExecute": Toleration{Key: "spot", AnyValue: true, Effect: "NoExecute"},
		"spot=yes": Toleration{Key: "spot", Value: "yes"}, "a.b/spot=yes:NoSchedule": Toleration{Key: "a.b/spot", Value: "yes", Effect: "NoSchedule"},
		"": nil, "spot:": nil, "spot:Never": nil, "=yes": nil, "spot=a b": nil,
	} {
		v, err := ParseToleration(text)
		check(v, err, want)
	}
	for text, want := range map[string]any{
		"1000": User{1000, 1000}, "1000:100": User{1000, 100}, "0": nil, "1000:0": nil, "": nil, "mpga": nil, "1:2:3": nil, "-1": nil, "99999999999": nil,
	} {
		v, err := ParseUser(text)
		check(v, err, want)
	}
}

// Would catch an option out of its bounds that is let through.
func TestValidate(t *testing.T) {
	for _, c := range []struct {
		change func(*Options)
		want   string
	}{
		{func(*Options) {}, ""},
		{func(o *Options) { o.Image = "a b" }, `image "a b": want`},
		{func(o *Options) { o.PullPolicy = "never" }, `pull policy "never": want`},
		{func(o *Options) { o.Namespace = "a.b" }, `namespace "a.b": want`},
		{func(o *Options) { o.ServiceAccount = "A" }, `service account "A": want`},
		{func(o *Options) { o.User.GID = 0 }, `user 65532:0: root`},
		{func(o *Options) { o.Parallelism = 0 }, `parallelism 0: want`},
		{func(o *Options) { o.Retries = -1 }, `retries -1: want`},
		{func(o *Options) { o.MaxFailed = -1 }, `-1 tasks that may fail: want`},
		{func(o *Options) { o.Deadline = 1 }, `deadline 1ns: want`},
		{func(o *Options) { o.TTL = -1 }, `time to live -1ns: want`},
		{func(o *Options) { o.CPU = "0.0" }, `cpu "0.0": want`},
		{func(o *Options) { o.CPU = "2 # x" }, `cpu "2 # x": want`},
		{func(o *Options) { o.Memory = 100 << 20 }, `memory 104857600 B: a task takes 160Mi or more`},
		{func(o *Options) { o.Temp = 1 }, `disk 1 B: want 1Mi or more`},
		{func(o *Options) { o.GPUs = -1 }, `-1 GPUs: want`},
		{func(o *Options) { o.Volumes = []Volume{{"a", "/a", false}, {"b", "/a", false}} }, `volume b: something else is mounted at /a`},
		{func(o *Options) { o.Volumes = []Volume{{"a", "/tmp", false}} }, `volume a: something else is mounted at /tmp`},
		{func(o *Options) { o.NodeSelector = []Label{{"a", "1"}, {"a", "2"}} }, `node selector a: "1" and "2"`},
	} {
		o := small()
		c.change(&o)
		checkRefusal(t, o.Validate(planOf("s3://bucket", 0)), c.want)
	}
}

func checkRefusal(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
		t.Errorf("%v; want %q", err, want)
	}
}

// Would catch a plan with paths that pods do not have, and a mount that is taken for another whose name
// begins alike. K5.
func TestPaths(t *testing.T) {
	local, mixed := planOf("/shared", 0), planOf("s3://bucket", 0)
	mixed.Inputs[0].Files[1].Path = "/data/b.parquet"
	root := planOf("/shared", 0)
	root.Output.Path = "/shared"
	for _, c := range []struct {
		plan    *distributed.Plan
		volumes []string
		want    string
	}{
		{local, nil, `input "/shared/in/a.parquet" is a path of this machine, and no --volume holds it: give --volume CLAIM:/shared/in `},
		{local, []string{"c:/shared"}, ""},
		{local, []string{"c:/share"}, `input "/shared/in/a.parquet" is`},
		{local, []string{"c:/shared/in", "d:/shared/work"}, `output "/shared/out" is a path of this machine, and no --volume holds it: give --volume CLAIM:/shared `},
		{local, []string{"c:/shared:ro"}, `work directory "/shared/work/0123456789abcdef" is written, and --volume c:/shared:ro is read only`},
		{local, []string{"c:/shared:ro", "d:/shared/work"}, `output "/shared/out" is written`},
		{local, []string{"c:/shared", "d:/shared/work:ro"}, `work directory "/shared/work/0123456789abcdef" is written, and --volume d:`},
		{local, []string{"c:/shared", "d:/shared/in:ro"}, ""},
		{mixed, nil, `input "/data/b.parquet" is`},
		{mixed, []string{"c:/data:ro"}, ""},
		{root, []string{"c:/shared"}, `output "/shared" is a path`}, // a mount cannot be replaced
	} {
		o := small()
		for _, text := range c.volumes {
			v, err := ParseVolume(text)
			if err != nil {
				t.Fatal(err)
			}
			o.Volumes = append(o.Volumes, v)
		}
		checkRefusal(t, o.Validate(c.plan), c.want)
	}
}
