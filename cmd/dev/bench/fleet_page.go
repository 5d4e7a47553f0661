package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// fleetPage writes the table of all recorded runs of the fleet benchmark, and
// what people wrote about them.
func fleetPage(page *bytes.Buffer, out string) error {
	files, err := filepath.Glob(filepath.Join(out, "fleet", "*.json"))
	if err != nil || len(files) == 0 {
		return err
	}
	var records []*fleetRecord
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var r fleetRecord
		if err := json.Unmarshal(text, &r); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		records = append(records, &r)
	}
	slices.SortFunc(records, func(a, b *fleetRecord) int {
		return cmp.Or(cmp.Compare(a.Result.Replicas, b.Result.Replicas), cmp.Compare(a.Result.Clusters, b.Result.Clusters),
			cmp.Compare(a.Result.Services, b.Result.Services), cmp.Compare(a.Name, b.Name))
	})
	page.WriteString(`
## fleet

Measured by ` + "`make bench-fleet`" + `: real hub processes under a simulated fleet. The fleet
speaks the agent protocol and keeps one TLS connection per cluster. The hub's cores
include all processes of the hub and their children, such as git. Budgets: 0.3 cores
and 400 MB for 1,100 clusters with 10 services each; 1 core and 1.5 GB for 10,000
clusters. Bytes are those of polls that find nothing, in TLS records.

| run | clusters × services | replicas | window | hub cores | hub MB | start CPU-s | db cores | polls (missed) | not modified | bytes up / down | commit to agent p50 / p99 s | ls-refs per interval | fetches | tarballs | feed lag p99 ms | mismatches, errors |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
`)
	for _, r := range records {
		f := r.Result
		fmt.Fprintf(page, "| %s | %d × %d | %d | %.0f s | %.4f | %.0f | %.1f | %.4f | %d (%d) | %.4f | %.0f / %.0f | %.1f / %.1f | %.2f | %d | %d | %.0f | %d, %d |\n",
			r.Name, f.Clusters, f.Services, f.Replicas, f.WindowSeconds, f.HubCores, f.HubRSSMB, f.StartCPUSeconds, f.DBCores, f.Polls, f.PollsMissed,
			f.NotModifiedRatio, f.BytesUpPerPoll, f.BytesDownPerPoll, f.CommitToAgentP50/1000, f.CommitToAgentP99/1000, f.LsRefsPerInterval,
			f.UpstreamFetches, f.TarballsServed, f.FeedLagP99Millis, f.DigestMismatches, f.Errors)
	}
	page.WriteString("\n")
	for _, r := range records {
		fmt.Fprintf(page, "- %s: %s; %s, commit %.12s, load %s", r.Name, r.Setting, r.Date, r.Commit, r.Machine.Load)
		if s := r.More["all_s"]; s > 0 {
			fmt.Fprintf(page, "; then one service of 100 KB changed on all clusters: all had it after %.0f s (%.0f s after the first), which took %.1f CPU-s of the hub; the slowest call of a person during it took %.0f ms",
				s, r.More["all_spread_s"], r.More["all_cpu_s"], r.More["all_slowest_call_ms"])
		}
		if s := r.More["owned_again_s"]; s > 0 {
			fmt.Fprintf(page, "; the killed replica's repositories had owners again after %.1f s", s)
		}
		page.WriteString("\n")
	}
	m := records[0].Machine
	fmt.Fprintf(page, "\nMachine: %s, %d cores, %d MiB, Linux %s, %s; hub, fleet, Git server and database share it.\n", m.CPU, m.Cores, m.MemoryMiB, m.Kernel, m.Go)
	notes, err := os.ReadFile(filepath.Join(filepath.Join(out, "fleet"), "notes.md"))
	if err != nil {
		if os.IsNotExist(err) {
			return nil
		}
		return err
	}
	page.WriteString("\n")
	page.Write(notes)
	return nil
}
