package console_test

import (
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/hub/hubtest"
)

const (
	benchClusters = 10_000
	benchServices = 100_000
	benchCalls    = 60
)

// BenchmarkQueries measures lists of a hub with 10,000 clusters and 100,000 services,
// over HTTP, as the console asks for them.
func BenchmarkQueries(b *testing.B) {
	for name, config := range map[string]func() hubtest.HubConfig{
		"sqlite": func() hubtest.HubConfig {
			folder := hubtest.Folder(b)
			hubtest.FillFleet(b, "sqlite", filepath.Join(folder, "hub.db"), benchClusters, benchServices)
			return hubtest.HubConfig{DataDir: folder}
		},
		"postgres": func() hubtest.HubConfig {
			url := hubtest.Postgres(b)
			hubtest.FillFleet(b, "pgx", url, benchClusters, benchServices)
			return hubtest.HubConfig{DatabaseURL: url, KeyFile: filepath.Join(b.TempDir(), "hub.key")}
		},
	} {
		b.Run(name, func(b *testing.B) {
			made := config()
			h := hubtest.New(b, hubtest.Config{DataDir: made.DataDir, Hub: made})
			admin := clientsOf(h.URL, h.AdminToken)
			for i := range benchClusters {
				if i%50 != 0 {
					h.Parts().Fleet.Seen(hubtest.FilledCluster(i), time.Now())
				}
			}
			runtime.GC()
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			began := time.Now()
			if err := h.Parts().Index.Rebuild(b.Context()); err != nil {
				b.Fatal(err)
			}
			rebuilt := time.Since(began)
			for b.Loop() {
				queries(b, admin)
			}
			b.ReportMetric(float64(memory.HeapAlloc)/(1<<20), "MiB-heap")
			b.ReportMetric(rebuilt.Seconds(), "s-rebuild")
		})
	}
}

// queries measures each kind of query.
func queries(b *testing.B, c clients) {
	b.Helper()
	verdict := &hubv1.ServiceFilter{Verdict: []string{"Failed"}}
	for name, q := range map[string]*hubv1.QueryServicesRequest{
		"unfiltered": {Limit: 200}, "verdict": {Limit: 200, Filter: verdict}, "text": {Limit: 200, Filter: &hubv1.ServiceFilter{Text: "service-7 edge-1*3"}},
		"facets": {Limit: 200, Facets: true, Filter: verdict}, "reported": {Limit: 200, Sort: "-reported_at"}, "named": {Limit: 200, Sort: "name"},
		"end": {Limit: 200, Offset: benchServices - 200}, "window500": {Limit: 500, Facets: true},
	} {
		measured(b, name, func() (int64, error) {
			got, err := c.fleet.QueryServices(b.Context(), connect.NewRequest(q))
			if err != nil {
				return 0, err
			}
			return got.Msg.GetTotal(), nil
		})
	}
	measured(b, "clusters", func() (int64, error) {
		got, err := c.fleet.QueryClusters(b.Context(), connect.NewRequest(&hubv1.QueryClustersRequest{Limit: 200, Facets: true, Sort: "verdict"}))
		if err != nil {
			return 0, err
		}
		return got.Msg.GetTotal(), nil
	})
	measured(b, "summary", func() (int64, error) {
		got, err := c.fleet.Summary(b.Context(), connect.NewRequest(&hubv1.FleetSummaryRequest{}))
		if err != nil {
			return 0, err
		}
		return got.Msg.GetServices(), nil
	})
	measured(b, "heatmap", func() (int64, error) {
		got, err := c.fleet.HeatMap(b.Context(), connect.NewRequest(&hubv1.HeatMapRequest{GroupBy: "tag:tier"}))
		if err != nil {
			return 0, err
		}
		return int64(len(got.Msg.GetGroups())), nil
	})
	measured(b, "search", func() (int64, error) {
		got, err := c.fleet.Search(b.Context(), connect.NewRequest(&hubv1.SearchRequest{Query: "service-7-1"}))
		if err != nil {
			return 0, err
		}
		return int64(len(got.Msg.GetResults())), nil
	})
}

// measured reports the 95th percentile of a call that must find something, and the CPU
// that hub and caller used for one, which other work on the machine does not change.
func measured(b *testing.B, name string, call func() (int64, error)) {
	b.Helper()
	took, used := make([]time.Duration, benchCalls), cpu(b)
	for i := range took {
		began := time.Now()
		if n, err := call(); err != nil || n == 0 {
			b.Fatalf("%s: %d, %v", name, n, err)
		}
		took[i] = time.Since(began)
	}
	b.ReportMetric(float64((cpu(b)-used).Microseconds())/1000/benchCalls, "cpu-ms-"+name)
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "ms-p95-"+name)
}

// cpu is what this process has used.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
