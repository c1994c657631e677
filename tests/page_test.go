package tests

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	neturl "net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var pictures = flag.String("pictures", "", "folder for pictures of the server's page")

// browser is a browser that shows the page of a server.
type browser struct {
	t   *testing.T
	ctx context.Context
}

// startBrowser starts a browser. It skips the test where there is no Chromium.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "headless-shell"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		t.Skip("there is no Chromium")
	}
	b := &browser{t: t}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir()),
		chromedp.NoSandbox, chromedp.Flag("disable-dev-shm-usage", true), chromedp.WindowSize(1200, 900))
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	var cancelTime context.CancelFunc
	b.ctx, cancelTime = context.WithTimeout(ctx, 5*time.Minute)
	t.Cleanup(cancelTime)
	if err := chromedp.Listen(b.ctx, func(event any) {
		if e, ok := event.(*runtime.EventExceptionThrown); ok {
			t.Errorf("the page's script: %+v", *e.ExceptionDetails)
		}
	}); err != nil {
		t.Fatal(err)
	}
	return b
}

// serve starts a server and returns the address of its page.
func serve(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(buildCommand(t), append([]string{"serve", "--listen", "localhost:0", "--http", "localhost:0", "--drain-timeout", "1s"}, args...)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(stderr)
	pattern := regexp.MustCompile(`url=http://127\.0\.0\.1:(\d+)/`)
	for lines.Scan() {
		if m := pattern.FindStringSubmatch(lines.Text()); m != nil {
			go func() { _, _ = io.Copy(io.Discard, stderr) }() // until the process ends
			return "http://localhost:" + m[1] + "/"
		}
	}
	t.Fatal("the server tells no address of a page")
	return ""
}

// do has the browser do something.
func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatalf("%v; the page: %.1000s", err, b.text("body"))
	}
}

// eval returns the value of an expression of JavaScript.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// text returns the text of an element as people see it.
func (b *browser) text(selector string) string {
	b.t.Helper()
	quoted, _ := json.Marshal(selector)
	return eval[string](b, fmt.Sprintf("document.querySelector(%s)?.innerText ?? ''", quoted))
}

// wait waits until the text of an element has a part.
func (b *browser) wait(selector, part string) {
	b.t.Helper()
	for end := time.Now().Add(20 * time.Second); !strings.Contains(b.text(selector), part); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("%s has no %q: %.300q; the page: %.1000s", selector, part, b.text(selector), b.text("body"))
		}
	}
}

// count waits until a number of elements match a selector.
func (b *browser) count(selector string, want int) {
	b.t.Helper()
	quoted, _ := json.Marshal(selector)
	all := fmt.Sprintf("document.querySelectorAll(%s).length", quoted)
	for end := time.Now().Add(20 * time.Second); eval[int](b, all) != want; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("%d of %s, want %d; the page: %.1000s", eval[int](b, all), selector, want, b.text("body"))
		}
	}
}

// keys types.
func (b *browser) keys(keys string, modifiers ...chromedp.KeyOption) {
	b.t.Helper()
	b.do(chromedp.KeyEvent(keys, modifiers...))
}

var control = chromedp.KeyModifiers(2)

// focused returns the ID, or the name in the page, of the element with the focus.
func (b *browser) focused() string {
	b.t.Helper()
	return eval[string](b, "document.activeElement.id || document.activeElement.dataset.focus || document.activeElement.tagName")
}

// tabTo types Tab until an element has the focus.
func (b *browser) tabTo(id string, modifiers ...chromedp.KeyOption) {
	b.t.Helper()
	for range 60 {
		b.keys(kb.Tab, modifiers...)
		if b.focused() == id {
			return
		}
	}
	b.t.Fatalf("no Tab leads to %s", id)
}

// run opens the list of runs, waits for a text in it, and returns the ID of one run: 0 is the latest, -1 the first.
func (b *browser) run(text string, at int) string {
	b.t.Helper()
	eval[string](b, "location.hash = '#runs'")
	b.wait("#runs", text)
	return strings.TrimPrefix(eval[string](b, fmt.Sprintf("[...document.querySelectorAll('#runs a[data-focus]')].at(%d).dataset.focus", at)), "run ")
}

// picture takes pictures of the page, light, dark and narrow, where somebody wants to look at them.
func (b *browser) picture(name string) {
	b.t.Helper()
	if *pictures == "" {
		return
	}
	for _, look := range []struct {
		name, scheme string
		width        int64
	}{{"light", "light", 1200}, {"dark", "dark", 1200}, {"narrow", "light", 420}} {
		b.looks(look.scheme, look.width)
		image, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			b.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(*pictures, name+"-"+look.name+".png"), image, 0o666); err != nil {
			b.t.Fatal(err)
		}
	}
	b.looks("light", 1200)
}

// looks has the page be so wide, and light or dark.
func (b *browser) looks(scheme string, width int64) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	}); err != nil {
		b.t.Fatal(err)
	}
	b.do(chromedp.EmulateViewport(width, 900), chromedp.Sleep(100*time.Millisecond))
}

// open opens the page of an address.
func (b *browser) open(url string) {
	b.t.Helper()
	b.do(chromedp.Navigate(url), chromedp.WaitReady("body"))
}

// statement replaces the statement in the editor, by keys.
func (b *browser) statement(text string) {
	b.t.Helper()
	b.do(chromedp.Focus("#text"))
	b.keys("a", control)
	b.keys(text)
	b.keys(kb.Escape)
}

const flightsTable = "flights=testdata/flights-2001.parquet"

// Would catch a page that does not load or takes long to, whose policy refuses its own scripts, and a
// statement that is not completed, checked, run, sorted, drawn or explained, all by keys.
func TestPage(t *testing.T) {
	b := startBrowser(t)
	url, paint := serve(t, "--table", flightsTable), math.Inf(1)
	for range 3 { // the least: the first time, the browser is still starting
		b.open(url)
		b.wait("#tables", "destination")
		paint = min(paint, eval[float64](b, "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 1e9"))
	}
	t.Logf("first contentful paint after %.0f ms", paint)
	if paint > 1000 {
		t.Errorf("the page is painted after %.0f ms", paint)
	}
	if focused := b.focused(); focused != "text" {
		t.Errorf("the focus is at %q", focused)
	}
	b.writes()
	b.sorts()
	b.tabs()
}

// writes completes a statement, and has a wrong statement refused at its place.
func (b *browser) writes() {
	b.statement("select dest from flights")
	eval[string](b, "document.querySelector('#text').setSelectionRange(11, 11), ''")
	b.keys(" ", control)
	b.wait("#offers", "destination")
	b.picture("completion")
	b.keys(kb.Tab)
	if value := eval[string](b, "document.querySelector('#text').value"); value != "select destination from flights" {
		b.t.Errorf("completed: %q", value)
	}
	b.statement("select origin,\n  delya from flights")
	b.keys(kb.Enter, control)
	b.wait("#place", "Line 2, column 3")
	if wrong := b.text("#shown .wrong"); wrong != "delya" {
		b.t.Errorf("wrong: %q", wrong)
	}
	b.picture("wrong")
}

// sorts runs a statement and sorts its rows.
func (b *browser) sorts() {
	b.statement("select origin, count(*) as flights, avg(delay) as delay, null as nothing\nfrom flights where distance > 100 group by origin")
	b.keys(kb.Enter, control)
	b.wait("#status", "rows in")
	b.tabTo("sort 1")
	b.keys(kb.Enter)
	b.wait("#rows th[aria-sort=ascending]", "flights")
	b.keys(kb.Enter)
	b.wait("#rows th[aria-sort=descending]", "flights")
	b.wait("#rows tbody tr:first-child", "ORD")
	if b.focused() != "sort 1" {
		b.t.Errorf("sorting moves the focus to %q", b.focused())
	}
	b.wait("#rows td.null", "NULL")
	b.picture("rows")
	b.tabTo("Next page")
	b.keys(kb.Enter)
	b.wait("#rows tbody tr:first-child", "101")
}

// tabs looks at the chart, the plan and the timeline, which is zoomed.
func (b *browser) tabs() {
	b.do(chromedp.Focus("#tab-rows"))
	b.keys(kb.ArrowRight)
	b.wait("#panel-chart", "The values as a table")
	if svg := eval[string](b, "document.querySelector('#panel-chart svg.chart').textContent"); !strings.Contains(svg, "ORD") {
		b.t.Errorf("the chart: %q", svg)
	}
	const bottomOf = "document.querySelector('#panel-chart svg.chart').getBoundingClientRect().bottom"
	if bottom := eval[float64](b, bottomOf); bottom > 900 {
		b.t.Errorf("the chart ends at %g of 900", bottom)
	}
	b.picture("chart")
	b.keys(kb.ArrowRight)
	b.wait("#plan .did", "in ") // how long it took
	b.wait("#plan", "221 groups")
	b.picture("plan")
	const fold = "#plan > ul > li > details"
	b.do(chromedp.Focus(fold + " > summary"))
	b.keys(" ")
	if strings.Contains(b.text("#plan"), "scan") {
		b.t.Errorf("a plan that is folded shows %q", b.text("#plan"))
	}
	b.do(chromedp.Focus("#tab-plan"))
	b.keys(kb.ArrowRight)
	b.wait("#panel-time", "of the workers' time")
	b.do(chromedp.Focus("#panel-time .timeline"))
	const shown = "document.querySelector('#panel-time .spans').viewBox.baseVal.width"
	before := eval[float64](b, shown)
	b.keys("+")
	b.keys("+")
	if after := eval[float64](b, shown); after != before/4 {
		b.t.Errorf("zoomed in twice, %g of %g are shown", after, before)
	}
	b.picture("timeline")
	b.keys("0")
	if after := eval[float64](b, shown); after != before {
		b.t.Errorf("after 0, %g of %g are shown", after, before)
	}
}

// Would catch a view of a table without rows, figures or a histogram, one that takes the results of the editor away, an
// example that does not run, a link without its statement, lines that go back and forth, a second key that is no colour,
// and a statement with a mistake that Runs does not have.
func TestPageTables(t *testing.T) {
	b := startBrowser(t)
	url := serve(t, "--table", flightsTable)
	b.open(url)
	b.wait("#tables", "destination")
	b.do(chromedp.Focus("#text"))
	b.keys(kb.Enter, control) // the editor is empty
	b.wait("#status", "20 rows in")
	b.wait("#rows tbody tr:first-child", "ORD")
	if text := eval[string](b, "document.querySelector('#rows tbody .number').textContent"); text != "16698" {
		t.Errorf("a number with marks is copied as %q", text)
	}
	const markOf = "getComputedStyle(document.querySelector('#rows .thousands'), '::before').content"
	if mark := eval[string](b, markOf); mark != `","` {
		t.Errorf("the mark of thousands is %s", mark)
	}
	for range 4 { // three results each, of which the server keeps eight in all
		b.do(chromedp.Click("#tables summary a"))
		b.wait("#view-table [role=status]", "300,000 rows, 5 columns")
		b.do(chromedp.Click("header nav a"))
	}
	b.do(chromedp.Click("#tables summary a"))
	b.wait("#view-table [role=status]", "300,000 rows, 5 columns")
	b.wait("#view-table", "ORD: 5.6 %")
	b.count("#view-table .histogram", 5)
	b.count("#view-table table:not(.summary) tbody tr", 20)
	b.picture("table")
	b.do(chromedp.Click("header nav a"), chromedp.Click("#rows th.number button"))
	b.wait("#rows th[aria-sort=ascending]", "n") // the result is still there
	b.draws()
	b.statement("select dely from flights")
	b.keys(kb.Enter, control)
	b.wait("#place", "did you mean delay")
	b.run("dely", 0)
	b.wait("#runs", "failed")
	b.open("about:blank")
	b.open(url + "#query/" + neturl.PathEscape("select 'a/b%20' as \"é#\""))
	b.wait("#tables", "destination")
	if text := eval[string](b, "document.querySelector('#text').value"); text != "select 'a/b%20' as \"é#\"" {
		t.Errorf("the link gives %q", text)
	}
	if n := eval[string](b, "document.querySelector('#result').hidden + ''"); n != "true" {
		t.Error("a link ran its statement")
	}
	b.do(chromedp.Click("#link"))
	b.wait("#status", "The address of this page has the statement")
	if hash := eval[string](b, "decodeURIComponent(location.hash)"); hash != "#query/select 'a/b%20' as \"é#\"" {
		t.Errorf("the address has %q", hash)
	}
}

// Would catch a table whose values have no histogram, or whose names need quotes, and that is shown as an error.
func TestPageOddTables(t *testing.T) {
	dir := t.TempDir()
	const odd = `SELECT * FROM (VALUES
		(1.5::DOUBLE, 'inf'::FLOAT, NULL::INTEGER, [1], {'a': 1}, TIMESTAMPTZ '2001-01-01 00:00:00+00', TIME '01:02:03', DATE '0001-01-01',
			INTERVAL 1 MONTH, 99999999999999999999999999999999999999::DECIMAL(38,0), true, x'00', '<b>', TIMESTAMP 'infinity'),
		('NaN', 1, NULL, NULL, NULL, TIMESTAMPTZ '2002-01-01 00:00:00+00', TIME '23:59:59', DATE '9999-12-31', NULL, 0, NULL, NULL, '', NULL)
		) AS v(nan, inf, "none", list, struct, tz, "time", "select", span, "de""c", b, bytes, "it's <i>", never)`
	if out, err := exec.Command(buildCommand(t), "sql", odd, "-o", filepath.Join(dir, "odd.arrow")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "empty.csv"), []byte("a,b\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	b := startBrowser(t)
	url := serve(t, "--table", `o"dd/ 50%=`+filepath.Join(dir, "odd.arrow"), "--table", "empty="+filepath.Join(dir, "empty.csv"))
	b.open(url)
	b.wait("#tables", `o"dd/ 50%`)
	b.do(chromedp.Click("#tables summary a[href*=odd],#tables summary a[href*=dd]"))
	b.wait("#view-table [role=status]", "2 rows, 14 columns")
	b.picture("odd")
	if names := b.text("#view-table"); !strings.Contains(names, "it's <i>") || !strings.Contains(names, `de"c`) {
		t.Errorf("the columns: %s", names)
	}
	for column, want := range map[int]bool{0: false, 1: false, 2: false, 3: false, 5: true, 6: true, 7: true, 9: true, 10: true, 12: true} {
		if got := eval[bool](b, fmt.Sprintf("!!document.querySelector('[data-values=\"%d\"] .histogram')", column)); got != want {
			t.Errorf("column %d has a histogram: %v", column, got)
		}
	}
	b.open(url + "#table/empty")
	b.wait("#view-table [role=status]", "0 rows, 2 columns")
	b.open("about:blank")
	b.open(url + "#table/none")
	b.wait("#view-table [role=status]", "none")
	b.open("about:blank")
	b.open(url + "#query/%E0%A4%A")
	b.wait("#place", "cannot be read")
}

// draws draws lines by day, with a colour for each carrier of a second key.
func (b *browser) draws() {
	b.statement("select date_trunc('month', date)::date as month, origin, count(*) as flights\n" +
		"from flights where origin in ('ORD', 'ATL') group by all order by flights")
	b.keys(kb.Enter, control)
	b.wait("#status", "13 rows in")
	b.do(chromedp.Focus("#tab-rows"))
	b.keys(kb.ArrowRight)
	b.wait("#panel-chart", "The values as a table")
	const goesBack = `[...document.querySelectorAll('#panel-chart polyline')].filter((line) => {
		const x = line.getAttribute('points').trim().split(' ').map((p) => Number(p.split(',')[0]));
		return x.some((v, i) => i && v <= x[i - 1]);
	}).length`
	if n := eval[int](b, goesBack); n != 0 {
		b.t.Errorf("%d lines go back", n)
	}
	if n := eval[int](b, "document.querySelectorAll('#panel-chart polyline').length"); n != 2 {
		b.t.Errorf("%d lines of 2 origins", n)
	}
	b.picture("lines")
	b.do(chromedp.Focus("#tab-rows"))
	b.keys(" ")
}

// Would catch a file that is not taken where the server allows it, or is offered where not.
func TestPageUploads(t *testing.T) {
	file := filepath.Join(t.TempDir(), "my visits.csv")
	if err := os.WriteFile(file, []byte("city,visits\nUlm,3\nJena,5\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	b := startBrowser(t)
	b.open(serve(t, "--table", flightsTable))
	b.wait("#tables", "destination")
	if eval[bool](b, "document.querySelector('#file').checkVisibility()") {
		t.Error("a server without --uploads offers to take files")
	}
	b.open(serve(t, "--allow-files", t.TempDir(), "--uploads", "1MiB"))
	b.do(chromedp.WaitVisible("#upload"), chromedp.SetUploadFiles("#file", []string{file}))
	b.wait("#status", "is at the server")
	b.do(chromedp.Focus("#text"))
	b.keys(kb.Enter, control)
	b.wait("#status", "2 rows in")
	b.wait("#rows", "Jena")
	b.picture("upload")
}

// Would catch a statement that cannot be cancelled by keys, and runs that are not listed.
func TestPageCancels(t *testing.T) {
	args := []string{"--threads", "1"}
	for range 400 {
		args = append(args, "--table", "many=testdata/flights-2001.parquet")
	}
	b := startBrowser(t)
	b.open(serve(t, args...))
	b.wait("#tables", "destination")
	b.statement("select count(distinct date), count(distinct delay * distance), mode(origin || destination) from many")
	b.keys(kb.Enter, control)
	b.wait("#status", "read")
	b.picture("running")
	b.tabTo("cancel")
	b.keys(kb.Enter)
	b.wait("#status", "Cancelled after")
	run := b.run("cancelled", 0)
	b.picture("runs")
	b.tabTo("run " + run)
	b.keys(kb.Enter)
	b.wait("#view-run", "cancelled after")
	b.wait("#view-run", "worker 0")
	b.picture("run")
	eval[string](b, "location.hash = '#server'")
	b.wait("#meters", "Memory of the process")
	b.picture("server")
}

// Would catch names and values that become markup: in tables, errors, rows, charts, plans and reports.
func TestPageEscapes(t *testing.T) {
	const evil = "<img src=x onerror=window.bad=1><script>window.bad=1</script>"
	file := filepath.Join(t.TempDir(), "evil.csv")
	if err := os.WriteFile(file, []byte("\""+evil+"\",n\n\""+evil+"\",1\n\"b\",2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	b := startBrowser(t)
	const evilTable = "<script>alert(1)</script>"
	url := serve(t, "--table", evilTable+"="+file, "--table", flightsTable)
	b.open(url)
	b.wait("#tables", evil)
	b.wait("#tables", evilTable)
	name, table := `"`+evil+`"`, `"`+evilTable+`"`
	b.statement("select " + name + ", n from " + table)
	b.keys(kb.Enter, control)
	b.wait("#rows tbody", evil)
	b.wait("#rows thead", evil)
	b.do(chromedp.Focus("#tab-rows"))
	b.keys(kb.ArrowRight)
	b.wait("#panel-chart", "The values as a table")
	b.keys(kb.ArrowRight)
	b.wait("#plan", evil)
	b.statement("select " + name + " + 1 from " + table)
	b.keys(kb.Enter, control)
	b.wait("#place", "Line 1")
	run := b.run(evil, -1)
	eval[string](b, "location.hash = '#run/"+run+"'")
	b.wait("#view-run", evil)
	b.sound()
	b.open(url + "api/runs/" + run + "/report")
	b.wait("body", evil)
	b.sound()
	b.statementReport(url)
}

// statementReport zooms the timeline of a report by dragging, which needs its own script to run.
func (b *browser) statementReport(url string) {
	b.open(url)
	b.wait("#tables", "destination") // from then on, the page listens
	b.statement("select count(*) from flights")
	b.keys(kb.Enter, control)
	b.wait("#status", "1 row in")
	b.open(url + "api/runs/" + b.run("flights", 0) + "/report")
	b.wait("body", "worker 0")
	box := eval[[]float64](b, "(() => { const e = document.querySelector('.timeline > svg'); e.scrollIntoView(); const r = e.getBoundingClientRect(); return [r.left, r.top, r.width, r.height] })()")
	y := box[1] + box[3]/2
	b.do(chromedp.DragAndDropXY(box[0]+box[2]*.4, y, box[0]+box[2]*.5, y))
	if width := eval[float64](b, "document.querySelector('.spans').viewBox.baseVal.width"); width < 90 || width > 110 {
		b.t.Errorf("a tenth of the picture was dragged over, and %g of 810 are shown", width)
	}
	b.picture("report")
}

// sound fails where a script of a user has run, or an element of a user is there.
func (b *browser) sound() {
	b.t.Helper()
	if eval[bool](b, "window.bad === 1 || document.querySelector('img') !== null") {
		b.t.Error("a name became markup")
	}
}

// Would catch a page that shows something to a client without a token, or that a token does not open.
func TestPageSignsIn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte("ann 0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := startBrowser(t)
	b.open(serve(t, "--table", flightsTable, "--token-file", file))
	b.do(chromedp.WaitVisible("#token"))
	b.picture("sign-in")
	b.keys("a wrong token" + kb.Enter)
	b.wait("#token-error", "does not know")
	if text := b.text("body"); strings.Contains(text, "flights") {
		t.Errorf("without a token: %s", text)
	}
	b.keys("0123456789abcdef" + kb.Enter)
	b.wait("#tables", "destination")
	b.wait("#who", "ann")
	if cookies := eval[string](b, "document.cookie"); cookies != "" {
		t.Errorf("scripts see the cookies %s", cookies)
	}
	b.do(chromedp.Click("#sign-out"), chromedp.WaitVisible("#token"))
	if eval[bool](b, "document.querySelector('nav').checkVisibility()") {
		t.Error("the views are offered to who is signed out")
	}
}
