// Package limits reads the limits of projects and the sync windows of anything
// from a command line, and writes them for people.
//
// It makes no calls and judges nothing: the hub decides whether a schedule or a
// pattern is valid. cli/access and cli/hub call it.
package limits

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/internal/flagvalue"
)

// WindowForm is the syntax of a window on the command line.
const WindowForm = "allow|deny:SCHEDULE:DURATION[:TIMEZONE][:manual]"

// ParseWindows parses windows. A single empty text means no windows.
func ParseWindows(texts []string) ([]*hubv1.SyncWindow, error) {
	var all []*hubv1.SyncWindow
	for _, text := range texts {
		if text == "" && len(texts) == 1 {
			return nil, nil
		}
		parts := strings.Split(text, ":")
		w := &hubv1.SyncWindow{}
		if last := len(parts) - 1; last > 2 && parts[last] == "manual" {
			w.ManualSync, parts = true, parts[:last]
		}
		if len(parts) < 3 || len(parts) > 4 {
			return nil, exitcode.Usagef("%q is not a sync window; write %s, such as 'deny:0 22 * * *:8h:Europe/Berlin'", text, WindowForm)
		}
		w.Kind, w.Schedule, w.Duration = parts[0], parts[1], parts[2]
		if len(parts) == 4 {
			w.TimeZone = parts[3]
		}
		all = append(all, w)
	}
	return all, nil
}

// WindowText formats a window as ParseWindows reads it.
func WindowText(w *hubv1.SyncWindow) string {
	text := strings.Join([]string{w.GetKind(), w.GetSchedule(), w.GetDuration()}, ":")
	if w.GetTimeZone() != "" {
		text += ":" + w.GetTimeZone()
	}
	if w.GetManualSync() {
		text += ":manual"
	}
	return text
}

// Line is one limit as people read it. An empty text is no limit.
type Line struct{ Title, Text string }

// Lines are the limits of a project.
func Lines(l *hubv1.ProjectLimits) []Line {
	scoped := ""
	if l.GetClusterScoped() {
		scoped = "allowed"
	}
	var windows []string
	for _, w := range l.GetSyncWindows() {
		windows = append(windows, WindowText(w))
	}
	return []Line{
		{"Namespaces", strings.Join(l.GetNamespaces(), ", ")},
		{"Kinds", strings.Join(l.GetKinds(), ", ")},
		{"Cluster-scoped", scoped},
		{"Service account", l.GetServiceAccount()},
		{"Accounts", strings.Join(l.GetAccounts(), ", ")},
		{"Most clusters", number(l.GetClusters())},
		{"Most machines", number(l.GetMachines())},
		{"Most services", number(l.GetServices())},
		{"Most open previews", number(l.GetPreviews())},
		{"Most applications", number(l.GetApplications())},
		{"Domains", strings.Join(l.GetDomains(), ", ")},
		{"Sync windows", strings.Join(windows, "\n")},
	}
}

func number(n int32) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(int(n))
}

// Flags are the flags that declare limits.
type Flags struct {
	namespaces, kinds, accounts, windows []string
	domains                              []string
	clusterScoped                        bool
	account                              string
	clusters, machines                   int32
	services, previews, applications     int32
}

// Register adds the flags to a command.
func (l *Flags) Register(c *cobra.Command) {
	f := c.Flags()
	flagvalue.List(f, &l.namespaces, "allow-namespace", "allow only these namespaces, with * and ?; may be repeated, an empty value lifts the limit")
	flagvalue.List(f, &l.kinds, "allow-kind", "allow only these kinds, as Kind or Kind.group with * and ?; may be repeated, an empty value lifts the limit")
	f.BoolVar(&l.clusterScoped, "cluster-scoped", false, "allow cluster-scoped objects")
	f.StringVar(&l.account, "service-account", "", "account for services that do not name one: NAME or NAMESPACE/NAME")
	flagvalue.List(f, &l.accounts, "allow-account", "allow services to act as these accounts, as NAMESPACE/NAME with * and ?, beside those of the allowed namespaces; may be repeated, an empty value removes all")
	f.Int32Var(&l.clusters, "max-clusters", 0, "how many clusters the project may have; 0 lifts the limit")
	f.Int32Var(&l.machines, "max-machines", 0, "how many machines the project's clusters from templates may have together; 0 lifts the limit")
	f.Int32Var(&l.services, "max-services", 0, "how many services the project may have; 0 lifts the limit")
	f.Int32Var(&l.previews, "max-previews", 0, "how many previews of the project's services may be open at once; 0 lifts the limit")
	f.Int32Var(&l.applications, "max-applications", 0, "how many applications the project may have; 0 lifts the limit")
	flagvalue.List(f, &l.domains, "allow-domain", "domain that the project owns: the URIs of its applications lie below it; may be repeated, an empty value removes all")
	f.StringArrayVar(&l.windows, "sync-window", nil, WindowForm+"; may be repeated, an empty value removes all")
}

// Change applies the given flags to limits. It returns nil if none was given.
func (l *Flags) Change(c *cobra.Command, limits *hubv1.ProjectLimits) (*hubv1.ProjectLimits, error) {
	if limits == nil {
		limits = &hubv1.ProjectLimits{}
	}
	f, changed := c.Flags(), false
	given := func(name string) bool {
		changed = changed || f.Changed(name)
		return f.Changed(name)
	}
	if given("allow-namespace") {
		limits.Namespaces = withoutEmpty(l.namespaces)
	}
	if given("allow-kind") {
		limits.Kinds = withoutEmpty(l.kinds)
	}
	if given("cluster-scoped") {
		limits.ClusterScoped = l.clusterScoped
	}
	if given("service-account") {
		limits.ServiceAccount = l.account
	}
	if given("allow-account") {
		limits.Accounts = withoutEmpty(l.accounts)
	}
	if given("max-clusters") {
		limits.Clusters = l.clusters
	}
	if given("max-machines") {
		limits.Machines = l.machines
	}
	if given("max-services") {
		limits.Services = l.services
	}
	if given("max-previews") {
		limits.Previews = l.previews
	}
	if given("max-applications") {
		limits.Applications = l.applications
	}
	if given("allow-domain") {
		limits.Domains = withoutEmpty(l.domains)
	}
	if given("sync-window") {
		windows, err := ParseWindows(l.windows)
		if err != nil {
			return nil, err
		}
		limits.SyncWindows = windows
	}
	if !changed {
		return nil, nil
	}
	return limits, nil
}

func withoutEmpty(all []string) (kept []string) {
	for _, text := range all {
		if text != "" {
			kept = append(kept, text)
		}
	}
	return kept
}
