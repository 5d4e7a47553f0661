package fleettest

import (
	"slices"
	"strings"

	"github.com/axle-cd/axle/hub/fleet"
)

// The sources of a service that is made of three.
var (
	AppSource   = SourceID("repo_main", "main", "shop")
	RulesSource = SourceID("repo_policy", "v2", "base")
	ChartSource = SourceID("repo_https://charts.test", "1.x", "web")
)

// SeveralSpec is the spec of a service that is made of three sources.
func SeveralSpec() fleet.Spec {
	s := Spec("shop")
	s.Sources = []fleet.Source{{Path: "/rules/", Repository: "policy", Git: &fleet.Git{Ref: "v2", Folder: "base"}}}
	s.Helm = &fleet.Helm{URL: "https://charts.test", Chart: "web", Version: "1.x", ValuesFiles: []string{"web.yaml"}}
	return s
}

// AddSeveral declares the service shop of three sources on edge-1, and produces them as
// 1, 2 and 3 unless they are to be missing.
func (f *Fleet) AddSeveral(missing ...string) fleet.ServiceView {
	f.T.Helper()
	for i, id := range []string{AppSource, RulesSource, ChartSource} {
		if !slices.Contains(missing, id) {
			f.Upstream.Commit(id, i+1)
		}
	}
	return f.Must(f.CreateService(f.T.Context(), "ann", fleet.ServiceRequest{Ref: fleet.Ref{Cluster: "edge-1", Name: "shop"}, Spec: SeveralSpec()}))
}

// PartNames are "path=n" of a service's parts, in order.
func PartNames(parts []fleet.Part) []string {
	var all []string
	for _, p := range parts {
		all = append(all, p.Path+"="+strings.TrimLeft(strings.TrimPrefix(p.Digest, "axle1:"), "0"))
	}
	return all
}
