package podlogs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/podlogs"
)

// cluster answers as an API server does; a double for faults and for time. The real
// one is in test/world and test/proxy.
type cluster struct {
	mu   sync.Mutex
	pods []string
	// logs are lines by "pod container", or an error.
	logs   map[string]string
	errs   map[string]error
	events chan string
	// breaks are after how many bytes a read of a log fails, once each.
	breaks map[string]int
	asked  []url.Values
	// listed are the selectors of pods.
	listed []string
	// flood is what comes to those who follow.
	flood string
	// ends are how many reads of a log that follow end at once, and what is written then.
	ends map[string][]string
	// over says that what is followed has ended, so that no read waits.
	over bool
	open chan string
}

func podJSON(name, more string, containers ...string) string {
	var list, states []string
	for _, c := range containers {
		list = append(list, fmt.Sprintf(`{"name":%q}`, c))
		states = append(states, fmt.Sprintf(`{"name":%q,"ready":true,"state":{"running":{}}}`, c))
	}
	return fmt.Sprintf(`{"metadata":{"name":%q,"namespace":"shop","uid":"uid-%s","resourceVersion":"5"},"spec":{"containers":[%s]},"status":{"phase":"Running","containerStatuses":[%s]%s}}`,
		name, name, strings.Join(list, ","), strings.Join(states, ","), more)
}

func (c *cluster) Get(_ context.Context, path string) ([]byte, error) {
	if at, query, _ := strings.Cut(path, "?"); strings.HasSuffix(at, "/pods") {
		if values, err := url.ParseQuery(query); err == nil {
			c.listed = append(c.listed, values.Get("labelSelector"))
		}
		return []byte(`{"metadata":{"resourceVersion":"4"},"items":[` + strings.Join(c.pods, ",") + `]}`), nil
	}
	if strings.Contains(path, "/deployments/web") {
		return []byte(`{"metadata":{"name":"web"},"spec":{"selector":{"matchLabels":{"app":"web"},"matchExpressions":[{"key":"tier","operator":"In","values":["a","b"]}]}}}`), nil
	}
	for name, selector := range map[string]string{"web": `{"app":"web","tier":"a"}`, "outside": `{}`} {
		if strings.HasSuffix(path, "/services/"+name) {
			return []byte(`{"metadata":{"name":"` + name + `"},"spec":{"selector":` + selector + `}}`), nil
		}
	}
	return nil, errcode.New(errcode.NotFound, "%s is not there", path)
}

func (c *cluster) Watch(ctx context.Context, _ string, each func(string, []byte) error) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case event := <-c.events:
			kind, object, _ := strings.Cut(event, " ")
			if err := each(kind, []byte(object)); err != nil {
				return err
			}
		}
	}
}

func (c *cluster) Logs(ctx context.Context, path string, each func([]byte) error) error {
	at, err := url.Parse(path)
	if err != nil {
		return err
	}
	q := at.Query()
	of := strings.TrimSuffix(strings.TrimPrefix(at.Path, "/api/v1/namespaces/shop/pods/"), "/log") + " " + q.Get("container")
	if q.Get("previous") != "" {
		of += " previous"
	}
	c.mu.Lock()
	c.asked = append(c.asked, q)
	text, err, cut := c.logs[of], c.errs[of], c.breaks[of]
	delete(c.breaks, of)
	c.mu.Unlock()
	if err != nil {
		return err
	}
	if since := q.Get("sinceTime"); since != "" {
		var kept []string
		for _, l := range strings.SplitAfter(text, "\n") {
			if stamp, _, _ := strings.Cut(l, " "); l != "" && stamp >= strings.TrimSuffix(since, "Z") {
				kept = append(kept, l)
			}
		}
		text = strings.Join(kept, "")
	}
	if cut > 0 {
		if err := each([]byte(text[:cut])); err != nil {
			return err
		}
		return errcode.New(errcode.Unavailable, "the tunnel is down")
	}
	if len(text) > 0 {
		if err := each([]byte(text)); err != nil {
			return err
		}
	}
	if q.Get("follow") != "" {
		if err := each([]byte(c.flood)); err != nil {
			return err
		}
		c.mu.Lock()
		more := c.ends[of]
		if len(more) > 0 {
			c.logs[of], c.ends[of] = more[0], more[1:]
		}
		c.mu.Unlock()
		if c.open != nil {
			c.open <- of
		}
		if len(more) > 0 || c.over {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// collected is what a search sent.
type collected struct {
	lines   []string
	notices []podlogs.Notice
	dropped int64
	batches int
}

func (c *collected) send(b podlogs.Batch) error {
	c.batches++
	for _, l := range b.Lines {
		mark := ""
		if l.Context {
			mark = "~"
		}
		c.lines = append(c.lines, mark+l.Pod+" "+l.Container+" "+l.Text)
	}
	c.notices = append(c.notices, b.Notices...)
	c.dropped += b.Dropped
	return nil
}

var web = []podlogs.Workload{{Namespace: "shop", Kind: "Deployment", Name: "web"}}

func at(second int, text string) string {
	return fmt.Sprintf("2026-11-29T20:00:%02d.5Z %s\n", second, text)
}

func TestLogsAreMergedByTime(t *testing.T) {
	t.Parallel()
	c := &cluster{pods: []string{podJSON("a", "", "main", "proxy"), podJSON("b", "", "main")}, logs: map[string]string{
		"a main": at(1, "one") + at(4, "four") + "no stamp\n", "a proxy": at(2, "two"),
		// The node changed to winter time: its offset says when it was.
		"b main": "2026-11-29T22:00:03.5+02:00 three\n2026-11-29T21:00:05.5+01:00 five\n",
	}, errs: map[string]error{}}
	var got collected
	if err := (podlogs.Search{Workloads: web}).Run(t.Context(), c, got.send); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a main one", "a proxy two", "b main three", "a main four", "a main no stamp", "b main five"}; !slices.Equal(got.lines, want) {
		t.Errorf("%q", got.lines)
	}
}

// A Service has the pods that it selects; one without a selector has those of nobody.
func TestPodsOfAService(t *testing.T) {
	t.Parallel()
	c := &cluster{pods: []string{podJSON("a", "", "main")}, logs: map[string]string{"a main": at(1, "one")}}
	of := func(name string) podlogs.Search {
		return podlogs.Search{Workloads: []podlogs.Workload{{Namespace: "shop", Kind: "Service", Name: name}}}
	}
	var got collected
	if err := of("web").Run(t.Context(), c, got.send); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.lines, []string{"a main one"}) || !slices.Equal(c.listed, []string{"app=web,tier=a"}) {
		t.Errorf("%q of %q", got.lines, c.listed)
	}
	if err := of("outside").Run(t.Context(), c, got.send); !errcode.Is(err, errcode.Unprocessable) {
		t.Errorf("a Service without a selector: %v", err)
	}
	if podlogs.Reads("Service") {
		t.Error("a Service in a tree is read beside the workload that its pods belong to")
	}
}

func TestMatchesWithWhatStandsAround(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 40 {
		text.WriteString(at(i, fmt.Sprintf("line-%d", i)))
	}
	c := &cluster{pods: []string{podJSON("a", "", "main")}, logs: map[string]string{"a main": text.String()}}
	for name, tc := range map[string]struct {
		match, exclude string
		before, after  int
		tail           int
		want           []string
	}{
		"around":           {"line-(10|12)$", "", 1, 2, 0, []string{"~9", "10", "~11", "12", "~13", "~14"}},
		"not":              {"", "line-[0-9]{2}", 0, 0, 3, []string{"7", "8", "9"}},
		"the last match":   {"line-1", "", 0, 0, 1, []string{"19"}},
		"at the beginning": {"line-0$", "", 5, 1, 0, []string{"0", "~1"}},
	} {
		filter, err := podlogs.NewFilter(tc.match, tc.exclude, tc.before, tc.after)
		if err != nil {
			t.Fatal(err)
		}
		var got collected
		if err := (podlogs.Search{Workloads: web, Filter: filter, Tail: tc.tail}).Run(t.Context(), c, got.send); err != nil {
			t.Fatal(err)
		}
		for i, l := range got.lines {
			got.lines[i] = strings.Replace(l, "a main line-", "", 1)
		}
		if !slices.Equal(got.lines, tc.want) {
			t.Errorf("%s: %q, want %q", name, got.lines, tc.want)
		}
	}
	for _, bad := range []string{"(", strings.Repeat("x", 1001), "(x{1000}){1000}"} {
		if _, err := podlogs.NewFilter(bad, "", 0, 0); !errcode.Is(err, errcode.Invalid) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
}

// TestACutLogGoesOn: what was sent before a tunnel went down comes once, also lines of the
// same moment.
func TestACutLogGoesOn(t *testing.T) {
	t.Parallel()
	text := at(1, "one") + at(2, "two") + at(2, "two") + at(2, "three") + at(3, "four")
	for cut := 1; cut < len(text); cut++ {
		c := &cluster{pods: []string{podJSON("a", "", "main")}, logs: map[string]string{"a main": text}, breaks: map[string]int{"a main": cut}}
		var got collected
		if err := (podlogs.Search{Workloads: web}).Run(t.Context(), c, got.send); err != nil {
			t.Fatal(cut, err)
		}
		if want := []string{"a main one", "a main two", "a main two", "a main three", "a main four"}; !slices.Equal(got.lines, want) {
			t.Fatalf("cut at %d: %q", cut, got.lines)
		}
		if testing.Short() {
			break
		}
		cut += 11
	}
}

func TestFollowReadsPodsThatStart(t *testing.T) {
	t.Parallel()
	c := &cluster{pods: []string{podJSON("a", "", "main")}, events: make(chan string, 8), open: make(chan string, 8), breaks: map[string]int{},
		logs: map[string]string{"a main": at(1, "one"), "b main": at(2, "two")}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	var got collected
	ended := make(chan error, 1)
	seen := make(chan struct{}, 100)
	go func() {
		ended <- podlogs.Search{Workloads: web, Follow: true}.Run(ctx, c, func(b podlogs.Batch) error {
			mu.Lock()
			defer mu.Unlock()
			err := got.send(b)
			seen <- struct{}{}
			return err
		})
	}()
	<-c.open
	c.events <- "ADDED " + podJSON("b", "", "main")
	<-c.open
	want := []string{"a main one", "b main two"}
	for {
		mu.Lock()
		done := slices.Equal(got.lines, want)
		mu.Unlock()
		if done {
			break
		}
		select {
		case <-seen:
		case err := <-ended:
			t.Fatal(err)
		case <-t.Context().Done():
			t.Fatalf("%q", got.lines)
		}
	}
	cancel()
	if err := <-ended; err != context.Canceled {
		t.Error(err)
	}
}

// TestFollowedLogsEndAndGoOn has what public reports say of tools that follow (test/field/logs).
func TestFollowedLogsEndAndGoOn(t *testing.T) {
	t.Parallel()
	running := podJSON("a", "", "main")
	over := strings.Replace(running, `"state":{"running":{}}`, `"state":{"terminated":{"exitCode":1}}`, 1)
	again := strings.Replace(strings.Replace(running, `"ready":true`, `"ready":true,"restartCount":1`, 1), `"5"`, `"6"`, 1)
	done := strings.Replace(over, `"phase":"Running"`, `"phase":"Succeeded"`, 1)
	for name, tc := range map[string]struct {
		ends   []string
		events []string
		want   string
		// over says that the search ends by itself.
		over bool
	}{
		"a proxy ended the stream":     {[]string{at(1, "one") + at(1, "one") + at(2, "two")}, nil, "one one two", false},
		"the container restarts":       {[]string{at(3, "three")}, []string{"MODIFIED " + over, "MODIFIED " + again}, "one one three", false},
		"it has done its work":         {[]string{at(1, "one") + at(1, "one")}, []string{"MODIFIED " + done}, "one one", true},
		"the pod is deleted meanwhile": {[]string{at(1, "one") + at(1, "one")}, []string{"DELETED " + over}, "one one", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &cluster{pods: []string{running}, logs: map[string]string{"a main": at(1, "one") + at(1, "one")}, events: make(chan string, 8), ends: map[string][]string{"a main": tc.ends}, over: tc.over}
			for _, e := range tc.events {
				c.events <- e
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var got []string
			err := podlogs.Search{Workloads: []podlogs.Workload{{Namespace: "shop", Kind: "Pod", Name: "a"}}, Follow: true}.Run(ctx, c, func(b podlogs.Batch) error {
				for _, l := range b.Lines {
					got = append(got, l.Text)
				}
				if !tc.over && strings.Join(got, " ") == tc.want {
					cancel()
				}
				return nil
			})
			if want := map[bool]error{true: nil, false: context.Canceled}[tc.over]; err != want || strings.Join(got, " ") != tc.want {
				t.Errorf("%v: %q", err, got)
			}
		})
	}
}

// TestFloodsAreCounted: who takes lines slower than they come gets the number of those
// that were dropped, and what waits is bounded.
func TestFloodsAreCounted(t *testing.T) {
	t.Parallel()
	const n = 50_000
	var flood strings.Builder
	for i := range n {
		fmt.Fprintf(&flood, "2026-11-29T20:00:00.%09dZ line\n", i)
	}
	c := &cluster{pods: []string{podJSON("a", "", "main")}, flood: flood.String(), open: make(chan string), events: make(chan string)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got collected
	err := podlogs.Search{Workloads: web, Follow: true}.Run(ctx, c, func(b podlogs.Batch) error {
		if len(b.Lines) == 0 && b.Dropped == 0 {
			return nil
		}
		if err := got.send(b); err != nil {
			return err
		}
		if int64(len(got.lines))+got.dropped == n {
			cancel()
		}
		if got.batches == 1 {
			<-c.open // all has come while this one was being taken
		}
		return nil
	})
	if err != context.Canceled || got.dropped == 0 || int64(len(got.lines))+got.dropped != n {
		t.Errorf("%v: %d lines and %d dropped of %d", err, len(got.lines), got.dropped, n)
	}
}

func TestLinesAreHarmless(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 5<<20)
	c := &cluster{pods: []string{podJSON("a", "", "main")}, logs: map[string]string{"a main": at(1, "\x1b[31mred\x1b[0m \x1b]0;title\apart") + at(2, "bad \xff\xfe utf") +
		at(3, "10%\r50%\r100%\r\x1b[K") + at(4, "a\u202eb\x00c\td") + at(5, long) + at(6, "last")}}
	var lines []podlogs.Line
	if err := (podlogs.Search{Workloads: web}).Run(t.Context(), c, func(b podlogs.Batch) error { lines = append(lines, b.Lines...); return nil }); err != nil {
		t.Fatal(err)
	}
	want := []string{"red part", "bad \ufffd utf", "100%", "abc\td", strings.Repeat("é", 8<<10), "last"}
	for i, l := range lines {
		if l.Text != want[i] {
			t.Errorf("%.60q, want %.60q", l.Text, want[i])
		}
	}
	if len(lines) != len(want) || lines[4].Cut != int64(len(long)-16<<10) {
		t.Errorf("%d lines, %d bytes cut", len(lines), lines[4].Cut)
	}
}

// An expression that would take long on a long line is refused before a line comes.
func TestDearFiltersAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat("x{1000}", 20): "instructions", "(a?){900}y": "too dear", "[" + strings.Repeat(`\pL\PL`, 100) + "]": "classes of Unicode", strings.Repeat("a", 2000): "at most 1000", "(": "regular expression", "level=(warn|error)": "",
	} {
		_, match := podlogs.NewFilter(text, "", 0, 0)
		_, exclude := podlogs.NewFilter("", text, 0, 0)
		for _, err := range []error{match, exclude} {
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%.40s: %v, want %q", text, err, want)
			}
		}
	}
}

func TestWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	var many []string
	logs := map[string]string{}
	for i := range 40 {
		name := fmt.Sprintf("p%02d", i)
		many = append(many, podJSON(name, "", "main", "proxy"))
		logs[name+" main"] = at(i, "x")
	}
	forbidden := errcode.New(errcode.Forbidden, "pods/log is forbidden")
	waiting := errcode.New(errcode.Invalid, `container "main" is waiting to start`)
	for name, tc := range map[string]struct {
		search podlogs.Search
		pods   []string
		errs   map[string]error
		code   errcode.Code
		says   string
	}{
		"no pods":              {podlogs.Search{}, nil, nil, errcode.NotFound, "no pods"},
		"no such container":    {podlogs.Search{Containers: []string{"side"}}, many[:1], nil, errcode.NotFound, "the containers are: main, proxy"},
		"no such pod":          {podlogs.Search{Pods: []string{"x"}}, many[:2], nil, errcode.NotFound, "none of the 2 pods"},
		"nothing permitted":    {podlogs.Search{}, many[:1], map[string]error{"p00 main": forbidden, "p00 proxy": forbidden}, errcode.Forbidden, "pods/log is forbidden"},
		"one is not permitted": {podlogs.Search{}, many[:1], map[string]error{"p00 proxy": forbidden}, "", "refused: p00 proxy: pods/log is forbidden"},
		"one waits":            {podlogs.Search{}, many[:1], map[string]error{"p00 main": waiting}, "", "waiting: p00 main: container"},
		"too many":             {podlogs.Search{}, many, nil, "", "capped: 50 of 80 containers are read, in 25 of 40 pods"},
		"previous and follow":  {podlogs.Search{Previous: true, Follow: true}, many[:1], nil, errcode.Invalid, "not followed"},
		"an end and follow":    {podlogs.Search{Until: time.Now(), Follow: true}, many[:1], nil, errcode.Invalid, "no end"},
		"backwards":            {podlogs.Search{Since: time.Now(), Until: time.Now().Add(-time.Hour)}, many[:1], nil, errcode.Invalid, "before it begins"},
	} {
		tc.search.Workloads = web
		var got collected
		err := tc.search.Run(t.Context(), &cluster{pods: tc.pods, logs: logs, errs: tc.errs}, got.send)
		said := fmt.Sprint(err)
		for _, n := range got.notices {
			said += "\n" + n.Code + ": " + n.Text
		}
		if (err != nil) != (tc.code != "") || err != nil && !errcode.Is(err, tc.code) || !strings.Contains(said, tc.says) {
			t.Errorf("%s: %s", name, said)
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("2026-11-29T20:00:00Z hello\nno stamp\r\n\x1b[1m"), 7)
	f.Add([]byte("2026-11-29T20:00:00.123456789+02:00 \xff\x00"), 1)
	simple := regexp.MustCompile(`[\x00-\x08\x0a-\x1f\x7f]`)
	f.Fuzz(func(t *testing.T, text []byte, piece int) {
		if piece <= 0 {
			piece = 1
		}
		a := podlogs.Pieces(func(l podlogs.Line) error {
			if len(l.Text) > 3*16<<10 || simple.MatchString(l.Text) {
				t.Errorf("%q", l.Text)
			}
			if _, err := json.Marshal(l.Text); err != nil {
				t.Error(err)
			}
			return nil
		})
		for len(text) > 0 {
			n := min(piece, len(text))
			if err := a(text[:n]); err != nil {
				t.Fatal(err)
			}
			text = text[n:]
		}
	})
}
