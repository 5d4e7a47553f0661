package bench

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the tables of docs/sizing.md")

const (
	sizingPage = "../../../docs/sizing.md"
	recorded   = "../../../" + recordsFolder
	begins     = "<!-- %s, from test/benchmarks -->\n"
	ends       = "<!-- end -->\n"
)

// sized are the records of the page, in order.
var sized = []string{"growth-00100", "growth-00300", "growth-01000", "growth-03000", "tunnels-large", "growth-10000", "tunnels-two", "20000x5-replicas"}

// The numbers of the page are those of the records.
func TestSizingPage(t *testing.T) {
	var fleets strings.Builder
	fleets.WriteString("| clusters | services of each | hub | cores | cores of the database | memory, at most | CPU-seconds of a start of all agents | record |\n|---|---|---|---|---|---|---|---|\n")
	for _, name := range sized {
		var r fleetRecord
		load(t, filepath.Join("fleet", name+".json"), &r)
		f := r.Result
		database, _, _ := strings.Cut(r.Setting, ",")
		replicas, cores := "one", "-"
		if f.Replicas > 1 {
			replicas = fmt.Sprintf("%d", f.Replicas)
		}
		if f.DBCores > 0 {
			cores = fmt.Sprintf("%.2f", f.DBCores)
		}
		if r.More["tunnels"] > 0 {
			replicas += ", with tunnels"
		}
		fmt.Fprintf(&fleets, "| %d | %d | %s, %s | %.3f | %s | %.0f MB | %.1f | `%s` |\n", f.Clusters, f.Services, database, replicas, f.HubCores, cores, f.HubRSSMB, f.StartCPUSeconds, name)
	}
	var p struct {
		Result map[string]any `json:"result"`
	}
	load(t, filepath.Join("proxy", "default.json"), &p)
	number := func(name string) float64 {
		n, ok := p.Result[name].(float64)
		if !ok {
			t.Errorf("the record of the proxy has no %s", name)
		}
		return n
	}
	clusters := fmt.Sprintf(`| for | the hub needs |
|---|---|
| an idle tunnel | %.0f kB of memory, and sends %.0f kB an hour |
| an idle watch of a person or program | %.0f kB of memory |
| a request to a cluster | %.2f ms of CPU |
| data through a tunnel | one core for %.0f MB/s |
`, number("rss_kb_per_idle_agent"), number("idle_bytes_per_hour_per_agent")/1000, number("rss_kb_per_idle_watch"), number("cpu_ms_per_request"), number("down_mb_s_per_core"))

	text, err := os.ReadFile(sizingPage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, table := range []struct{ name, want string }{{"fleets", fleets.String()}, {"access to clusters", clusters}} {
		mark := fmt.Sprintf(begins, table.name)
		before, rest, found := strings.Cut(page, mark)
		_, after, ended := strings.Cut(rest, ends)
		if !found || !ended {
			t.Fatalf("%s has no %s", sizingPage, mark)
		}
		page = before + mark + table.want + ends + after
	}
	if *update {
		if err := os.WriteFile(sizingPage, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if page != string(text) {
		t.Errorf("%s differs from the records: run go test ./cmd/dev/bench -run TestSizingPage -update", sizingPage)
	}
}

func load(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(recorded, file))
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}
