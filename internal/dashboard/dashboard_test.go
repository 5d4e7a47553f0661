package dashboard

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/axle-cd/axle/api/platform/v1alpha1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
)

func graph(name string, queries ...string) v1alpha1.DashboardGraph {
	g := v1alpha1.DashboardGraph{Name: name}
	for _, q := range queries {
		g.Queries = append(g.Queries, v1alpha1.DashboardQuery{Query: q})
	}
	return g
}

func TestWhatIsWrongIsNamedByGraphAndPosition(t *testing.T) {
	pods := v1alpha1.DashboardLabel{Name: "pod", Values: []string{"a"}}
	many := func(n int) (all []v1alpha1.DashboardGraph) {
		for range n {
			all = append(all, graph("g", "up"))
		}
		return all
	}
	for name, c := range map[string]struct {
		d    v1alpha1.DashboardSpec
		want string
	}{
		"a bracket":               {v1alpha1.DashboardSpec{Graphs: []v1alpha1.DashboardGraph{graph("Up", "up"), graph("CPU", "up", "sum(rate(x[5m])")}}, "graph 2 (CPU), query 2: 1:"},
		"a second line":           {v1alpha1.DashboardSpec{Graphs: []v1alpha1.DashboardGraph{graph("CPU", "sum(\n  rate(x[5m]) by by (a))")}}, "graph 1 (CPU), query 1: 2:"},
		"a variable as a range":   {v1alpha1.DashboardSpec{Labels: []v1alpha1.DashboardLabel{pods}, Graphs: []v1alpha1.DashboardGraph{graph("", "rate(x[$pod])")}}, "graph 1, query 1: 1:8: $pod stands outside the value of a matcher"},
		"a variable as a metric":  {v1alpha1.DashboardSpec{Labels: []v1alpha1.DashboardLabel{pods}, Graphs: []v1alpha1.DashboardGraph{graph("", "sum($pod)")}}, "1:5: $pod stands outside"},
		"a variable as a label":   {v1alpha1.DashboardSpec{Labels: []v1alpha1.DashboardLabel{pods}, Graphs: []v1alpha1.DashboardGraph{graph("", `x{${pod}="a"}`)}}, "1:3: ${pod} stands outside"},
		"a variable in a string":  {v1alpha1.DashboardSpec{Labels: []v1alpha1.DashboardLabel{pods}, Graphs: []v1alpha1.DashboardGraph{graph("", `label_replace(x, "a", "$pod", "b", "(.*)")`)}}, "1:23: $pod stands in a string that is not"},
		"an unknown variable":     {v1alpha1.DashboardSpec{Labels: []v1alpha1.DashboardLabel{pods}, Graphs: []v1alpha1.DashboardGraph{graph("", `x{node="$node"}`)}}, "the matcher of node: $node is no variable that it may take, which are $pod"},
		"a later variable":        {v1alpha1.DashboardSpec{Labels: []v1alpha1.DashboardLabel{{Name: "a", Query: &v1alpha1.DashboardLabelQuery{Query: `x{pod="$pod"}`, Label: "a"}}, pods}}, "label 1 (a), query: the matcher of pod: $pod is no variable; there are none"},
		"a name twice":            {v1alpha1.DashboardSpec{Labels: []v1alpha1.DashboardLabel{pods, pods}}, "label 2 (pod): the name stands twice"},
		"a name with a sign":      {v1alpha1.DashboardSpec{Labels: []v1alpha1.DashboardLabel{{Name: `a"}`, Values: []string{"x"}}}}, `label 1: the name "a\"}" has other than letters`},
		"neither values nor one":  {v1alpha1.DashboardSpec{Labels: []v1alpha1.DashboardLabel{{Name: "a"}}}, "neither values nor a query"},
		"a format":                {v1alpha1.DashboardSpec{Graphs: []v1alpha1.DashboardGraph{{Name: "x", Format: "<b>", Queries: []v1alpha1.DashboardQuery{{Query: "up"}}}}}, `graph 1 (x): the format "<b>" is none of`},
		"200 graphs":              {v1alpha1.DashboardSpec{Graphs: many(200)}, "graphs: there are 200, at most 100 are drawn"},
		"no query":                {v1alpha1.DashboardSpec{Graphs: []v1alpha1.DashboardGraph{graph("x")}}, "there are no queries"},
		"an empty query":          {v1alpha1.DashboardSpec{Graphs: []v1alpha1.DashboardGraph{graph("x", " \n")}}, "query 1: it is empty"},
		"a deep query":            {v1alpha1.DashboardSpec{Graphs: []v1alpha1.DashboardGraph{graph("x", strings.Repeat("(", 4000)+"up"+strings.Repeat(")", 4000))}}, "nested more than 200 times"},
		"many signs":              {v1alpha1.DashboardSpec{Graphs: []v1alpha1.DashboardGraph{graph("x", strings.Repeat("- ", 4000)+"up")}}, "nested more than 200 times"},
		"a long query":            {v1alpha1.DashboardSpec{Graphs: []v1alpha1.DashboardGraph{graph("x", "up"+strings.Repeat(" ", 10_001))}}, "at most 10000 are allowed"},
		"a time range":            {v1alpha1.DashboardSpec{Timeslices: []string{"1h", "soon"}}, `the time range "soon" is not like 30m`},
		"an endless time range":   {v1alpha1.DashboardSpec{DefaultTime: "9y"}, `the time range "9y"`},
		"more than 20 things":     {v1alpha1.DashboardSpec{Graphs: many(0), Timeslices: slices.Repeat([]string{"x"}, 30)}, "and 11 more"},
		"a pattern with a dollar": {v1alpha1.DashboardSpec{Labels: []v1alpha1.DashboardLabel{pods}, Graphs: []v1alpha1.DashboardGraph{graph("", `x{a=~"b$|c$",pod=~"^$pod-[0-9]+$"} and label_replace(x, "a", "$1-${2}", "b", "(.*)-(.*)")`)}}, ""},
	} {
		err := Check(&c.d)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (errcode.Of(err) != errcode.Invalid || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// hostile are values that try to be more than a value.
var hostile = []string{
	`a"} or up{b="`, "a'} or up", "a`", `a\`, `a\"`, "a\n} or up", `.*`, `a|.*`, `(`, `[`, `$pod`, `${other}`, `$1`, "\x00", "\xff\xfe", `a",namespace=~".*`, `{{pod}}`, "üñ", `^$`, `\E.*`,
}

// A value is one value of one matcher, whatever it holds.
func TestAValueStaysInItsMatcher(t *testing.T) {
	for _, text := range []string{`sum by (pod) (rate(x{pod="$pod",namespace="a"}[5m]))`, `x{pod!="$pod"}`, `x{pod=~"$pod"}`, `x{pod!~"a-${pod}-b"} or y offset 5m`, `{__name__="x","pod.name"="$pod"}`, `max_over_time(x{pod="$pod"}[1h:5m] @ end())`} {
		q, err := parse(text, []string{"pod", "other"})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		before := shape(t, text)
		for _, value := range hostile {
			got, err := q.with(map[string]string{"pod": value, "other": "no"}, &meter{})
			if err != nil {
				t.Errorf("%s with %q: %v", text, value, err)
				continue
			}
			if after := shape(t, got); after != before {
				t.Errorf("%s with %q became %s, of the shape %s", text, value, got, after)
			}
			expression, err := parser.ParseExpr(got)
			if err != nil {
				t.Errorf("%s with %q became %s: %v", text, value, got, err)
				continue
			}
			_ = eachMatcher(expression, func(_ string, m *labels.Matcher) error {
				wants := strings.Contains(m.Name, "pod")
				held := value
				if strings.Contains(text, "a-$") {
					held = "a-" + value + "-b"
				}
				// What is no text in UTF-8 cannot be a label's value, so nothing is to match.
				if wants && strings.ToValidUTF8(value, "") == value && m.Matches(held) != (m.Type == labels.MatchEqual || m.Type == labels.MatchRegexp) {
					t.Errorf("%s with %q became %s, which does not match it alone", text, value, got)
				}
				if wants && (m.Type == labels.MatchEqual || m.Type == labels.MatchRegexp) && m.Matches("another") {
					t.Errorf("%s with %q became %s, which matches more", text, value, got)
				}
				return nil
			})
		}
	}
}

// What people reported of dashboards of other tools, with inputs of our own. A query that is refused
// says so; the others match the value and nothing else.
func TestWhatBreaksDashboardsElsewhere(t *testing.T) {
	for name, c := range map[string]struct{ text, value, sent, refused string }{
		"a slash in a pattern (grafana 59251)":                     {`x{path=~"$v"}`, "/a/b.html", `x{path=~"/a/b\\.html"}`, ""},
		"a path of Windows (grafana 24478)":                        {`x{file="$v"}`, `D:\new\log.txt`, `x{file="D:\\new\\log.txt"}`, ""},
		"the same as a pattern (grafana 10555)":                    {`x{file=~"$v"}`, `D:\new`, `x{file=~"D:\\\\new"}`, ""},
		"signs of patterns where there is none (30928)":            {`x{p="$v"}`, "a|b_(c)", `x{p="a|b_(c)"}`, ""},
		"a value that is a pattern of Java (48138)":                {`x{r="$v"}`, `\Q/i/\E(?<p>[^/\']*)`, `x{r="\\Q/i/\\E(?<p>[^/\\']*)"}`, ""},
		"a name in single quotes (7333)":                           {`x{h='$v'}`, "my.host.example", `x{h="my.host.example"}`, ""},
		"an apostrophe (16275)":                                    {`x{g='$v'}`, "winner's", `x{g="winner's"}`, ""},
		"a value that is a query (42202)":                          {`x{n=~"$v"}`, `f({a="b"}[5m])-32`, `x{n=~"f\\(\\{a=\"b\"\\}\\[5m\\]\\)-32"}`, ""},
		"a group of label_replace (perses 859)":                    {`label_replace(x{n="$v"}, "a", "$1xx", "b", "(.).*")`, "v", `label_replace(x{n="v"}, "a", "$1xx", "b", "(.).*")`, ""},
		"a variable without quotes (perses 3145)":                  {`x{n=$v}`, "v", "", "1:5: $v stands outside the value of a matcher"},
		"a format in a matcher (perses metrics-usage 12)":          {`x{n=~"${v:regex}"}`, "v", "", "${v:regex} has a format"},
		"a format as a metric (the same)":                          {`sum(${v:text})`, "v", "", "1:5: ${v:text} stands outside"},
		"an interval of another tool (perses community-mixins 59)": {`rate(x[$__rate_interval])`, "v", "", "1:8: $__rate_interval stands outside"},
	} {
		q, err := parse(c.text, []string{"v"})
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%s: %v, want %q", name, err, c.refused)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := q.with(map[string]string{"v": c.value}, &meter{}); err != nil || got != c.sent {
			t.Errorf("%s: sends %s, %v; want %s", name, got, err, c.sent)
		}
	}
}

func TestValuesAreInTheOrderOfTheirNumbers(t *testing.T) {
	all := []string{"web-10", "web-2", "web", "10.0.0.9:80", "10.0.0.10:80", "web-02", "web-1", "a-99999999999999999999999", "a-9"}
	slices.SortFunc(all, byNumbers)
	if want := []string{"10.0.0.9:80", "10.0.0.10:80", "a-9", "a-99999999999999999999999", "web", "web-1", "web-02", "web-2", "web-10"}; !slices.Equal(all, want) {
		t.Errorf("%q", all)
	}
}

// A label whose name begins another's takes nothing of it.
func TestLegendsTakeWholeLabels(t *testing.T) {
	labels := []Label{{"pod", "web-0"}, {"pod_name", "other"}}
	for format, want := range map[string]string{"$pod_name $pod": "other web-0", "${pod}_name": "web-0_name", "$pods": "$pods", "{{ pod }}": "web-0", "$pod <script>": "web-0 <script>", "": "pod=web-0, pod_name=other"} {
		if got := legend(v1alpha1.DashboardQuery{LegendFormat: format}, labels, nil); got != want {
			t.Errorf("%q: %q, want %q", format, got, want)
		}
	}
}

// shape is a query without the values of its matchers.
func shape(t *testing.T, text string) string {
	t.Helper()
	expression, err := parser.ParseExpr(text)
	if err != nil {
		return err.Error()
	}
	_ = eachMatcher(expression, func(_ string, m *labels.Matcher) error {
		m.Value = "v"
		return nil
	})
	return expression.String()
}

// played answers from memory and notes what it was asked.
type played struct {
	mu        sync.Mutex
	asked     []string
	now, most int
	gate      chan struct{}
	answer    func(query string) (*Answer, error)
}

func (p *played) Now(ctx context.Context, query string) (*Answer, error) { return p.Range(ctx, query) }

func (p *played) Range(_ context.Context, query string) (*Answer, error) {
	p.mu.Lock()
	p.asked = append(p.asked, query)
	p.now++
	p.most = max(p.most, p.now)
	p.mu.Unlock()
	if p.gate != nil {
		<-p.gate
	}
	p.mu.Lock()
	p.now--
	p.mu.Unlock()
	return p.answer(query)
}

func series(pairs ...string) Series {
	s := Series{Times: []int64{1, 2, 3}, Values: []float64{1, math.NaN(), 3}}
	for i := 0; i < len(pairs); i += 2 {
		s.Labels = append(s.Labels, Label{pairs[i], pairs[i+1]})
	}
	return s
}

func TestDrawingFindsVariablesAndGraphs(t *testing.T) {
	d := &v1alpha1.DashboardSpec{
		Labels: []v1alpha1.DashboardLabel{
			{Name: "namespace", Query: &v1alpha1.DashboardLabelQuery{Query: "kube_namespace_labels", Label: "namespace"}},
			{Name: "pod", Query: &v1alpha1.DashboardLabelQuery{Query: `kube_pod_info{namespace="$namespace"}`, Label: "pod"}},
			{Name: "mode", Values: []string{"rss", "cache"}},
		},
		Graphs: []v1alpha1.DashboardGraph{
			{Name: "Memory", Format: "bytes", Queries: []v1alpha1.DashboardQuery{{Query: `m{namespace="$namespace",pod="$pod",mode="$mode"}`, Legend: "l", LegendFormat: "$pod ${mode} {{ container }} $gone <script>"}}},
			{Name: "Broken", Queries: []v1alpha1.DashboardQuery{{Query: "up"}, {Query: "down"}}},
		},
	}
	p := &played{answer: func(query string) (*Answer, error) {
		switch {
		case strings.HasPrefix(query, "kube_namespace"):
			return &Answer{Series: []Series{series("namespace", "b"), series("namespace", "a"), series("namespace", "a"), series("other", "x")}}, nil
		case query == `kube_pod_info{namespace="b"}`:
			return &Answer{Series: []Series{series("pod", "web-1")}}, nil
		case strings.HasPrefix(query, "m{"):
			return &Answer{Series: []Series{series("pod", "web-1", "container", "app")}, Cut: 7}, nil
		case query == "down":
			return nil, errcode.New(errcode.Unavailable, "prometheus answered 503")
		}
		return &Answer{Series: []Series{series("instance", "x", "job", "y")}}, nil
	}}
	got, err := Draw(t.Context(), d, Choice{Values: map[string]string{"namespace": "b", "mode": `c"`}}, p)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "b"}; !slices.Equal(got.Variables[0].Values, want) || got.Variables[0].Value != "b" || got.Variables[1].Value != "web-1" || got.Variables[2].Value != `c"` {
		t.Errorf("variables are %+v", got.Variables)
	}
	if want := `m{mode="c\"",namespace="b",pod="web-1"}`; !slices.Contains(p.asked, want) && !slices.Contains(p.asked, `m{namespace="b",pod="web-1",mode="c\""}`) {
		t.Errorf("asked %q, want %s", p.asked, want)
	}
	memory := got.Graphs[0]
	if s := memory.Queries[0].Series[0]; s.Legend != `web-1 c" app $gone <script>` || !slices.Equal(s.Values, []float64{1, 3}) || !slices.Equal(s.Times, []int64{1, 3}) {
		t.Errorf("the series is %+v", s)
	}
	if memory.Queries[0].Cut != 7 || memory.Number != 1 || memory.Format != "bytes" {
		t.Errorf("the graph is %+v", memory)
	}
	if broken := got.Graphs[1]; broken.Message != "query 2: prometheus answered 503" || broken.Queries[0].Series[0].Legend != "instance=x, job=y" {
		t.Errorf("the graph of which one query fails is %+v", broken)
	}
	one, err := Draw(t.Context(), d, Choice{Graphs: []int{2}}, p)
	if err != nil || len(one.Graphs) != 1 || one.Graphs[0].Name != "Broken" {
		t.Errorf("one graph: %+v, %v", one, err)
	}
	for _, c := range []Choice{{Graphs: []int{3}}, {Graphs: []int{0}}, {Values: map[string]string{"none": "x"}}, {Values: map[string]string{"mode": strings.Repeat("x", 3000)}}} {
		if _, err := Draw(t.Context(), d, c, p); errcode.Of(err) != errcode.Invalid {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// One graph that cannot be asked does not take the others with it.
func TestAFaultIsThatOfItsGraph(t *testing.T) {
	d := &v1alpha1.DashboardSpec{
		Labels: []v1alpha1.DashboardLabel{{Name: "a", Query: &v1alpha1.DashboardLabelQuery{Query: "sum(", Label: "l"}}, {Name: "b"}},
		Graphs: []v1alpha1.DashboardGraph{graph("broken", "rate(x[$a])"), graph("empty", ""), graph("b", `x{a="$b"}`), graph("good", "up")},
	}
	p := &played{answer: func(string) (*Answer, error) { return &Answer{Series: []Series{series("l", "1")}}, nil }}
	got, err := Draw(t.Context(), d, Choice{}, p)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"1:8: $a stands outside", "it is empty", "$b has no value: there are none to choose from", ""} {
		if m := got.Graphs[i].Message; !strings.Contains(m, want) || (want == "") != (m == "") {
			t.Errorf("graph %d: %q, want %q", i+1, m, want)
		}
	}
	if !strings.Contains(got.Variables[0].Message, "1:5: ") || len(p.asked) != 1 {
		t.Errorf("%+v, asked %q", got.Variables, p.asked)
	}
	d.Graphs = make([]v1alpha1.DashboardGraph, 200)
	if _, err := Draw(t.Context(), d, Choice{}, p); errcode.Of(err) != errcode.Invalid || !strings.Contains(err.Error(), "at most 100 are drawn") {
		t.Errorf("200 graphs: %v", err)
	}
}

func TestAVariableWithoutValuesIsSaid(t *testing.T) {
	d := &v1alpha1.DashboardSpec{
		Labels: []v1alpha1.DashboardLabel{{Name: "pod", Query: &v1alpha1.DashboardLabelQuery{Query: "kube_pod_info", Label: "pod"}}},
		Graphs: []v1alpha1.DashboardGraph{graph("a", `x{pod="$pod"}`), graph("b", "up")},
	}
	p := &played{answer: func(string) (*Answer, error) { return &Answer{}, nil }}
	got, err := Draw(t.Context(), d, Choice{}, p)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got.Graphs[0].Message, "$pod has no value: no series that its query finds has the label pod") || got.Graphs[1].Message != "" {
		t.Errorf("graphs are %+v", got.Graphs)
	}
	if slices.ContainsFunc(p.asked, func(q string) bool { return strings.HasPrefix(q, "x{") }) {
		t.Error("a query without its variable was asked: it would answer about everything without the label")
	}
}

// A drawing asks for all that it can at once, within its bound, and not one after the other.
func TestQueriesAreConcurrentAndBounded(t *testing.T) {
	d := &v1alpha1.DashboardSpec{}
	for i := range 40 {
		d.Graphs = append(d.Graphs, graph(fmt.Sprint(i), "up"))
	}
	p := &played{gate: make(chan struct{}), answer: func(string) (*Answer, error) { return &Answer{}, nil }}
	done := make(chan error, 1)
	go func() {
		_, err := Draw(t.Context(), d, Choice{}, p)
		done <- err
	}()
	eventually.For(t, time.Minute, "as many queries as may run at once", func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.now != queriesAtOnce {
			return fmt.Errorf("%d run", p.now)
		}
		return nil
	})
	close(p.gate)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if p.most > queriesAtOnce {
		t.Errorf("%d queries ran at once, want at most %d", p.most, queriesAtOnce)
	}
}

// Names in strings that nobody substitutes do not wait for each other.
func TestVariablesThatSeemToNeedEachOtherEnd(t *testing.T) {
	d := &v1alpha1.DashboardSpec{Labels: []v1alpha1.DashboardLabel{
		{Name: "a", Query: &v1alpha1.DashboardLabelQuery{Query: `label_replace(x, "l", "$b", "m", "(?P<b>.*)")`, Label: "l"}},
		{Name: "b", Query: &v1alpha1.DashboardLabelQuery{Query: `y{l="$a"}`, Label: "l"}},
	}}
	p := &played{answer: func(string) (*Answer, error) { return &Answer{Series: []Series{series("l", "1")}}, nil }}
	got, err := Draw(t.Context(), d, Choice{}, p)
	if err != nil || got.Variables[1].Value != "1" {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzQueryWithAValue(f *testing.F) {
	for _, value := range hostile {
		f.Add(`x{pod=~"$pod",a="b"}`, value)
	}
	f.Add(`sum(rate(x[$pod]))`, "5m")
	f.Fuzz(func(t *testing.T, text, value string) {
		q, err := parse(text, []string{"pod"})
		if err != nil {
			return
		}
		got, err := q.with(map[string]string{"pod": value}, &meter{})
		if err != nil {
			return
		}
		if len(q.takes) > 0 && shape(t, got) != shape(t, text) {
			t.Errorf("%q with %q became %q", text, value, got)
		}
	})
}

// A query for everything draws lines that people can tell apart, and says how many more there are.
func TestADrawingIsBounded(t *testing.T) {
	d := &v1alpha1.DashboardSpec{}
	for i := range 30 {
		d.Graphs = append(d.Graphs, graph(fmt.Sprint(i), "up"))
	}
	p := &played{answer: func(string) (*Answer, error) {
		a := &Answer{Cut: 99_000}
		for range 1000 {
			a.Series = append(a.Series, Series{Times: make([]int64, 1000), Values: make([]float64, 1000)})
		}
		return a, nil
	}}
	got, err := Draw(t.Context(), d, Choice{}, p)
	if err != nil || len(got.Graphs) != graphsAtOnce {
		t.Fatalf("%d graphs, %v", len(got.Graphs), err)
	}
	points, said := 0, 0
	for _, g := range got.Graphs {
		a := g.Queries[0]
		if len(a.Series)+a.Cut != 100_000 || len(a.Series) > seriesOfQuery {
			t.Errorf("%d series and %d more", len(a.Series), a.Cut)
		}
		for _, s := range a.Series {
			points += len(s.Values)
		}
		if strings.Contains(g.Message, "more than 1000000 points") {
			said++
		}
	}
	if points > valuesOfDrawing || said == 0 {
		t.Errorf("%d points, said %d times", points, said)
	}
	if _, err := Draw(t.Context(), d, Choice{Graphs: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21}}, p); errcode.Of(err) != errcode.Invalid {
		t.Errorf("21 graphs: %v", err)
	}
}

// The regular expressions of all queries have one bound, with the values of their variables, and a
// query stays a query of a usual length. The other graphs are drawn.
func TestDearQueriesOfADrawingAreRefused(t *testing.T) {
	d := &v1alpha1.DashboardSpec{
		Labels: []v1alpha1.DashboardLabel{{Name: "n", Values: []string{"900"}}, {Name: "long", Values: []string{strings.Repeat(".", 1900)}}},
		Graphs: []v1alpha1.DashboardGraph{
			graph("large", `up{a=~"`+strings.Repeat("x{1000}", 100)+`"}`), graph("grown", `up{a=~"`+strings.Repeat("x{$n}", 100)+`"}`),
			graph("long", `up{a="`+strings.Repeat("$long", 1000)+`"}`), graph("long expression", `up{a=~"`+strings.Repeat("$long", 1000)+`"}`), graph("plain", "up"),
		},
	}
	for i, want := range []string{"instructions", "instructions", "more than 16384 bytes", "instructions", ""} {
		got, err := Draw(t.Context(), d, Choice{Graphs: []int{i + 1}}, &played{answer: func(string) (*Answer, error) { return &Answer{}, nil }})
		if err != nil {
			t.Fatal(err)
		}
		if said := got.Graphs[0].Message; (said == "") != (want == "") || !strings.Contains(said, want) {
			t.Errorf("%s: %q, want %q", got.Graphs[0].Name, said, want)
		}
	}
	many := &v1alpha1.DashboardSpec{Labels: d.Labels}
	for range graphsAtOnce {
		g := graph("many", `up{a=~"x{900}"}`)
		for range maxQueries - 1 {
			g.Queries = append(g.Queries, v1alpha1.DashboardQuery{Query: `up{a=~"x{$n}{2}"}`}, v1alpha1.DashboardQuery{Query: `up{a=~"x{900}"}`})
		}
		g.Queries = g.Queries[:maxQueries]
		many.Graphs = append(many.Graphs, g)
	}
	p := &played{answer: func(string) (*Answer, error) { return &Answer{}, nil }}
	got, err := Draw(t.Context(), many, Choice{}, p)
	if err != nil {
		t.Fatal(err)
	}
	if last := got.Graphs[graphsAtOnce-1].Message; !strings.Contains(last, "all queries of the drawing") {
		t.Errorf("the last graph: %q", last)
	}
}

// Whatever an object holds, reading and checking it ends, and what passes can be drawn.
func FuzzSettings(f *testing.F) {
	f.Add([]byte(`{"name":"a","labels":[{"name":"pod","values":["x"]}],"graphs":[{"name":"g","queries":[{"query":"x{pod=\"$pod\"}"}]}]}`))
	f.Add([]byte(`{"graphs":[{},{},{"queries":[{"query":"(((("}]}]}`))
	f.Add([]byte("apiVersion: platform.plural.sh/v1alpha1\nkind: Dashboard\nspec: &a {labels: [*a, *a]}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if o, ok, err := Read(data); ok && err == nil {
			_ = Check(&o.Spec)
		}
		spec, err := Settings(data)
		if err != nil || Check(spec) != nil {
			return
		}
		p := &played{answer: func(string) (*Answer, error) { return &Answer{}, nil }}
		if _, err := Draw(t.Context(), spec, Choice{}, p); err != nil {
			t.Errorf("what is checked is not drawn: %v", err)
		}
	})
}
