package agent_test

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/axle-cd/axle/agent/apply"
	"github.com/axle-cd/axle/agent/health"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/kube"
)

// The size of the benchmark: 500 services, each of the 4 objects below.
const (
	benchServices = 500
	// benchPasses services are under way together, as the agent's loop has it.
	benchPasses = 8
)

// measured is one phase of the benchmark.
type measured struct {
	Requests           int     `json:"requests"`
	RequestsPerService float64 `json:"requestsPerService"`
	CPUPerService      float64 `json:"cpuSecondsPerService"`
	Seconds            float64 `json:"seconds"`
	RSSMiB             float64 `json:"rssMiB"`
}

// BenchmarkInstall500 installs 500 services of 4 objects, waits until all are
// healthy, and runs a pass over each in which nothing changed. It prints one
// line of JSON. CPU and memory are those of this process, which is the engine,
// its watches and the test's own bookkeeping; no rendering is in it.
func BenchmarkInstall500(b *testing.B) {
	cluster := kube.New(b, kube.ClusterConfig{Audit: true, Controllers: true, Kwok: true})
	for b.Loop() {
		report := benchInstall(b, cluster)
		line, err := json.Marshal(report)
		if err != nil {
			b.Fatal(err)
		}
		fmt.Fprintln(os.Stdout, string(line))
		b.ReportMetric(report["install"].RequestsPerService, "requests/install")
		b.ReportMetric(report["noop"].RequestsPerService, "requests/noop")
		b.ReportMetric(report["install"].CPUPerService, "cpu-s/install")
		b.ReportMetric(report["noop"].CPUPerService, "cpu-s/noop")
		b.ReportMetric(report["noop"].RSSMiB, "MiB")
	}
}

func benchInstall(b *testing.B, cluster *kube.Cluster) map[string]measured {
	b.Helper()
	p, stop := start(b, cluster, "agent-bench", "system:masters")
	defer stop()
	var list []apply.Service
	for n := range benchServices {
		list = append(list, service(fmt.Sprintf("bench-%d", n)))
	}
	report := map[string]measured{}
	report["install"] = p.measure(b, func() {
		p.passAll(b, list)
		eventually.For(b, 2*time.Minute, "all services are healthy", func() error {
			for _, s := range list {
				if got := health.RollUp(p.watcher.Components(p.engine.Objects(s.ID))); got.Status != health.Healthy {
					return fmt.Errorf("%s: %+v", s.ID, got)
				}
			}
			return nil
		})
	})
	report["noop"] = p.measure(b, func() { p.passAll(b, list) })
	return report
}

// passAll runs a pass over each service, some at a time.
func (p *pair) passAll(b *testing.B, list []apply.Service) {
	var wg sync.WaitGroup
	next := make(chan apply.Service)
	for range benchPasses {
		wg.Go(func() {
			for s := range next {
				if result := p.pass(s, benchManifests); result.Phase != apply.PhaseApplied {
					b.Errorf("%s: %+v", s.ID, result)
				}
			}
		})
	}
	for _, s := range list {
		next <- s
	}
	close(next)
	wg.Wait()
	if b.Failed() {
		b.FailNow()
	}
}

func (p *pair) measure(b *testing.B, work func()) measured {
	b.Helper()
	debug.FreeOSMemory()
	mark, cpu, began := p.mark(), cpuSeconds(b), time.Now()
	work()
	m := measured{Seconds: time.Since(began).Seconds(), CPUPerService: (cpuSeconds(b) - cpu) / benchServices}
	runtime.GC()
	m.RSSMiB = rssMiB(b)
	m.Requests = len(p.requests(mark))
	m.RequestsPerService = float64(m.Requests) / benchServices
	return m
}

func cpuSeconds(b *testing.B) float64 {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
}

func rssMiB(b *testing.B) float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			if err != nil {
				b.Fatal(err)
			}
			return kib / 1024
		}
	}
	b.Fatal("no VmRSS in /proc/self/status")
	return 0
}

// benchManifests has a Service without an address: the API server of the test
// bed has 254 of them.
const benchManifests = `apiVersion: v1
kind: ServiceAccount
metadata: {name: web}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {key: value}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "example.org/web:1"}]}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {clusterIP: None, selector: {app: web}, ports: [{port: 80}]}`
