package services

import (
	"cmp"
	"fmt"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/cli/command"
	"github.com/axle-cd/axle/cli/fields"
	"github.com/axle-cd/axle/cli/output"
)

// treeView is a service's tree as -o json and -o yaml show it.
type treeView struct {
	Cluster     string         `json:"cluster"`
	Service     string         `json:"service"`
	Failing     string         `json:"failing"`
	Notes       []string       `json:"notes"`
	ReportedAt  string         `json:"reportedAt"`
	ReportedAge string         `json:"reportedAge"`
	Objects     []treeNodeView `json:"objects"`
}

// treeNodeView is an object and what it owns.
type treeNodeView struct {
	Group     string         `json:"group"`
	Version   string         `json:"version"`
	Kind      string         `json:"kind"`
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	UID       string         `json:"uid"`
	Health    string         `json:"health"`
	Message   string         `json:"message"`
	CreatedAt string         `json:"createdAt"`
	Age       string         `json:"age"`
	Failing   bool           `json:"failing"`
	Children  []treeNodeView `json:"children"`
}

// treeRow is a node as a line of a table.
type treeRow struct {
	title string
	treeNodeView
}

func treeNodeViews(a *command.App, nodes []*hubv1.TreeNode) []treeNodeView {
	views := []treeNodeView{}
	for _, n := range nodes {
		o := n.GetObject()
		views = append(views, treeNodeView{
			o.GetGroup(), o.GetVersion(), o.GetKind(), o.GetNamespace(), o.GetName(), o.GetUid(), o.GetHealth(), o.GetMessage(),
			fields.Stamp(n.GetCreatedAt()), a.Age(n.GetCreatedAt()), n.GetFailing(), treeNodeViews(a, n.GetChildren()),
		})
	}
	return views
}

// treeRows draws nodes, each below its owner. A node in its owner's namespace
// is shown without the namespace.
func treeRows(nodes []treeNodeView, namespace, indent string) (rows []treeRow) {
	for i, n := range nodes {
		branch, below := "├─ ", "│  "
		if i == len(nodes)-1 {
			branch, below = "└─ ", "   "
		}
		name := n.Name
		if namespace == "" {
			branch, below = "", ""
		}
		if n.Namespace != namespace && n.Namespace != "" {
			name = n.Namespace + "/" + n.Name
		}
		rows = append(rows, treeRow{indent + branch + n.Kind + " " + name, n})
		rows = append(rows, treeRows(n.Children, cmp.Or(n.Namespace, "-"), indent+below)...)
	}
	return rows
}

func printTree(a *command.App, v treeView) error {
	if !output.Human(a.Output) {
		return command.PrintOne(a, v, func(v treeView) string { return v.Cluster + "/" + v.Service })
	}
	err := command.PrintList(a, treeRows(v.Objects, "", ""), func(r treeRow) string { return r.Name },
		command.Col("OBJECT", func(r treeRow) string { return r.title }),
		command.Col("HEALTH", func(r treeRow) string { return r.Health }),
		command.Col("AGE", func(r treeRow) string { return r.Age }),
		command.Col("MESSAGE", func(r treeRow) string { return r.Message }),
	)
	if err != nil {
		return err
	}
	if v.Failing != "" {
		fmt.Fprintf(a.Out, "\nfirst failure: %s\n", strings.Join(strings.Fields(v.Failing), " "))
	}
	for _, note := range v.Notes {
		fmt.Fprintf(a.Err, "not shown: %s\n", note)
	}
	return nil
}

func treeCommand(a *command.App) *cobra.Command {
	var cluster string
	c := &cobra.Command{
		Use: "tree CLUSTER/NAME", Short: "Show the tree of a service's objects down to the pods, and the first failure", Args: command.Exactly(1),
		Long: "Show the objects of a service and what they own, down to the pods, and which of them failed first.\n\n" +
			"The service's own objects are shown as its agent last reported them. Their dependents\n" +
			"are read from the cluster now, with your name and your rights there. Lists that you may\n" +
			"not read are named below the tree. ReplicaSets of earlier revisions are left out.",
		Example: `  axle services tree edge-1/shop
  axle services tree shop --cluster edge-1
  axle services tree edge-1/shop -o json | jq -r .failing`,
		RunE: func(c *cobra.Command, args []string) error {
			client, ref, err := a.Service(args[0], cluster)
			if err != nil {
				return err
			}
			answer, err := client.Services.GetTree(c.Context(), connect.NewRequest(&hubv1.GetServiceTreeRequest{Ref: ref}))
			if err != nil {
				return err
			}
			t := answer.Msg
			return printTree(a, treeView{
				Cluster: ref.GetCluster(), Service: ref.GetName(), Failing: t.GetFailing(), Notes: append([]string{}, t.GetNotes()...),
				ReportedAt: fields.Stamp(t.GetReportedAt()), ReportedAge: a.Age(t.GetReportedAt()), Objects: treeNodeViews(a, t.GetObjects()),
			})
		},
	}
	c.Flags().StringVar(&cluster, "cluster", "", "cluster, if the argument is only NAME")
	return c
}
