package cli

import (
	"strings"

	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
)

// limitColumns are the lines of a project that show its limits. A line without
// a limit is empty.
func limitColumns(l *hubv1.ProjectLimits) []column[*hubv1.Project] {
	line := func(title, text string) column[*hubv1.Project] {
		return col(title, func(*hubv1.Project) string { return text })
	}
	scoped := ""
	if l.GetClusterScoped() {
		scoped = "allowed"
	}
	var windows []string
	for _, w := range l.GetSyncWindows() {
		windows = append(windows, windowText(w))
	}
	return []column[*hubv1.Project]{
		line("Namespaces", strings.Join(l.GetNamespaces(), ", ")),
		line("Kinds", strings.Join(l.GetKinds(), ", ")),
		line("Cluster-scoped", scoped),
		line("Service account", l.GetServiceAccount()),
		line("Sync windows", strings.Join(windows, "\n")),
	}
}

// limitFlags are the flags that declare limits.
type limitFlags struct {
	namespaces, kinds, windows []string
	clusterScoped              bool
	account                    string
}

func (l *limitFlags) register(c *cobra.Command) {
	f := c.Flags()
	f.StringSliceVar(&l.namespaces, "allow-namespace", nil, "allow only these namespaces, with * and ?; may be repeated, an empty value lifts the limit")
	f.StringSliceVar(&l.kinds, "allow-kind", nil, "allow only these kinds, as Kind or Kind.group with * and ?; may be repeated, an empty value lifts the limit")
	f.BoolVar(&l.clusterScoped, "cluster-scoped", false, "allow cluster-scoped objects")
	f.StringVar(&l.account, "service-account", "", "account for services that do not name one: NAME or NAMESPACE/NAME")
	f.StringArrayVar(&l.windows, "sync-window", nil, windowForm+"; may be repeated, an empty value removes all")
}

// change applies the given flags to limits. It returns nil if none was given.
func (l *limitFlags) change(c *cobra.Command, limits *hubv1.ProjectLimits) (*hubv1.ProjectLimits, error) {
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
	if given("sync-window") {
		windows, err := parseWindows(l.windows)
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
