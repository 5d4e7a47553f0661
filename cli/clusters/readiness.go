package clusters

import (
	"fmt"
	"strconv"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/exitcode"
	"github.com/axle-cd/axle/cli/output"
	"github.com/axle-cd/axle/sdk"
)

// readyResult is the result of a cluster that is ready.
const readyResult = "Ready"

func readinessCommand(a *command.App) *cobra.Command {
	request, manifests := &hubv1.ReadinessRequest{}, false
	c := &cobra.Command{
		Use: "readiness NAME --to VERSION", Short: "Check whether a cluster is ready for a version of Kubernetes", Args: command.Exactly(1),
		Long: `Check whether a cluster is ready for a version of Kubernetes. Its agent looks for API
versions that the version removes (in the objects of services, in live releases of Helm, and
among what clients have requested from the API server), for add-ons, for PodDisruptionBudgets
that let no pod go, and for nodes that are too old. It changes nothing.

An add-on is a release of Helm, a service or what another tool made of a chart, with objects that
act on the cluster as a whole (definitions, webhooks, API services, drivers and classes,
ClusterRoles and their bindings), and a release in kube-system. It supports a version if the
compatibility matrix of its chart's name lists that (axle clusters compatibility list). A
cluster with an add-on that is not known is never Ready: --skeleton prints manifests of what is
missing, for an administrator to complete and give to axle apply -f.

Findings about services that you may not read, and about other objects that you may not list
in the cluster, are counted and not shown. The exit code is 0 for Ready, and 1 for NotReady
and for Unknown: then something could not be checked.`,
		Example: "  axle clusters readiness edge-1 --to 1.37\n  axle clusters readiness edge-1 --to 1.37 -o json | jq -r '.checks[].findings[].message'\n  axle clusters readiness edge-1 --to 1.37 --skeleton > matrices.yaml",
		RunE: a.Call(func(c *cobra.Command, client *sdk.Client, args []string) error {
			if request.Name = args[0]; request.GetTo() == "" {
				return exitcode.Usagef("name the version of Kubernetes: --to 1.37")
			}
			p := a.Begin("asking the agent of %s", args[0])
			answer, err := client.Clusters.Readiness(c.Context(), connect.NewRequest(request))
			p.End()
			if err != nil {
				return err
			}
			if manifests {
				return printSkeleton(c.Context(), a, client, answer.Msg)
			}
			if err := printReadiness(a, answer.Msg); err != nil {
				return err
			}
			if answer.Msg.GetResult() != readyResult {
				return exitcode.With(nil, exitcode.Failed)
			}
			return nil
		}),
	}
	c.Flags().StringVar(&request.To, "to", "", "version of Kubernetes, such as 1.37 or 1.37.2")
	c.Flags().BoolVar(&manifests, "skeleton", false, "print manifests of the compatibility matrices that are missing, to complete and apply")
	return c
}

func printReadiness(a *command.App, r *hubv1.ReadinessResponse) error {
	if !output.Human(a.Output) {
		return command.PrintOne(a, r, (*hubv1.ReadinessResponse).GetCluster)
	}
	if err := command.PrintList(a, r.GetChecks(), (*hubv1.ReadinessCheck).GetName, checkColumns...); err != nil {
		return err
	}
	if err := printAddons(a, r); err != nil {
		return err
	}
	var found []finding
	for _, c := range r.GetChecks() {
		for _, f := range c.GetFindings() {
			found = append(found, finding{c.GetName(), f})
		}
	}
	if len(found) > 0 {
		fmt.Fprintln(a.Out)
		if err := command.PrintList(a, found, finding.object, findingColumns...); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(a.Err, "cluster %s, Kubernetes %s: %s for %s%s\n", r.GetCluster(), r.GetKubernetesVersion(), r.GetResult(), r.GetTo(), except(r))
	return err
}

// except names the checks that do not count in the result. A hub of before has some that are
// not checked.
func except(r *hubv1.ReadinessResponse) (text string) {
	for state, words := range map[string]string{"NotChecked": "not checked", "Warning": "warnings"} {
		var names []string
		for _, c := range r.GetChecks() {
			if c.GetState() == state {
				names = append(names, c.GetName())
			}
		}
		if len(names) > 0 {
			text += "; " + words + ": " + strings.Join(names, ", ")
		}
	}
	return text
}

var checkColumns = []command.Column[*hubv1.ReadinessCheck]{
	command.Col("CHECK", (*hubv1.ReadinessCheck).GetName),
	command.Col("STATE", (*hubv1.ReadinessCheck).GetState),
	command.Col("EXAMINED", func(c *hubv1.ReadinessCheck) string { return strconv.Itoa(int(c.GetExamined())) }),
	command.Col("FINDINGS", func(c *hubv1.ReadinessCheck) string {
		return strconv.Itoa(len(c.GetFindings()) + int(c.GetNotShown()))
	}),
	command.Col("MESSAGE", (*hubv1.ReadinessCheck).GetMessage),
}

// finding is one finding with its check.
type finding struct {
	check string
	*hubv1.ReadinessFinding
}

// object is what the finding is about: for a version without an object, the version.
func (f finding) object() string {
	kind := f.GetVersion() + "/" + f.GetKind()
	if f.GetGroup() != "" {
		kind = f.GetGroup() + "/" + kind
	}
	switch {
	case f.GetKind() == "":
		return ""
	case f.GetName() == "":
		return kind
	case f.GetNamespace() != "" && f.GetRelease() == "":
		return kind + " " + f.GetNamespace() + "/" + f.GetName()
	}
	return kind + " " + f.GetName()
}

// of is who has the object.
func (f finding) of() string { return owner(f) }

// owner is who has what a report names: a service, a release, or what another tool calls one.
func owner(of interface {
	GetService() string
	GetRelease() string
	GetNamespace() string
}) string {
	switch {
	case of.GetService() != "":
		return "service " + of.GetService()
	case of.GetNamespace() != "" && of.GetRelease() != "":
		return "release " + of.GetNamespace() + "/" + of.GetRelease()
	case of.GetRelease() != "":
		return of.GetRelease()
	}
	return ""
}

var findingColumns = []command.Column[finding]{
	command.Col("CHECK", func(f finding) string { return f.check }),
	command.Col("OF", finding.of),
	command.Col("OBJECT", finding.object),
	command.Col("REMOVED IN", func(f finding) string { return f.GetRemovedIn() }),
	command.Col("REPLACEMENT", func(f finding) string { return f.GetReplacement() }),
	command.Wide("FILE", func(f finding) string { return f.GetFile() }),
	command.Col("MESSAGE", func(f finding) string { return f.GetMessage() }),
}
