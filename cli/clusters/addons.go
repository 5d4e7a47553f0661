package clusters

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/internal/removals"
	"github.com/axle-cd/axle/internal/rule"
	"github.com/axle-cd/axle/sdk"
)

var addonColumns = []command.Column[*hubv1.ReadinessAddon]{
	command.Col("ADD-ON", (*hubv1.ReadinessAddon).GetName),
	command.Col("OF", func(a *hubv1.ReadinessAddon) string { return owner(a) }),
	command.Col("VERSION", (*hubv1.ReadinessAddon).GetVersion),
	command.Wide("CHART VERSION", (*hubv1.ReadinessAddon).GetChartVersion),
	command.Wide("BECAUSE OF", (*hubv1.ReadinessAddon).GetObject),
	command.Col("VERDICT", (*hubv1.ReadinessAddon).GetVerdict),
	command.Col("UPGRADE TO", (*hubv1.ReadinessAddon).GetUpgradeTo),
	command.Wide("CHART", (*hubv1.ReadinessAddon).GetUpgradeToChart),
	command.Col("BREAKING CHANGES", func(a *hubv1.ReadinessAddon) string {
		return changes(a, (*hubv1.ReadinessAddonChange).GetBreakingChanges)
	}),
	command.Wide("CHART CHANGES", func(a *hubv1.ReadinessAddon) string {
		return changes(a, (*hubv1.ReadinessAddonChange).GetHelmChanges)
	}),
	command.Wide("RELEASES", (*hubv1.ReadinessAddon).GetReleaseUrl),
}

// changes are those of all versions up to the one to upgrade to.
func changes(a *hubv1.ReadinessAddon, of func(*hubv1.ReadinessAddonChange) []string) string {
	var all []string
	for _, c := range a.GetChanges() {
		if texts := of(c); len(texts) > 0 {
			all = append(all, c.GetVersion()+": "+strings.Join(texts, ", "))
		}
	}
	return strings.Join(all, "; ")
}

// addonsOf are the add-ons in an answer.
func addonsOf(r *hubv1.ReadinessResponse) (all []*hubv1.ReadinessAddon) {
	for _, c := range r.GetChecks() {
		all = append(all, c.GetAddons()...)
	}
	return all
}

func printAddons(a *command.App, r *hubv1.ReadinessResponse) error {
	all := addonsOf(r)
	if len(all) == 0 {
		return nil
	}
	fmt.Fprintln(a.Out)
	return command.PrintList(a, all, (*hubv1.ReadinessAddon).GetName, addonColumns...)
}

// printSkeleton prints a manifest for each compatibility matrix that is missing or that lacks a
// version: with what the hub has of it, and with the version that the cluster has now.
func printSkeleton(ctx context.Context, a *command.App, client *sdk.Client, r *hubv1.ReadinessResponse) error {
	matrices := map[string]*hubv1.CustomCompatibilityMatrixSettings{}
	var names []string
	known := true
	for _, one := range addonsOf(r) {
		if !strings.HasSuffix(one.GetVerdict(), "Unknown") {
			continue
		}
		known = false
		if one.GetName() == "" || !rule.Version.Valid(one.GetVersion()) {
			fmt.Fprintf(a.Err, "%s is left out: %s\n", cmp.Or(owner(one), one.GetName(), one.GetObject()), one.GetMessage())
			continue
		}
		if matrices[one.GetName()] == nil {
			have, err := client.CustomCompatibilityMatrices.Get(ctx, connect.NewRequest(&hubv1.GetCustomCompatibilityMatrixRequest{Name: one.GetName()}))
			if err != nil && !sdk.IsNotFound(err) {
				return err
			}
			matrices[one.GetName()] = &hubv1.CustomCompatibilityMatrixSettings{}
			if err == nil {
				matrices[one.GetName()] = have.Msg.GetSettings()
			}
			names = append(names, one.GetName())
		}
		add(matrices[one.GetName()], one, removals.MinorOf(r.GetKubernetesVersion()))
	}
	if known {
		fmt.Fprintf(a.Err, "cluster %s: every add-on that you may see is known\n", r.GetCluster())
	}
	if len(names) == 0 {
		return nil
	}
	fmt.Fprintf(a.Out, "# Read in the release notes of each add-on which versions of Kubernetes its versions support, and add\n# them to kube: the one that %s has now is there. Then: axle apply -f FILE\n", r.GetCluster())
	for _, name := range names {
		fmt.Fprintln(a.Out, "---")
		settings, err := protojson.Marshal(matrices[name])
		if err != nil {
			return err
		}
		object := map[string]any{"apiVersion": "deployments.plural.sh/v1alpha1", "kind": "CustomCompatibilityMatrix", "metadata": map[string]any{"name": name}, "spec": json.RawMessage(settings)}
		if err := output.Write(a.Out, output.YAML, object); err != nil {
			return err
		}
	}
	return nil
}

// add adds the version of an add-on to its matrix.
func add(m *hubv1.CustomCompatibilityMatrixSettings, one *hubv1.ReadinessAddon, now string) {
	v := &hubv1.CompatibilityVersion{Version: one.GetVersion(), Kube: []string{now}}
	if one.GetChartVersion() != v.GetVersion() {
		v.ChartVersion = one.GetChartVersion()
	}
	if !slices.ContainsFunc(m.GetVersions(), func(have *hubv1.CompatibilityVersion) bool {
		return have.GetVersion() == v.GetVersion() && have.GetChartVersion() == v.GetChartVersion()
	}) {
		m.Versions = append(m.Versions, v)
	}
}
