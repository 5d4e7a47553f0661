package stores_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/logquery"
	"github.com/axle-cd/axle/internal/podlogs"
	"github.com/axle-cd/axle/internal/telemetry"
	"github.com/axle-cd/axle/test/stores"
)

var began = time.Date(2026, 11, 29, 20, 0, 0, 0, time.UTC)

// tenants fills a store with lines of the namespaces mine and theirs, of which one stands
// in both as a text.
func tenants(t *testing.T) *stores.Store {
	t.Helper()
	s := stores.NewVictoriaLogs(t)
	var lines strings.Builder
	for i, of := range []string{"mine", "theirs", "mine-too", ""} {
		for j, text := range []string{"begin", `secret of theirs" or *`, "error: timeout", "ERROR \x1b[31mred", "end"} {
			fmt.Fprintf(&lines, `{"_time":%q,"_msg":%q,"kubernetes.pod_namespace":%q,"kubernetes.pod_name":"web-%d","kubernetes.container_name":"main","namespace":"mine","level":"x"}`+"\n",
				began.Add(time.Duration(j*10+i)*time.Second).Format(time.RFC3339Nano), strings.ReplaceAll(text, "\x1b", ""), of, i)
		}
	}
	if err := s.Insert(t.Context(), lines.String(), "kubernetes.pod_namespace", "kubernetes.pod_name"); err != nil {
		t.Fatal(err)
	}
	return s
}

func ask(ctx context.Context, url string, of logquery.Store, q logquery.Query) (logquery.Result, error) {
	path, values, err := q.Call(of)
	if err != nil {
		return logquery.Result{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+path+"?"+values.Encode(), nil)
	if err != nil {
		return logquery.Result{}, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return logquery.Result{}, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(answer.Body)
		return logquery.Result{}, fmt.Errorf("%s of %s: %s", answer.Status, values.Get("query"), text)
	}
	return of.Decode(answer.Body)
}

func textsOf(r logquery.Result) (all []string) {
	for _, l := range r.Lines {
		all = append(all, l.Namespace+"/"+l.Pod+" "+l.Text)
	}
	return all
}

var mine = logquery.Store{Type: telemetry.VictoriaLogs, Label: "kubernetes.pod_namespace", Namespaces: []string{"mine"}}

// evasions are what a tenant writes to see another's lines.
var evasions = []string{
	`{namespace="theirs"}`,
	`{namespace=~".*"}`,
	`{namespace=~"mine|theirs"}`,
	`{namespace!="mine"}`,
	`{namespace!~"mine"}`,
	`{namespace="mine"} or {namespace="theirs"}`,
	`{namespace="mine" or namespace="theirs"}`,
	`{namespace="mine\" or \"kubernetes.pod_namespace\":=\"theirs"}`,
	`{app=~"x) or (kubernetes.pod_namespace:theirs"}`,
	`{app=~".*"} |= "\" or *"`,
	"{app=~\".*\"} |= `\" or \"kubernetes.pod_namespace\":*`",
	`{app=~".*"} |~ "\") or (*"`,
	`{app=~".*"} | fields _msg`,
	`{app=~".*"} | line_format "{{.secret}}"`,
	`{app=~".*"} | label_format namespace=app`,
	`{app=~".*"} | json | namespace="theirs"`,
	`{app=~".*"} | rename kubernetes.pod_namespace as x`,
	`{app=~".*"} |= "x" # or *`,
	`{app=~".*"} |= "x" | stats count()`,
	`{app=~".*"} |= "x" | union (*)`,
	`{app=~".*"} |= "x" | join by (_msg) (*)`,
	`_msg:in(_time:1y | fields _msg)`,
	`_stream:{kubernetes.pod_namespace="theirs"}`,
	`{_stream="{kubernetes.pod_namespace=\"theirs\"}"}`,
	`{_stream_id=~".*"}`,
	`* or kubernetes.pod_namespace:theirs`,
	`count_over_time({namespace="theirs"}[1h])`,
	`{namespace="mine"} != "" or !""`,
	`{namespace="mine"} |= "a" |= "b" or "c"`,
	`{} | extract "<namespace>"`,
	"{namespace=\"mi\x00ne\"}",
	`{options="x"} options(concurrency=2)`,
	`{namespace="mine"} |= ip("10.0.0.0/8")`,
	`{namespace="theirs",}`,
	`{}`,
	`{tenant!="mine"}`,
	`{namespace="in(*)"}`,
}

// TestNobodySeesOthersLogs: what a tenant writes is refused, or finds lines of their
// namespaces alone, by what the store answers and not by what is left out of it.
func TestNobodySeesOthersLogs(t *testing.T) {
	t.Parallel()
	s := tenants(t)
	refused := 0
	for _, text := range evasions {
		matchers, filters, err := logquery.ParseLogQL("LogFilter x", text, telemetry.VictoriaLogs)
		if err != nil {
			if refused++; !errcode.Is(err, errcode.Invalid) || !strings.Contains(err.Error(), "LogFilter x") || !strings.Contains(err.Error(), "VictoriaLogs") {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		r, err := ask(t.Context(), s.URL(), mine, logquery.Query{Matchers: matchers, Filters: filters})
		if errcode.Is(err, errcode.Invalid) {
			refused++
		} else if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if r.Hidden > 0 || slices.ContainsFunc(r.Lines, func(l podlogs.Line) bool { return l.Namespace != "mine" }) {
			t.Errorf("%q: %d hidden, %q", text, r.Hidden, textsOf(r))
		}
	}
	// The same texts as values and as filters of the model.
	for _, text := range evasions {
		for _, q := range []logquery.Query{
			{Filters: []logquery.Filter{{Op: "|=", Text: text}}}, {Filters: []logquery.Filter{{Op: "!=", Text: text}}},
			{Matchers: []logquery.Matcher{{Name: "pod", Op: "!=", Value: text}}}, {Matchers: []logquery.Matcher{{Name: "namespace", Op: "=", Value: text}}},
			{Matchers: []logquery.Matcher{{Name: text, Op: "=", Value: "x"}}},
			{Matchers: []logquery.Matcher{{Name: "pod", Op: text, Value: "x"}}},
		} {
			r, err := ask(t.Context(), s.URL(), mine, q)
			if err != nil && !errcode.Is(err, errcode.Invalid) || r.Hidden > 0 || slices.ContainsFunc(r.Lines, func(l podlogs.Line) bool { return l.Namespace != "mine" }) {
				t.Errorf("%+v: %v, %d hidden, %q", q, err, r.Hidden, textsOf(r))
			}
		}
	}
	if refused < 10 || refused == len(evasions) {
		t.Errorf("%d of %d are refused", refused, len(evasions))
	}
	all := mine
	all.Everything = true
	if r, err := ask(t.Context(), s.URL(), all, logquery.Query{}); err != nil || len(r.Lines) != 20 {
		t.Errorf("everything: %v, %q", err, textsOf(r))
	}
	none := mine
	none.Namespaces = nil
	if r, err := ask(t.Context(), s.URL(), none, logquery.Query{}); err != nil || len(r.Lines)+int(r.Hidden) != 0 {
		t.Errorf("no namespace: %v, %q", err, textsOf(r))
	}
}

// TestNobodySeesLogsOfOtherClusters: a store of several clusters shows those of one, also to
// people who see everything there, and so do its lines around a match.
func TestNobodySeesLogsOfOtherClusters(t *testing.T) {
	t.Parallel()
	s := stores.NewVictoriaLogs(t)
	var lines strings.Builder
	for i, of := range []string{"edge.1", "edgex1", "theirs", "EDGE.1", ""} {
		for j, text := range []string{"begin", "error: timeout", "end"} {
			fmt.Fprintf(&lines, `{"_time":%q,"_msg":%q,"kubernetes.pod_namespace":"mine","kubernetes.pod_name":"web","kubernetes.container_name":"c%d","cluster":%q}`+"\n",
				began.Add(time.Duration(j*10+i)*time.Second).Format(time.RFC3339Nano), text, i, of)
		}
	}
	// All clusters are one stream: what is around a line is of the others too.
	if err := s.Insert(t.Context(), lines.String(), "kubernetes.pod_namespace", "kubernetes.pod_name"); err != nil {
		t.Fatal(err)
	}
	ours := mine
	ours.Cluster, ours.Value = "cluster", "edge.1"
	everything := ours
	everything.Everything, everything.Namespaces = true, nil
	foreign := func(r logquery.Result) bool {
		return slices.ContainsFunc(r.Lines, func(l podlogs.Line) bool { return l.Container != "c0" })
	}
	for name, of := range map[string]logquery.Store{"a namespace": ours, "everything": everything} {
		if r, err := ask(t.Context(), s.URL(), of, logquery.Query{}); err != nil || len(r.Lines) != 3 || r.Hidden != 0 || foreign(r) {
			t.Errorf("%s: %v, %d hidden, %q", name, err, r.Hidden, textsOf(r))
		}
		if r, err := ask(t.Context(), s.URL(), of, logquery.Query{Filters: []logquery.Filter{{Op: "|=", Text: "timeout"}}, Before: 5, After: 5}); err != nil || foreign(r) || r.Hidden == 0 {
			t.Errorf("%s, around a line: %v, %d hidden, %q", name, err, r.Hidden, textsOf(r))
		}
		answered := 0
		for _, text := range append([]string{`{cluster="theirs"}`, `{cluster=~".*"}`, `{cluster!="edge.1"}`, `{cluster=""}`, `{cluster=~"edge.1|theirs"}`}, evasions...) {
			text = strings.NewReplacer("namespace", "cluster", "mine", "edge.1").Replace(text)
			matchers, filters, err := logquery.ParseLogQL("x", text, telemetry.VictoriaLogs)
			if err != nil {
				continue
			}
			r, err := ask(t.Context(), s.URL(), of, logquery.Query{Matchers: matchers, Filters: filters})
			if err != nil && !errcode.Is(err, errcode.Invalid) || r.Hidden > 0 || foreign(r) {
				t.Errorf("%s, %q: %v, %d hidden, %q", name, text, err, r.Hidden, textsOf(r))
			}
			answered++
			loki := of
			loki.Type, loki.Label = telemetry.Loki, "namespace"
			_, values, err := logquery.Query{Matchers: matchers, Filters: filters}.Call(loki)
			if err == nil && !strings.Contains(values.Get("query"), `, cluster="edge.1"`) {
				t.Errorf("%s, %q: %s", name, text, values.Get("query"))
			}
		}
		if answered < 5 {
			t.Errorf("%d were answered", answered)
		}
	}
}

func TestQueriesOfVictoriaLogs(t *testing.T) {
	t.Parallel()
	s := tenants(t)
	filter := func(op, text string) logquery.Query {
		return logquery.Query{Filters: []logquery.Filter{{Op: op, Text: text}}}
	}
	for name, tc := range map[string]struct {
		q    logquery.Query
		want []string
	}{
		"contains":       {filter("|=", "rror: t"), []string{"error: timeout"}},
		"a quote":        {filter("|=", `theirs" or`), []string{`secret of theirs" or *`}},
		"brackets":       {filter("|~", `\[31m`), []string{"ERROR [31mred"}},
		"a function":     {logquery.Query{Matchers: []logquery.Matcher{{Name: "pod", Op: "=", Value: "in.example.com"}}, Filters: []logquery.Filter{{Op: "!=", Text: "range(1,2)"}}}, nil},
		"matches":        {filter("|~", "(?i)^error"), []string{"error: timeout", "ERROR [31mred"}},
		"contains not":   {filter("!=", "e"), []string{"ERROR [31mred"}[:0]},
		"matches not":    {filter("!~", "[ ]"), []string{"begin", "end"}},
		"the last ones":  {logquery.Query{Limit: 2}, []string{"ERROR [31mred", "end"}},
		"the first ones": {logquery.Query{Limit: 2, Forward: true}, []string{"begin", `secret of theirs" or *`}},
		"a range":        {logquery.Query{Start: began.Add(10 * time.Second), End: began.Add(20 * time.Second)}, []string{`secret of theirs" or *`, "error: timeout"}},
		"around":         {logquery.Query{Filters: []logquery.Filter{{Op: "|=", Text: "timeout"}}, Before: 1, After: 1}, []string{`secret of theirs" or *`, "error: timeout", "ERROR [31mred"}},
		"a pod":          {logquery.Query{Matchers: []logquery.Matcher{{Name: "pod", Op: "=~", Value: "web-[1-9]"}}}, nil},
		"of a workload":  {logquery.Query{Limit: 1, Matchers: []logquery.Matcher{{Name: "pod", Op: "=~", Value: logquery.PodsOf("StatefulSet", "web")}}}, []string{"end"}},
	} {
		r, err := ask(t.Context(), s.URL(), mine, tc.q)
		var got []string
		for _, l := range r.Lines {
			got = append(got, l.Text)
		}
		if name == "contains not" {
			tc.want = nil
			for _, x := range []string{"begin", `secret of theirs" or *`, "error: timeout", "ERROR [31mred", "end"} {
				if !strings.Contains(x, "e") {
					tc.want = append(tc.want, x)
				}
			}
		}
		if err != nil || !slices.Equal(got, tc.want) || r.Hidden != 0 {
			t.Errorf("%s: %v, %q, want %q", name, err, got, tc.want)
		}
	}
}

// TestQueriesOfLoki is against answers written after Loki's public API documents: its
// server is under the AGPL, and no test runs it.
func TestQueriesOfLoki(t *testing.T) {
	t.Parallel()
	of := logquery.Store{Type: telemetry.Loki, Label: "namespace", Namespaces: []string{"mine", "m.y"}}
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("query"))
		_, _ = io.WriteString(w, `{"status":"success","data":{"resultType":"streams","stats":{"summary":{}},"result":[
			{"stream":{"namespace":"theirs","pod":"b"},"values":[["1780000000000000002","not mine"]]},
			{"stream":{"namespace":"mine","pod":"a","container":"c"},"values":[["1780000000000000003","two\u001b[1m"],["1780000000000000001","one",{"trace":"x"}]]}]}}`)
	}))
	defer server.Close()
	r, err := ask(t.Context(), server.URL, of, logquery.Query{Matchers: []logquery.Matcher{{Name: "namespace", Op: "=~", Value: ".*"}}, Filters: []logquery.Filter{{Op: "|=", Text: `a"b`}}})
	if got := textsOf(r); err != nil || !slices.Equal(got, []string{"mine/a one", "mine/a two"}) || r.Hidden != 1 {
		t.Errorf("%v, %q, %d hidden", err, got, r.Hidden)
	}
	if want := `{namespace=~"mine|m\\.y", namespace=~".*"} |= "a\"b"`; len(asked) != 1 || asked[0] != want {
		t.Errorf("asked %q, want %q", asked, want)
	}
	for _, text := range evasions {
		matchers, filters, err := logquery.ParseLogQL("x", text, telemetry.Loki)
		if err != nil {
			continue
		}
		_, values, err := logquery.Query{Matchers: matchers, Filters: filters}.Call(of)
		if err == nil && !strings.HasPrefix(values.Get("query"), `{namespace=~"mine|m\\.y"`) {
			t.Errorf("%q: %s", text, values.Get("query"))
		}
	}
	if _, err := ask(t.Context(), server.URL, of, logquery.Query{Before: 1}); !errcode.Is(err, errcode.Invalid) {
		t.Error(err)
	}
}
