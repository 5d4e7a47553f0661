package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/axle-cd/axle/test/scale/apply"
)

// goBenchmark runs one Go benchmark and returns its numbers by unit, which must
// be there, and the last line of JSON that it printed, or nil.
func goBenchmark(ctx context.Context, folder, name, times string, units ...string) (map[string]float64, []byte, error) {
	command := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^"+name+"$", "-benchtime", times, "-timeout", "20m", folder)
	out, err := command.CombinedOutput()
	if err != nil {
		return nil, nil, fmt.Errorf("go test -bench %s %s: %w\n%s", name, folder, err, out)
	}
	numbers := map[string]float64{}
	var last []byte
	for line := range bytes.Lines(out) {
		if at := bytes.IndexByte(line, '{'); at >= 0 && json.Valid(line[at:]) {
			last = line[at:]
		}
		fields := strings.Fields(string(line))
		for i := 1; i < len(fields); i++ {
			// Numbers and units alternate; the benchmark's name may stand alone
			// on the line before.
			if n, err := strconv.ParseFloat(fields[i-1], 64); err == nil && strings.ContainsAny(fields[i], "/-abcdefghijklmnopqrstuvwxyz") {
				numbers[fields[i]] = n
			}
		}
	}
	for _, unit := range units {
		if _, ok := numbers[unit]; !ok {
			return nil, nil, fmt.Errorf("the benchmark %s printed no %q", name, unit)
		}
	}
	return numbers, last, nil
}

func benchIdlePoll(ctx context.Context, _ *bench) (*record, error) {
	_, line, err := goBenchmark(ctx, "./hub/agentapi", "BenchmarkIdlePoll", "1x")
	if err != nil {
		return nil, err
	}
	var found struct {
		PollsPerCoreSecond   float64
		HubCPUMicrosPerPoll  float64
		HTTP1BytesUp         float64
		HTTP1BytesDown       float64
		HTTP2BytesUp         float64
		HTTP2BytesDown       float64
		FreshTLSBytesUp      float64
		FreshTLSBytesDown    float64
		FreshTLSHubCPUMicros float64
		HubRSSBytes          float64
		SpacedHubCPUMicros   float64
		FloorCPUMicros       float64
		SpacedPerSecond      float64
		SpacedPolls          int
		Clusters, Services   int
		Polls                int
	}
	if err := json.Unmarshal(line, &found); err != nil {
		return nil, fmt.Errorf("the benchmark printed no result: %w", err)
	}
	return &record{
		Settings: map[string]any{"clusters": found.Clusters, "services": found.Services, "polls": found.Polls, "spaced polls": fmt.Sprintf("%d, %.0f a second", found.SpacedPolls, found.SpacedPerSecond)},
		Values: []value{
			most(value{What: "hub CPU per poll, as agents poll: HTTP/2, one at a time on each kept connection, spaced", Value: found.SpacedHubCPUMicros, Unit: "µs",
				Reference: ratio(found.SpacedHubCPUMicros, found.FloorCPUMicros, "a server that only answers 304, same run")}, 150),
			{What: "the same for a server that only answers 304", Value: found.FloorCPUMicros, Unit: "µs"},
			{What: "polls on kept connections, as fast as possible", Value: found.PollsPerCoreSecond, Unit: "per core-second of the hub"},
			{What: "hub CPU per poll, as fast as possible over HTTP/1.1", Value: found.HubCPUMicrosPerPoll, Unit: "µs"},
			most(value{What: "up, kept HTTP/1.1, in TLS records", Value: found.HTTP1BytesUp, Unit: "B"}, 300),
			most(value{What: "down, kept HTTP/1.1, in TLS records", Value: found.HTTP1BytesDown, Unit: "B"}, 200),
			most(value{What: "up, kept HTTP/2, in TLS records", Value: found.HTTP2BytesUp, Unit: "B"}, 300),
			most(value{What: "down, kept HTTP/2, in TLS records", Value: found.HTTP2BytesDown, Unit: "B"}, 200),
			most(value{What: "up, with a new TLS connection", Value: found.FreshTLSBytesUp, Unit: "B"}, 2560),
			most(value{What: "down, with a new TLS connection", Value: found.FreshTLSBytesDown, Unit: "B"}, 6144),
			most(value{What: "hub CPU per poll, with a new TLS connection", Value: found.FreshTLSHubCPUMicros, Unit: "µs",
				Reference: ratio(found.FreshTLSHubCPUMicros, found.HubCPUMicrosPerPoll, "a poll on a kept connection, same run")}, 1500),
			{What: "hub memory", Value: found.HubRSSBytes / (1 << 20), Unit: "MiB"},
		},
	}, nil
}

// ratio tells how a number compares with one of the same run.
func ratio(ours, theirs float64, what string) string {
	if theirs == 0 {
		return "of " + what
	}
	return decimal(ours/theirs) + " × " + what
}

func benchTarball(ctx context.Context, _ *bench) (*record, error) {
	n, _, err := goBenchmark(ctx, "./hub/gitcache", "BenchmarkFirstTarball", "20x", "s/first", "s/archive", "ratio", "µs/repeated", "size-ratio", "MB/core-s", "MB/archive-core-s")
	if err != nil {
		return nil, err
	}
	archive := "git archive | zstd on the same mirror, same run"
	return &record{
		Settings: map[string]any{"repository": "2,000 files, 104 MB", "runs": 20},
		Values: []value{
			{What: "first tarball, from the mirror to a stored file with its digest", Value: n["s/first"], Unit: "s"},
			{What: "git archive | zstd", Value: n["s/archive"], Unit: "s"},
			most(value{What: "ratio of the two", Value: n["ratio"], Unit: "×", Reference: archive}, 1.15),
			{What: "first tarball, per core", Value: n["MB/core-s"], Unit: "MB/s", Reference: ratio(n["MB/core-s"], n["MB/archive-core-s"], "git archive | zstd per core, same run")},
			{What: "repeated tarball, opened from the node cache", Value: n["µs/repeated"], Unit: "µs"},
			{What: "stored bytes", Value: n["size-ratio"], Unit: "×", Reference: archive},
		},
	}, nil
}

func benchDelta(ctx context.Context, _ *bench) (*record, error) {
	n, _, err := goBenchmark(ctx, "./hub/gitcache", "BenchmarkDelta", "10x", "kB/whole", "kB/line", "kB/file", "ms/made", "ms/served")
	if err != nil {
		return nil, err
	}
	whole := decimal(n["kB/whole"]) + " kB for the whole tarball"
	return &record{
		Settings: map[string]any{"folder": "500 files of 20 KB, Deployments that differ in names, images and numbers", "runs": 10},
		Values: []value{
			most(value{What: "sent per cluster, one line of the file changed", Value: n["kB/line"], Unit: "kB", Reference: whole}, 10),
			most(value{What: "sent per cluster, the whole file changed", Value: n["kB/file"], Unit: "kB", Reference: whole}, 10),
			most(value{What: "hub CPU to make the delta, once", Value: n["ms/made"], Unit: "ms"}, 5),
			{What: "hub CPU to open and read the delta again", Value: n["ms/served"], Unit: "ms"},
			{What: "hub CPU per cluster if 10 clusters take it", Value: n["ms/made"]/10 + n["ms/served"], Unit: "ms"},
		},
	}, nil
}

func benchCharts(ctx context.Context, _ *bench) (*record, error) {
	var names []string
	for _, of := range []string{"helm", "kustomize"} {
		for _, name := range []string{"/input", "/agent", "/agent-most", "/child", "/child-most"} {
			names = append(names, of+name)
		}
	}
	n, _, err := goBenchmark(ctx, "./render", "BenchmarkCharts", "5x", names...)
	if err != nil {
		return nil, err
	}
	out := &record{Settings: map[string]any{"charts": n["helm/input"], "kustomizations": n["kustomize/input"], "runs": 5}}
	add := func(of, by, what string) {
		out.Values = append(out.Values,
			most(value{What: "CPU of axle-agent render, including its child, divided by that of " + by + ": median of the " + what, Value: n[of+"/agent"], Unit: "×", Reference: "same run"}, 1.5),
			most(value{What: "the same, the dearest of the " + what, Value: n[of+"/agent-most"], Unit: "×"}, 1.5),
			most(value{What: "CPU of a render child, with its start, divided by that of " + by + ": median of the " + what, Value: n[of+"/child"], Unit: "×", Reference: "same run"}, 1.5),
			most(value{What: "the same child, the dearest of the " + what, Value: n[of+"/child-most"], Unit: "×"}, 1.5))
	}
	add("helm", "helm template", "charts")
	add("kustomize", "kustomize build", "kustomizations")
	if n["extra/input"] > 0 {
		out.Settings["others"] = n["extra/input"]
		add("extra", "helm template", "other charts")
	}
	return out, nil
}

func benchRender(ctx context.Context, _ *bench) (*record, error) {
	n, _, err := goBenchmark(ctx, "./render", "BenchmarkLargeKustomization", "5x", "MB/input", "MiB/child", "MiB/alone", "x/memory", "x/spread", "s/child", "s/alone")
	if err != nil {
		return nil, err
	}
	return &record{
		Settings: map[string]any{"input": decimal(n["MB/input"]) + " MB in 5 definitions, nested as deep as a pod's", "runs": 5},
		Values: []value{
			{What: "render child's memory, largest of the runs", Value: n["MiB/child"], Unit: "MiB"},
			most(value{What: "the same, divided by the least of Kustomize alone", Value: n["x/memory"], Unit: "×", Reference: decimal(n["MiB/alone"]) + " MiB, same run"}, 1.3),
			most(value{What: "the same, divided by the least of the child", Value: n["x/spread"], Unit: "×"}, 1.25),
			{What: "render child's CPU, including its start and the encoding of the result", Value: n["s/child"], Unit: "s", Reference: ratio(n["s/child"], n["s/alone"], "Kustomize alone")},
		},
	}, nil
}

func benchInstall(ctx context.Context, b *bench) (*record, error) {
	found, err := apply.Install(ctx, apply.InstallConfig{Services: b.services, Progress: b.say})
	if err != nil {
		return nil, err
	}
	services := float64(found.Services)
	mib := func(bytes int64) float64 { return float64(bytes) / (1 << 20) }
	const flux = "Flux 2.9, measured elsewhere: "
	return &record{
		shrunk:   found.Services != installServices,
		Settings: map[string]any{"services": found.Services, "objects": found.Objects},
		Values: []value{
			most(value{What: "install: requests to the API server per service", Value: float64(found.Install.Requests) / services, Unit: "", Reference: flux + "36"}, 8),
			most(value{What: "install: CPU per service, agent and render children", Value: found.Install.CPU / services, Unit: "s", Reference: flux + "0.11"}, 0.015),
			most(value{What: "install: until all are healthy", Value: found.Install.Seconds, Unit: "s", Reference: flux + "84"}, 40),
			{What: "install: agent's largest memory", Value: mib(found.Install.RSS), Unit: "MiB"},
			most(value{What: "install: render children's largest memory together", Value: mib(found.Install.ChildRSS), Unit: "MiB"}, 1024),
			most(value{What: fmt.Sprintf("idle %.0f s: requests", found.Idle.Seconds), Value: float64(found.Idle.Requests), Unit: ""}, 0),
			{What: fmt.Sprintf("idle %.0f s: CPU of one core", found.Idle.Seconds), Value: 100 * found.Idle.CPU / found.Idle.Seconds, Unit: "%"},
			most(value{What: "idle: agent's memory", Value: mib(found.Idle.RSS), Unit: "MiB", Reference: flux + "207 + 134"}, 112),
			{What: "requested pass over all services, nothing to change: requests per service", Value: float64(found.Sync.Requests) / services, Unit: "", Reference: flux + "29"},
			{What: "requested pass over all services, nothing to change: CPU per service", Value: found.Sync.CPU / services, Unit: "s", Reference: flux + "0.10"},
		},
	}, nil
}
