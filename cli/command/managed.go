package command

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
)

// ManagerView is who manages an object, as -o json and -o yaml show it; both are
// empty when nobody does.
type ManagerView struct {
	Tool string `json:"tool"`
	ID   string `json:"id"`
}

// NewManagerView returns the view of a manager, which may be nil.
func NewManagerView(m *hubv1.Manager) ManagerView { return ManagerView{m.GetTool(), m.GetId()} }

// String is the manager on one line.
func (v ManagerView) String() string { return strings.TrimSpace(v.Tool + " " + v.ID) }

// ManagerOf is the manager of an object, on one line.
func ManagerOf[T interface{ GetManagedBy() *hubv1.Manager }](v T) string {
	return NewManagerView(v.GetManagedBy()).String()
}

// ManagedByFlag adds --managed-by to a list.
func ManagedByFlag(c *cobra.Command, tool *string) {
	c.Flags().StringVar(tool, "managed-by", "", "only what this tool manages: operator, terraform, apply, hub, cli, console, or none")
	Complete(c, "managed-by", "operator", "terraform", "apply", "hub", "cli", "console", "none")
}

// Managed are those of a list that a tool manages, all for an empty tool. It is for
// lists that the hub sends as a whole.
func Managed[T interface{ GetManagedBy() *hubv1.Manager }](all []T, tool string) []T {
	return slices.DeleteFunc(all, func(one T) bool {
		by := one.GetManagedBy().GetTool()
		return tool != "" && tool != by && (tool != "none" || by != "")
	})
}

// Management is what a command that writes says about itself.
func Management() *hubv1.Management {
	return &hubv1.Management{By: &hubv1.Manager{Tool: "cli"}}
}

// TakeOverFlag adds --take-over to a command that writes.
func TakeOverFlag(c *cobra.Command, m *hubv1.Management) {
	c.Flags().BoolVar(&m.TakeOver, "take-over", false, "change it although the operator, Terraform or axle apply manages it; people manage it from then on")
}
